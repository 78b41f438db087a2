//! What a capture cannot hold of what a task made: it is told, and kept where it is work.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tests::sandbox::{Finished, Invocation, Repository, Running, Sandbox, eventually, skip};

use crate::binary::sandbox;

/// Starts a run whose task writes `work.txt`, waits until `make` has been at its workspace, and
/// then does what `last` says.
fn start(
    place: &Sandbox,
    call: Invocation,
    last: &str,
    make: &dyn Fn(&Path),
) -> (Running, PathBuf) {
    let (ready, go) = (place.folder().join("ready"), place.folder().join("go"));
    let (at, wait) = (ready.display(), go.display());
    let script = format!(
        "echo work >> work.txt; pwd > {at}.tmp; mv {at}.tmp {at}; \
         until test -e {wait}; do sleep 0.02; done; {last}"
    );
    let running = call.exec(&script).start();
    eventually(Duration::from_secs(120), "the task is at work", || ready.exists());
    let workspace = fs::read_to_string(&ready).expect("it was written");
    let workspace = PathBuf::from(workspace.trim_end());
    make(&workspace);
    fs::remove_file(&ready).expect("it is there");
    fs::write(&go, "").expect("a file can be written");
    (running, workspace)
}

fn run(place: &Sandbox, call: Invocation, code: i32, make: &dyn Fn(&Path)) -> (Finished, PathBuf) {
    let (running, workspace) = start(place, call, "true", make);
    let finished = running.wait().expect_code(code);
    fs::remove_file(place.folder().join("go")).expect("it is there");
    (finished, workspace)
}

fn show(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words("runs show").words(words).run().expect_code(0)
}

/// Runs a task that leaves what `make` makes and checks how it is told: in events, in what a run
/// writes, and afterwards. Returns what the event of its end says and the workspace.
fn told(
    place: &Sandbox,
    repository: &Repository,
    code: i32,
    words: &str,
    make: &dyn Fn(&Path),
) -> (Value, PathBuf) {
    let (finished, workspace) = run(place, place.run_in(repository), code, make);
    let end = finished.task("t1");
    assert_eq!(end["outcome"], "done", "{finished}");
    let captured = &finished.events_of("task_captured")[0];
    assert_eq!(captured["left_out"], end["left_out"], "{finished}");
    assert_eq!(repository.text("work.txt"), "work\n", "what could be captured landed: {finished}");
    let name = finished.run_name();
    let shown = show(place, repository, &format!("{name} --json")).json();
    assert_eq!(shown["tasks"][0]["report"]["left_out"], end["left_out"], "{finished}");
    assert_eq!(shown["tasks"][0]["captured"]["left_out"], end["left_out"], "{finished}");
    let line = format!("t1: left out: {words}");
    let shown = show(place, repository, &name);
    assert!(shown.stdout.contains(&line), "{line} in {shown}");

    let text = place.regatta(repository.root()).words("run");
    let (finished, second) = run(place, text, code, make);
    assert!(finished.stdout.contains(&line), "{line} in {finished}");
    assert!(finished.stderr.contains(&format!("left out: {words}")), "{words} in {finished}");
    assert_eq!(second.exists(), code == 4, "{finished}");
    if code == 4 {
        let kept = format!("its workspace is kept until you remove it: {}", second.display());
        assert!(finished.stdout.contains(&kept), "{kept} in {finished}");
    }
    (end["left_out"].clone(), workspace)
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|made| made.success()), "a FIFO can be made");
}

#[test]
fn sockets_devices_and_git_folders_of_a_tasks_own_are_told_and_the_rest_lands() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitignore", "*.ignored\n");
    repository.commit("ignore");
    let mknod = |path: &Path| {
        let made = Command::new("mknod").arg(path).args(["c", "1", "3"]).output();
        made.is_ok_and(|made| made.status.success())
    };
    let has_devices = mknod(&place.folder().join("probe"));
    let make = |workspace: &Path| {
        fifo(&workspace.join("pipe.ignored"));
        fs::create_dir(workspace.join("deep")).expect("a folder can be made");
        let _listener = UnixListener::bind(workspace.join("deep/s")).expect("a socket can be made");
        assert_eq!(mknod(&workspace.join("null")), has_devices);
        let made = Command::new("git").args(["init", "-q"]).arg(workspace.join("own")).status();
        assert!(made.is_ok_and(|made| made.success()));
        fs::write(workspace.join("own/file"), "work\n").expect("a file can be written");
    };
    let mut rows = vec![
        ("deep/s", "socket", "socket"),
        ("null", "device", "device"),
        ("own/.git", "repository", "a repository's own"),
    ];
    if !has_devices {
        skip("devices_are_told", "only root can make devices");
        rows.remove(1);
    }
    let words = rows.iter().map(|(path, _, words)| format!("{path} ({words})"));
    let words = format!("{}\n", words.collect::<Vec<_>>().join(", "));
    let (left, workspace) = told(&place, &repository, 0, &words, &make);
    let entries = rows.iter().map(|(path, kind, _)| json!({ "path": path, "kind": kind }));
    let entries = entries.collect::<Vec<_>>();
    assert_eq!(left, json!({ "entries": entries, "total": rows.len(), "files": 0 }));
    assert_eq!(repository.text("own/file"), "work\n");
    assert!(!workspace.exists());
    place.expect_nothing_left(&repository);
}

#[test]
fn names_that_git_takes_for_its_own_are_told_and_their_files_are_kept() {
    let place = sandbox();
    let repository = place.repository();
    let make = |workspace: &Path| {
        fs::create_dir_all(workspace.join(".GIT/hooks")).expect("a folder can be made");
        fs::write(workspace.join(".GIT/hooks/x"), "work\n").expect("a file can be written");
        symlink("x", workspace.join(".GIT/hooks/y")).expect("a link can be made");
        fs::create_dir(workspace.join("sub")).expect("a folder can be made");
        let hidden = std::ffi::OsStr::from_bytes(b"sub/.g\xe2\x80\x8cit");
        fs::write(workspace.join(hidden), "work\n").expect("a file can be written");
        fs::create_dir(workspace.join("git~1")).expect("a folder can be made");
    };
    let words = ".GIT (taken for .git, 2 files), git~1 (taken for .git, no files), \
                 \"sub/.g\\342\\200\\214it\" (taken for .git, 1 file)";
    let (left, workspace) = told(&place, &repository, 4, words, &make);
    let entries = json!([
        { "path": ".GIT", "kind": "git_twin", "files": 2 },
        { "path": "git~1", "kind": "git_twin", "files": 0 },
        { "path": "\"sub/.g\\342\\200\\214it\"", "kind": "git_twin", "files": 1 },
    ]);
    let expected = json!({
        "entries": entries, "total": 3, "files": 3, "workspace": workspace.display().to_string(),
    });
    assert_eq!(left, expected);
    let kept = fs::read_to_string(workspace.join(".GIT/hooks/x"));
    assert_eq!(kept.expect("it is kept"), "work\n");
}

/// Makes a repository with a submodule in `lib` that is not checked out.
fn with_submodule(place: &Sandbox) -> Repository {
    let repository = place.repository();
    let library = Repository::init(&place.folder().join("library"));
    library.write("lib.txt", "lib\n");
    library.commit("a library");
    let url = library.root().to_str().expect("it is text").to_owned();
    let allow = "protocol.file.allow=always";
    repository.git(&["-c", allow, "submodule", "--quiet", "add", &url, "lib"]);
    repository.commit("a submodule");
    repository.git(&["submodule", "--quiet", "deinit", "--force", "lib"]);
    repository
}

fn write_into_submodule(workspace: &Path) {
    fs::create_dir_all(workspace.join("lib/deep")).expect("a folder can be made");
    for name in ["lib/a", "lib/b", "lib/deep/c"] {
        fs::write(workspace.join(name), "work\n").expect("a file can be written");
    }
}

#[test]
fn what_is_written_into_the_folder_of_a_submodule_is_told_and_kept_until_it_is_removed() {
    let place = sandbox();
    let repository = with_submodule(&place);
    let (finished, _) = run(&place, place.run_in(&repository), 0, &|_| {});
    assert_eq!(finished.task("t1")["left_out"], Value::Null, "nothing is in it: {finished}");
    place.expect_nothing_left(&repository);
    fs::remove_file(repository.path("work.txt")).expect("it has landed");

    let words = "lib (submodule, 3 files)";
    let (left, workspace) = told(&place, &repository, 4, words, &write_into_submodule);
    let entries = json!([{ "path": "lib", "kind": "submodule", "files": 3 }]);
    let expected = json!({
        "entries": entries, "total": 1, "files": 3, "workspace": workspace.display().to_string(),
    });
    assert_eq!(left, expected);
    let captures = place.home().captures();
    let ledger = || -> Vec<String> {
        place.home().ledger("SELECT entry FROM transition ORDER BY seq", |row| row.get(0))
    };
    let steps = ledger();

    // Each start tells it again, in one line, and changes nothing.
    for _ in 0..2 {
        let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
        let lines: Vec<_> = listed.stderr.lines().filter(|line| line.contains("kept")).collect();
        let place = workspace.display().to_string();
        let told = lines.iter().filter(|line| line.contains(&place) && line.contains(words));
        assert_eq!((lines.len(), told.count()), (2, 1), "one line for each workspace: {listed}");
        let kept = fs::read_to_string(workspace.join("lib/deep/c"));
        assert_eq!(kept.expect("it is kept"), "work\n");
    }
    assert_eq!(place.home().captures(), captures);
    assert_eq!(ledger(), steps, "nothing new is written to the ledger");

    fs::remove_dir_all(&workspace).expect("it can be removed");
    let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(listed.stderr.lines().count(), 1, "what was removed is not missed: {listed}");
    for folder in place.home().workspaces() {
        let _gone = fs::remove_dir_all(place.home().data().join("workspaces").join(folder));
    }
    let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(listed.stderr, "", "{listed}");
}

#[test]
fn of_many_entries_the_first_are_named_and_all_are_counted_beside_no_change() {
    let place = sandbox();
    let repository = place.repository();
    let script =
        "for i in 0 1 2 3 4 5; do for j in 0 1 2 3 4 5 6 7 8 9; do mkfifo p$i$j; done; done";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    let left = &finished.task("t1")["left_out"];
    let entries = left["entries"].as_array().expect("a list");
    assert_eq!((entries.len(), left["total"].as_u64()), (20, Some(60)), "{finished}");
    assert_eq!(entries[0], json!({ "path": "p00", "kind": "fifo" }));
    assert_eq!(entries[19]["path"], "p19");
    let shown = show(&place, &repository, "");
    assert!(shown.stdout.contains(", p19 (FIFO) and 40 more\n"), "{shown}");

    let finished = place.regatta(repository.root()).words("run").exec("mkfifo only").run();
    let finished = finished.expect_code(0);
    assert!(finished.stdout.contains("no change"), "{finished}");
    assert!(finished.stdout.contains("t1: left out: only (FIFO)\n"), "{finished}");
}

#[test]
fn what_a_killed_engine_left_in_a_submodule_is_kept_by_the_next_start() {
    let place = sandbox();
    let repository = with_submodule(&place);
    let last = "while :; do sleep 1; done";
    let call = place.run_in(&repository);
    let (running, workspace) = start(&place, call, last, &write_into_submodule);
    let killed = running.kill();
    place.expect_no_process(Duration::from_secs(5));
    let steps =
        || -> Vec<i64> { place.home().ledger("SELECT count(*) FROM transition", |row| row.get(0)) };
    let mut before = Vec::new();
    for start in 1..=3 {
        let listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
        let told = listed.stderr.lines().filter(|line| {
            line.contains(&workspace.display().to_string())
                && line.contains("lib (submodule, 3 files)")
        });
        assert_eq!(told.count(), 1, "{listed}");
        assert!(workspace.join("lib/deep/c").exists(), "{listed}");
        if start > 1 {
            assert_eq!(listed.stderr.lines().count(), 1, "only that: {listed}");
            assert_eq!(steps(), before, "nothing new is written to the ledger");
        }
        before = steps();
    }
    let shown = show(&place, &repository, &killed.run_name());
    assert!(shown.stdout.contains("t1: left out: lib (submodule, 3 files)"), "{shown}");
    assert_eq!(place.home().captures().len(), 1, "what could be captured was");
}
