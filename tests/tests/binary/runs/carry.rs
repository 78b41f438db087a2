//! Carried files: ignored files come along into each workspace, as copies, and stay out of captures.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime};

use test_limit::sample;
use tests::sandbox::{
    Fingerprint, Finished, Invocation, Plan, Repository, Sandbox, SmallDisk, skip,
};

use crate::binary::sandbox;

/// A repository with ignored files.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository();
    repository.write(".gitignore", ".env*\nnode_modules/\ntarget/\n*.sock\n*.log\n");
    repository.write("web/package.json", "{}\n");
    repository.commit("ignore");
    repository.write(".env", "KEY=1\n");
    repository.write(".env.local", "KEY=2\n");
    repository.write("web/.env", "KEY=3\n");
    for module in 0..40 {
        repository.write(format!("node_modules/m{module}/index.js"), format!("{module}\n"));
    }
    repository.write("node_modules/m0/run.sh", "#!/bin/sh\necho ran\n");
    repository.make_executable("node_modules/m0/run.sh");
    fs::create_dir_all(repository.path("node_modules/empty")).expect("a folder can be made");
    symlink("../m1", repository.path("node_modules/link")).expect("a link can be made");
    repository.write("web/node_modules/a/index.js", "a\n");
    repository.write("target/debug/deps/x.o", "x\n");
    repository.write("target/release/y.o", "y\n");
    repository
}

fn carrying(place: &Sandbox, repository: &Repository, globs: &[&str]) -> Invocation {
    let call = place.run_in(repository);
    globs.iter().fold(call, |call, glob| call.arg("--carry").arg(glob))
}

/// Returns the lines of `find` in a workspace that gets these files.
fn carried(place: &Sandbox, repository: &Repository, globs: &[&str]) -> Vec<String> {
    let call = carrying(place, repository, globs);
    let call = call.exec("git ls-files -o -i --exclude-standard | sort");
    let finished = call.run().expect_code(0);
    let output = place.home().output(&finished.run_name(), "t1");
    String::from_utf8_lossy(&output).lines().map(str::to_owned).collect()
}

/// Returns what a run tells at its beginning about files that are not carried.
fn told(finished: &Finished) -> Vec<String> {
    let notes = finished.events_of("degraded").into_iter();
    let text = |note: &serde_json::Value| {
        ["from", "to", "why"].map(|key| note[key].as_str().unwrap_or_default()).join("; ")
    };
    let is_of_carry = |note: &str| note.contains("carry") || note.contains("carried");
    let of_carry = |note: &String| is_of_carry(note) && !note.starts_with("ignored files;");
    notes.map(|note| text(&note)).filter(of_carry).collect()
}

#[test]
fn globs_and_folders_name_the_ignored_files_that_come_along() {
    let place = sandbox();
    let repository = repository(&place);
    // Each kind of glob has its row in `isolation/src/carry/globs.rs`.
    let rows = [
        (&[][..], &[][..]),
        (&[".env"], &[".env"]),
        (&[".env{,.local}"], &[".env", ".env.local"]),
        (&["**/.env"], &[".env", "web/.env"]),
        (&["target/debug/"], &["target/debug/deps/x.o"]),
        (&["target/*/*.o"], &["target/release/y.o"]),
        (
            &["web", "./target/**"],
            &[
                "target/debug/deps/x.o",
                "target/release/y.o",
                "web/.env",
                "web/node_modules/a/index.js",
            ],
        ),
    ];
    for (globs, expected) in sample(rows, 3) {
        assert_eq!(carried(&place, &repository, globs), expected, "{globs:?}");
    }
    assert_eq!(carried(&place, &repository, &["node_modules/**"]).len(), 42);
    place.expect_nothing_left(&repository);
}

#[test]
fn in_a_subfolder_globs_begin_there_and_those_of_the_settings_at_the_root() {
    let place = sandbox();
    let repository = repository(&place);
    place.home().configure("isolation:\n  carry: [web/.env]\n");
    let call = || place.regatta(&repository.path("web")).words("run --json");
    let finished = call().words("--carry .env").exec("cat .env; test ! -e ../.env").run();
    assert_eq!(finished.expect_code(0).task("t1")["yield"], "KEY=3");
    let of_settings = call().exec("cat .env").run().expect_code(0);
    assert_eq!(of_settings.task("t1")["yield"], "KEY=3");
    let plan = Plan::default().top("carry = ['.env.local']").task("t1", "cat .env.local");
    let of_plan = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(of_plan.task("t1")["yield"], "KEY=2");
}

#[test]
fn a_carried_file_is_a_copy_of_its_own_with_permissions_and_time() {
    let place = sandbox();
    let repository = repository(&place);
    let before = Fingerprint::of(repository.root());
    let script = "stat -c '%h %i %Y %a' .env; test -x node_modules/m0/run.sh; \
                  node_modules/m0/run.sh; test -d node_modules/empty; \
                  test \"$(readlink node_modules/link)\" = ../m1; echo 2 >> .env; \
                  rm -r node_modules/m1; echo y > node_modules/m2/index.js";
    let long_ago = SystemTime::now() - Duration::from_secs(1_000_000);
    let file = fs::File::open(repository.path(".env")).expect("it is there");
    file.set_modified(long_ago).expect("a time can be set");
    let call = carrying(&place, &repository, &[".env", "node_modules"]);
    let finished = call.exec(script).run().expect_code(0);
    let output = place.home().output(&finished.run_name(), "t1");
    let output = String::from_utf8_lossy(&output).into_owned();
    let users = fs::metadata(repository.path(".env")).expect("it is there");
    let fields: Vec<_> = output.lines().next().unwrap_or_default().split(' ').collect();
    assert_eq!(fields[0], "1", "it is not linked");
    assert_ne!(fields[1], users.ino().to_string(), "it is not the user's file");
    assert_eq!(fields[2], users.mtime().to_string());
    assert_eq!(fields[3], format!("{:o}", users.mode() & 0o777));
    assert_eq!(before.differences(&Fingerprint::of(repository.root())), Vec::<String>::new());
}

#[test]
fn a_carried_file_is_never_captured_whatever_the_task_does_or_where_the_engine_is_killed() {
    let place = sandbox();
    let repository = repository(&place);
    let script = "echo stolen >> .env; rm node_modules/m0/index.js; : > .gitignore; \
                  git add -f .env node_modules/m1; echo own > own.txt";
    let call = carrying(&place, &repository, &[".env", "node_modules"]).words("--merge none");
    let finished = call.exec(script).run().expect_code(0);
    let patch = place.regatta(repository.root()).words("diff").run().expect_code(0).stdout;
    let heads: Vec<_> = patch.lines().filter(|line| line.starts_with("diff ")).collect();
    let expected = ["diff --git a/.gitignore b/.gitignore", "diff --git a/own.txt b/own.txt"];
    assert_eq!(heads, expected, "{patch}");
    assert!(!patch.contains("stolen") && !patch.contains("KEY="), "{patch}");
    assert_eq!(finished.task("t1")["changes"]["files"], 2, "{patch}");

    let script = "echo stolen >> .env; : > .gitignore; echo own > own.txt";
    let call = carrying(&place, &repository, &[".env*", "target"]).exec(script);
    let killed = call.fault("kill@capture.begin").run();
    assert_eq!(killed.code, 128 + 9, "{killed}");
    let patch = place.regatta(repository.root()).words("diff").run().expect_code(0).stdout;
    assert!(patch.contains("own.txt"), "{patch}");
    assert!(!patch.contains("KEY=") && !patch.contains("a/target/"), "{patch}");
    place.expect_nothing_left(&repository);
}

#[test]
fn what_leaves_the_repository_or_is_more_than_the_limit_is_refused_before_anything_is_copied() {
    let place = sandbox();
    let repository = repository(&place);
    // Each wrong glob has its row in `isolation/src/carry/globs.rs`.
    let typed = carrying(&place, &repository, &["../secret"]).exec("true").run();
    typed.expect_refusal(&["--carry: `../secret` leaves the repository"]);
    let plan = Plan::default().top("carry = ['../x']").task("t1", "true");
    let of_plan = place.run_plan(&repository, &plan).run();
    of_plan.expect_refusal(&["standard input:2:10", "`../x` leaves"]);
    place.home().configure("isolation:\n  carry: ['/x']\n");
    let of_settings = place.run_in(&repository).exec("true").run();
    of_settings.expect_refusal(&["`/x` is absolute", "config.yml:2"]);
    place.home().configure("");
    let huge = fs::File::create(repository.path("target/huge")).expect("a file can be made");
    huge.set_len(20 << 30).expect("a file can be sparse");
    let refused = carrying(&place, &repository, &["target/**", ".env"]).exec("true").run();
    refused.expect_refusal(&[
        "cannot carry ignored files of",
        "20.0 GiB in 4 files, and the limit is 1.0 GiB: target (20.0 GiB), .env (6 bytes)",
        "isolation.carryLimit",
    ]);
    huge.set_len(3000).expect("a file can be cut");
    place.expect_nothing_left(&repository);
    place.home().configure("isolation:\n  carryLimit: 3000\n");
    let refused = carrying(&place, &repository, &["target/**"]).exec("true").run();
    refused.expect_refusal(&["2.9 KiB in 3 files, and the limit is 2.9 KiB"]);
    place.home().configure("isolation:\n  carryLimit: 3004\n");
    let _fits = carrying(&place, &repository, &["target/**"]).exec("true").run().expect_code(0);
}

#[test]
fn copies_for_which_the_disk_has_no_room_are_refused_with_the_sizes() {
    let place = sandbox();
    let _disk = match SmallDisk::mount(&place.folder().join("disk"), 64 << 10) {
        Ok(disk) => disk,
        Err(why) => {
            return skip("copies_for_which_the_disk_has_no_room_are_refused_with_the_sizes", &why);
        }
    };
    let repository = repository(&place);
    let large = fs::File::create(repository.path("target/large")).expect("a file can be made");
    large.set_len(20 << 20).expect("a file can be sparse");
    let folder = place.folder().join("disk/workspaces");
    let yaml = format!("isolation:\n  dir: {}\n", folder.display());
    place.home().configure(&yaml);
    let plan = (0..8).fold(Plan::default(), |plan, task| plan.task(&format!("a{task}"), "true"));
    let run = || place.run_plan(&repository, &plan).words("--carry target/**");
    let refused = run().words("--jobs 4").run();
    refused.expect_refusal(&[
        "they are 20.0 MiB, copies for the run and for 4 workspaces at once need 100.0 MiB, and 6",
        "--jobs 2",
    ]);
    let _fits = run().words("--jobs 2").run().expect_code(0);
}

#[test]
fn globs_without_an_ignored_file_and_what_cannot_be_copied_are_told_and_no_link_is_followed() {
    let place = sandbox();
    let repository = repository(&place);
    let _socket = UnixListener::bind(repository.path("it.sock")).expect("a socket can be made");
    let outside = place.folder().join("outside");
    fs::create_dir(&outside).expect("a folder can be made");
    fs::write(outside.join("secret"), "secret\n").expect("a file can be written");
    symlink(&outside, repository.path("target/link")).expect("a link can be made");
    let globs = ["src/**", "*.sock", "*.nope", ".env", "target/**"];
    let call = carrying(&place, &repository, &globs);
    let script = "test -L target/link && find target -name secret; echo more >> src/run.rs; \
                  test -f .env && test -L target/link";
    let finished = call.exec(script).run().expect_code(0);
    assert_eq!(place.home().output(&finished.run_name(), "t1"), b"", "no secret is found");
    assert_eq!(
        told(&finished),
        [
            "carried files; files that git does not ignore are in each workspace anyway, and changes \
             to them land; no ignored file matches `src/**`",
            "carried files; none; no file matches `*.nope`",
            "carried files; sockets, pipes and devices are not copied; left out: it.sock",
        ]
    );
    assert!(repository.text("src/run.rs").ends_with("more\n"), "a tracked file is work");
}

#[test]
fn large_ignored_folders_that_are_not_carried_are_named_once() {
    let place = sandbox();
    let repository = repository(&place);
    let large = |path: &str| {
        let file = fs::File::create(repository.path(path)).expect("a file can be made");
        file.set_len(52_500_000).expect("a file can be sparse");
    };
    large("target/debug/large");
    large("node_modules/m3/large");
    let named = |globs: &[&str], items: &str| {
        let call = carrying(&place, &repository, globs).words("--each -").stdin(items);
        let finished = call.exec("echo {{item}}").run().expect_code(0);
        let told = told(&finished);
        let about = told.iter().filter(|note| note.starts_with("ignored folders of more than"));
        about.map(|note| note.rsplit("; ").next().unwrap_or_default().to_owned()).collect()
    };
    let all: Vec<String> = named(&[".env"], "a\nb\nc\n");
    assert_eq!(all, ["node_modules, target"]);
    assert_eq!(named(&["target/**"], "a\n"), ["node_modules"]);
    assert_eq!(named(&["target/debug/**", "node_modules/**"], "a\n"), ["target"]);
    assert_eq!(named(&["target", "node_modules"], "a\n"), Vec::<String>::new());
}

#[test]
fn a_carried_link_in_the_way_of_a_predecessors_work_is_replaced_and_not_followed() {
    let place = sandbox();
    let repository = repository(&place);
    repository.write(".gitignore", "out\n");
    repository.commit("ignore out");
    let outside = place.folder().join("outside");
    fs::create_dir(&outside).expect("a folder can be made");
    fs::write(outside.join("a"), "theirs\n").expect("a file can be written");
    symlink(&outside, repository.path("out")).expect("a link can be made");
    let plan = Plan::default()
        .task("first", "rm out; mkdir out; echo mine > out/a; git add -f out/a")
        .task("second", "cat out/a > seen")
        .after(&["first"]);
    let run = place.run_plan(&repository, &plan).words("--carry out --merge none");
    let finished = run.run().expect_code(0);
    let seen = place.home().captured(&format!("{}/second/1", finished.run_name()), "seen");
    assert_eq!(seen, "mine\n", "{finished}");
    assert_eq!(fs::read_to_string(outside.join("a")).expect("it is there"), "theirs\n");
}

#[test]
fn the_include_file_is_the_default_which_the_options_replace() {
    let place = sandbox();
    let repository = repository(&place);
    repository.write(".worktreeinclude", ".env*\n");
    repository.commit("select what comes along");
    let run = |words: &str| {
        let call = place.run_in(&repository).words(words);
        let finished = call.exec("git ls-files -o -i --exclude-standard").run().expect_code(0);
        let output = place.home().output(&finished.run_name(), "t1");
        (String::from_utf8_lossy(&output).into_owned(), told(&finished))
    };
    let (carried, lines) = run("");
    assert_eq!(carried, ".env\n.env.local\nweb/.env\n");
    let copied = "3 ignored files (18 bytes) are copied into each workspace";
    assert!(lines[0].contains(copied), "{lines:?}");
    let dry_run = place.run_in(&repository).words("--dry-run").exec("true").run().expect_code(0);
    assert!(dry_run.stderr.contains(copied), "{dry_run}");
    assert_eq!(run("--carry *.local"), (".env.local\n".to_owned(), Vec::new()));
    assert_eq!(run("--no-carry"), (String::new(), Vec::new()));
}
