//! Nested repositories that cannot be used, or that want to harm: each is told, none is followed, and
//! no program that one of them names is run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use test_limit::sample;
use tests::sandbox::{Fingerprint, Finished, Plan, Repository, Sandbox};

use super::kit::{Kind, Nest, told};
use crate::binary::sandbox;

/// Returns why repositories are left out.
fn why(finished: &Finished) -> String {
    let notices = finished.events_of("degraded");
    let named = notices.iter().filter(|notice| notice["from"] == "repositories inside this one");
    named.map(|notice| notice["why"].as_str().expect("it is text").to_owned()).collect()
}

/// Why a nested repository is left out, and what makes it so odd, with a repository outside.
type Oddity = (&'static str, fn(&Repository, &Repository));

const ODDITIES: [Oddity; 12] = [
    ("its .git is a symlink", |lib, outside| {
        fs::remove_dir_all(lib.path(".git")).expect("it is there");
        symlink(outside.path(".git"), lib.path(".git")).expect("it can be made");
    }),
    ("its .git names", |lib, outside| {
        fs::remove_dir_all(lib.path(".git")).expect("it is there");
        lib.write(".git", format!("gitdir: {}\n", outside.path(".git").display()));
    }),
    ("its .git names", |lib, _| {
        fs::remove_dir_all(lib.path(".git")).expect("it is there");
        lib.write(".git", "gitdir: ../.git\n");
    }),
    ("its core.worktree names another folder", |lib, outside| {
        lib.git(&["config", "core.worktree", outside.root().to_str().expect("it is text")]);
    }),
    ("some of its objects are in", |lib, outside| {
        let objects = outside.path(".git/objects");
        lib.write(".git/objects/info/alternates", format!("{}\n", objects.display()));
    }),
    ("its configuration includes other files", |lib, outside| {
        lib.git(&["config", "include.path", outside.path("secret.txt").to_str().expect("text")]);
    }),
    ("its git folder has no regular objects", |lib, outside| {
        fs::rename(lib.path(".git/objects"), outside.path("objects")).expect("it can be moved");
        symlink(outside.path("objects"), lib.path(".git/objects")).expect("it can be made");
    }),
    ("its git folder has no regular config", |lib, _| {
        fs::remove_file(lib.path(".git/config")).expect("it is there");
        let made = Command::new("mkfifo").arg(lib.path(".git/config")).status();
        assert!(made.is_ok_and(|made| made.success()));
    }),
    ("in its git folder, refs/heads/odd is not a regular file", |lib, _| {
        let made = Command::new("mkfifo").arg(lib.path(".git/refs/heads/odd")).status();
        assert!(made.is_ok_and(|made| made.success()));
    }),
    ("its index is damaged", |lib, _| {
        lib.write(".git/index", "DIRC\0\0\0\x02 and no more");
    }),
    ("its index is split or sparse", |lib, _| {
        lib.git(&["update-index", "--split-index"]);
    }),
    ("its HEAD leads to no commit", |lib, _| {
        lib.write(".git/HEAD", format!("{}\n", "1".repeat(40)));
    }),
];

/// A notice names three: each run has so many.
#[test]
fn a_nested_repository_that_leads_elsewhere_is_left_out_and_told() {
    for oddities in ODDITIES.chunks(3) {
        let place = sandbox();
        let outer = place.repository();
        let outside = Repository::init(&place.folder().join("outside"));
        outside.write("secret.txt", "secret\n");
        outside.commit("outside");
        for (number, (_, make)) in oddities.iter().enumerate() {
            let lib = Repository::init(&outer.path(format!("lib{number}")));
            lib.write("list.txt", "1\n");
            lib.commit("one");
            make(&lib, &outside);
        }
        let before = [outer.root(), outside.root()].map(Fingerprint::of);
        let run = place.run_in(&outer).words("--merge none");
        let finished = run.exec("for lib in lib*; do test ! -e $lib; done; echo x > x.txt").run();
        let finished = finished.expect_code(0);
        for (number, (reason, _)) in oddities.iter().enumerate() {
            let told = format!("lib{number} ({reason}");
            assert!(why(&finished).contains(&told), "{told} in {finished}");
        }
        let after = [outer.root(), outside.root()].map(Fingerprint::of);
        assert_eq!(before, after, "{finished}");
        let applied = place.regatta(outer.root()).words("apply").run().expect_code(0);
        assert_eq!(outer.text("x.txt"), "x\n", "{applied}");
    }
}

#[test]
fn no_program_that_a_nested_repository_names_is_run() {
    for mode in ["patch", "branch"] {
        let place = sandbox();
        let nest = Nest::of(&place, Kind::Submodule);
        let mark = place.folder().join("ran");
        let program = place.folder().join("program");
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let text = program.to_str().expect("it is text");
        nest.lib.write(".gitattributes", "*.bin filter=evil\n");
        nest.lib.commit("attributes");
        for (key, value) in [
            ("core.fsmonitor", text),
            ("core.hooksPath", place.folder().to_str().expect("it is text")),
            ("filter.evil.clean", text),
            ("filter.evil.smudge", text),
            ("filter.evil.process", text),
            ("core.sshCommand", text),
        ] {
            nest.lib.git(&["config", key, value]);
        }
        for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit"] {
            fs::copy(&program, place.folder().join(hook)).expect("it can be copied");
        }
        let _git_may_have = fs::remove_file(&mark);
        let run = place.run_in(&nest.outer).words("--merge").words(mode);
        let script = "cd lib; echo x > made.txt; git add .; git commit -q -m mine; echo b > a.bin";
        let finished = run.exec(script).run();
        assert!(!mark.exists(), "{mode}: {finished}");
        if mode == "patch" {
            assert_eq!(nest.lib.text("a.bin"), "b\n", "{finished}");
        } else {
            let conflict = &finished.events_of("task_conflicted")[0]["conflicts"][0];
            assert_eq!(conflict["path"], "lib/a.bin", "{finished}");
            assert_eq!(conflict["reason"], "filter", "{finished}");
        }
    }
}

#[test]
fn repositories_in_nested_repositories_work_and_too_deep_ones_are_told() {
    let place = sandbox();
    let repository = place.repository();
    let mut path = String::new();
    for number in 1..=9 {
        path.push_str(&format!("n{number}/"));
        let nested = Repository::init(&repository.path(&path));
        nested.write("file.txt", format!("{number}\n"));
        nested.commit("it");
    }
    let script = "find . -name file.txt -exec sh -c 'echo more >> $0' {} ';'; \
                  git -C n1/n2/n3 log --oneline | wc -l";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(finished.task("t1")["yield"].to_string().trim_matches('"'), "1", "{finished}");
    assert!(why(&finished).contains("n1/n2/n3/n4/n5/n6/n7/n8/n9 (it is more than 8"), "{finished}");
    let mut path = String::new();
    for number in 1..=8 {
        path.push_str(&format!("n{number}/"));
        assert_eq!(repository.text(format!("{path}file.txt")), format!("{number}\nmore\n"));
    }
    assert_eq!(repository.text(format!("{path}n9/file.txt")), "9\n");
    let run = place.run_in(&repository).words("--merge branch").exec("echo 3 >> n1/n2/file.txt");
    let finished = run.run().expect_code(4);
    let conflict = &finished.events_of("task_conflicted")[0]["conflicts"][0];
    assert_eq!(conflict["path"], "n1/n2/file.txt", "what is not committed: {finished}");
}

#[test]
fn the_next_task_in_a_copy_gets_nested_repositories_as_they_were() {
    for kind in sample([Kind::Submodule, Kind::Untracked], 1) {
        let place = sandbox();
        let nest = Nest::of(&place, kind);
        let at = place.folder().display().to_string();
        let look = |name: &str| {
            format!(
                "cd lib && {{ cat .git; git status --porcelain; git log --format=%s; ls; }} \
                 > {at}/{name} 2>&1; cd .."
            )
        };
        let mut plan = Plan::default().task("first", &look("first"));
        let harms = [
            "rm -rf lib",
            "echo 'gitdir: /nowhere' > lib/.git",
            "rm lib/.git; ln -s /nowhere lib/.git",
            "ln lib/.git link; rm lib/.git; mkdir lib/.git",
            "cd lib; echo x >> list.txt; git commit -qam x; git branch other; git config a.b c",
            "rm -rf $(git -C lib rev-parse --absolute-git-dir)",
            "mv lib elsewhere; mkdir lib; echo x > lib/list.txt",
            "true",
        ];
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for (name, harm) in names.iter().zip(harms) {
            plan = plan.task(name, &format!("{}; {harm}", look(name)));
        }
        let run = place.run_plan(&nest.outer, &plan).words("--jobs 1 --merge none");
        let finished = run.run();
        let first = told(&place, "first");
        assert!(first.starts_with("gitdir: ") && first.contains("\ntwo\none\n"), "{first}");
        for name in names {
            assert_eq!(told(&place, name), first, "{kind:?} {name} {finished}");
        }
        nest.expect_same_git(&finished);
    }
}

#[test]
fn what_a_task_puts_into_the_git_folder_of_a_nested_repository_neither_blocks_nor_leads_away() {
    let place = sandbox();
    let nest = Nest::of(&place, Kind::Untracked);
    let plan = Plan::default()
        .task("fifo", "echo 1 > lib/a.txt; cd $(git -C lib rev-parse --absolute-git-dir); rm HEAD index; mkfifo HEAD index")
        .task("link", &format!("echo 2 > lib/b.txt; rm lib/.git; ln -s {} lib/.git", nest.lib.path(".git").display()))
        .task("own", "echo 3 > lib/c.txt; rm lib/.git; git init -q lib; git -C lib add .; git -C lib -c user.name=x -c user.email=x commit -qm own");
    let finished = place.run_plan(&nest.outer, &plan).run().expect_code(0);
    for (name, text) in [("a", "1\n"), ("b", "2\n"), ("c", "3\n")] {
        assert_eq!(nest.lib.text(format!("{name}.txt")), text, "{finished}");
    }
    nest.expect_same_git(&finished);
    for task in ["link", "own"] {
        let entry = &finished.task(task)["left_out"]["entries"][0];
        assert_eq!(entry["path"], "lib/.git", "{finished}");
    }
}

#[test]
fn a_bare_repository_and_odd_gitmodules_are_files_like_others() {
    let place: Sandbox = sandbox();
    let nest = Nest::of(&place, Kind::Submodule);
    let bare = nest.outer.path("bare");
    let made = Command::new("git").args(["init", "--quiet", "--bare"]).arg(&bare).status();
    assert!(made.is_ok_and(|made| made.success()));
    nest.outer.write(
        ".gitmodules",
        "[submodule \"a\"]\n\tpath = ../../etc\n\turl = ext::sh -c touch\n\tupdate = !touch x\n[",
    );
    let gone = format!("160000,{},gone", "1".repeat(40));
    nest.outer.git(&["update-index", "--add", "--cacheinfo", &gone]);
    fs::create_dir(nest.outer.path("gone")).expect("a folder can be made");
    let nest = nest.again();
    let script = "echo x >> bare/description; echo y >> lib/other.txt; echo z >> .gitmodules";
    let finished = place.run_in(&nest.outer).exec(script).run().expect_code(0);
    assert!(nest.outer.text("bare/description").ends_with("x\n"), "{finished}");
    assert_eq!(nest.lib.text("other.txt"), "other\ny\n");
    assert!(nest.outer.text(".gitmodules").ends_with("[z\n"));
    assert!(Path::new(&nest.outer.path("bare/HEAD")).exists());
    nest.expect_same_git(&finished);
}
