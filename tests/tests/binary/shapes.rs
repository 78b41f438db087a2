//! Every kind of change lands as git would have it: the same command, run in a plain copy of the
//! repository, is the judge.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use tests::sandbox::{Plan, Repository};

use super::sandbox;

/// Runs `script` as a task and checks that the tree is then what the script makes of a plain copy,
/// to git and to the last byte.
fn lands_as_git_would_have_it(set_up: impl Fn(&Repository), script: &str) {
    let place = sandbox();
    let repository = place.repository();
    set_up(&repository);
    repository.commit("set up");
    let plain = place.folder().join("plain");
    let copied = Command::new("cp").arg("-a").arg(repository.root()).arg(&plain).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let ran = Command::new("/bin/sh").args(["-e", "-c", script]).current_dir(&plain).status();
    assert!(ran.is_ok_and(|status| status.success()), "{script}");

    let git = repository.dot_git();
    let finished = place.run_in(&repository).exec(&format!("set -e; {script}")).run();
    let finished = finished.expect_code(0);
    let plain = Repository::at(&plain);
    assert_eq!(plain.tree().differences(&repository.tree()), Vec::<String>::new(), "{finished}");
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    assert_eq!(plain.tree_id(), repository.tree_id(), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn binary_files_land_as_git_would_have_them() {
    let set_up = |repository: &Repository| {
        repository.write("image.bin", [0, 159, 146, 150, 0, 13, 10].repeat(999));
        repository.write("gone.bin", [0, 1, 2, 255]);
    };
    let script =
        "printf '\\000\\001\\377end' >> image.bin; printf '\\000\\000' > new.bin; rm gone.bin";
    lands_as_git_would_have_it(set_up, script);
}

#[test]
fn symlinks_land_as_git_would_have_them() {
    let set_up = |repository: &Repository| {
        for (link, target) in [("kept", "README.md"), ("moved", "src"), ("file", "src/run.rs")] {
            std::os::unix::fs::symlink(target, repository.path(link)).unwrap();
        }
    };
    let script = "ln -sfn src/main.rs moved; ln -s /nowhere/at/all dangling; ln -s .. src/up; \
                  rm file; echo now a file > file; rm README.md; ln -s src/run.rs README.md";
    lands_as_git_would_have_it(set_up, script);
}

#[test]
fn modes_land_as_git_would_have_them() {
    let set_up = |repository: &Repository| {
        repository.write("tool.sh", "#!/bin/sh\n");
        repository.make_executable("tool.sh");
        repository.write("plain.sh", "#!/bin/sh\n");
    };
    let script = "chmod a-x tool.sh; chmod +x plain.sh; echo '#!/bin/sh' > new.sh; chmod +x new.sh";
    lands_as_git_would_have_it(set_up, script);
}

#[test]
fn renames_land_as_git_would_have_them() {
    let set_up = |repository: &Repository| {
        repository.write("old/one.txt", "one\n".repeat(40));
        repository.write("old/two.txt", "two\n".repeat(40));
    };
    let script = "mv old/one.txt one.txt; echo more >> one.txt; mv old new; mv README.md readme.md";
    lands_as_git_would_have_it(set_up, script);
}

#[test]
fn deletions_land_as_git_would_have_them() {
    let set_up = |repository: &Repository| {
        repository.write("deep/er/still/file.txt", "x\n");
        repository.write("deep/stays.txt", "x\n");
    };
    lands_as_git_would_have_it(set_up, "rm README.md; rm -r deep/er; rm -r src");
}

#[test]
fn a_file_becomes_a_folder_and_a_folder_a_file_as_git_would_have_it() {
    let set_up = |repository: &Repository| {
        repository.write("was-file", "x\n");
        repository.write("was-folder/a", "a\n");
        repository.write("was-folder/b/c", "c\n");
    };
    let there = "rm was-file; mkdir -p was-file/in; echo y > was-file/in/side; \
                 rm -r was-folder; echo z > was-folder";
    lands_as_git_would_have_it(set_up, there);
}

#[test]
fn a_file_becomes_a_folder_and_a_file_again_as_git_would_have_it() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("thing", "a file\n");
    repository.commit("a file");
    let there = "rm thing; mkdir thing; echo inside > thing/inside";
    let _there = place.run_in(&repository).exec(there).run().expect_code(0);
    assert_eq!(repository.text("thing/inside"), "inside\n");
    let back = "rm -r thing; echo 'a file' > thing";
    let _back = place.run_in(&repository).exec(back).run().expect_code(0);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    place.expect_nothing_left(&repository);
}

#[test]
fn empty_files_land_as_git_would_have_them() {
    let set_up = |repository: &Repository| {
        repository.write("empty", "");
        repository.write("full", "full\n");
    };
    lands_as_git_would_have_it(set_up, ": > new; : > full; echo no longer > empty");
}

#[test]
fn names_with_spaces_newlines_quotes_and_odd_bytes_land_as_git_would_have_them() {
    let odd = OsStr::from_bytes(b"not \xff utf-8");
    let set_up = move |repository: &Repository| {
        repository.write("two words/a file.txt", "x\n");
        repository.write("new\nline", "x\n");
        repository.write(odd, "x\n");
        repository.write("-dash", "x\n");
    };
    let script = "echo y >> 'two words/a file.txt'; \
                  echo y >> \"$(printf 'new\\nline')\"; \
                  echo y >> \"$(printf 'not \\377 utf-8')\"; \
                  echo z > \"$(printf 'fresh\\nand \\376 \"quoted\" $(touch oops)')\"; \
                  rm ./-dash; echo z > 'tab\tand \\ backslash'";
    lands_as_git_would_have_it(set_up, script);
}

#[test]
fn crlf_files_land_as_git_would_have_them() {
    let set_up = |repository: &Repository| {
        repository.write("dos.txt", "one\r\ntwo\r\nthree\r\n");
        repository.write(".gitattributes", "*.win text eol=crlf\n*.txt -text\n");
        repository.write("converted.win", "one\r\ntwo\r\nthree\r\n");
    };
    let script = "printf 'four\\r\\n' >> dos.txt; sed -i 's/two/TWO/' converted.win; \
                  printf 'fresh\\r\\n' > fresh.win";
    lands_as_git_would_have_it(set_up, script);
}

#[test]
fn two_tasks_in_one_crlf_file_both_land_and_its_line_ends_stay() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitattributes", "* text=auto eol=crlf\n");
    let lines: String = (0..40).map(|line| format!("line {line}\r\n")).collect();
    repository.write("notes.txt", &lines);
    repository.commit("notes");
    let plan = Plan::default()
        .task("top", "sed -i 's/line 2\\r/line two\\r/' notes.txt")
        .task("end", "sed -i 's/line 35\\r/line thirty-five\\r/' notes.txt");
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    let expected =
        lines.replace("line 2\r", "line two\r").replace("line 35\r", "line thirty-five\r");
    assert_eq!(repository.text("notes.txt"), expected, "{finished}");
}

#[test]
fn a_rename_takes_an_edit_along_and_a_removal_against_an_edit_is_a_conflict() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("edit", "echo '// edited' >> src/run.rs")
        .task("remove", "rm src/run.rs; echo other > src/walk.rs")
        .task("move", "mv src/run.rs src/walk.rs");
    let finished = place.run_plan(&repository, &plan).run().expect_code(4);
    assert_eq!(finished.landed(), ["edit", "move"], "{finished}");
    let conflicts = finished.events_of("task_conflicted");
    assert_eq!(conflicts[0]["task"], "remove");
    assert_eq!(conflicts[0]["conflicts"][0]["path"], "src/run.rs");
    assert_eq!(conflicts[0]["conflicts"][0]["reason"], "changed_and_removed");
    assert_eq!(repository.text("src/walk.rs"), "pub fn run() {}\n// edited\n");
    assert!(!repository.has("src/run.rs"), "nothing of a conflicting task lands");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_repository_that_a_task_makes_lands_as_its_files_without_its_git_folder() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("vendor/old.txt", "old\n");
    repository.write("vendor/gone.txt", "gone\n");
    repository.commit("set up");
    let script = "git init -q new && echo a > new/file && rm vendor/gone.txt && \
                  git init -q vendor && echo b > vendor/fresh.txt && echo c >> vendor/old.txt";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(repository.read("new/file"), b"a\n", "{finished}");
    assert_eq!(repository.read("vendor/fresh.txt"), b"b\n", "{finished}");
    assert_eq!(repository.read("vendor/old.txt"), b"old\nc\n", "{finished}");
    assert!(!repository.has("vendor/gone.txt"), "{finished}");
    assert!(!repository.has("new/.git") && !repository.has("vendor/.git"), "{finished}");
    place.expect_nothing_left(&repository);
}
