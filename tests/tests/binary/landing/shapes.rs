//! Every kind of change lands as git would have it: the same commands, run in a plain copy of the
//! repository, are the judge.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use tests::sandbox::{Plan, Repository};

use crate::binary::sandbox;

/// Changes of one kind, below a folder of that name, which holds a few files already.
struct Kind {
    name: &'static str,
    set_up: fn(&Repository, &Path),
    /// What each of its tasks does in the folder.
    scripts: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind {
        name: "binary",
        set_up: |repository, at| {
            repository.write(at.join("image.bin"), [0, 159, 146, 150, 0, 13, 10].repeat(999));
            repository.write(at.join("gone.bin"), [0, 1, 2, 255]);
        },
        scripts: &[
            "printf '\\000\\001\\377end' >> image.bin; printf '\\000\\000' > new.bin; rm gone.bin",
        ],
    },
    Kind {
        name: "symlinks",
        set_up: |repository, at| {
            let links = [("kept", "README.md"), ("moved", "src"), ("file", "src/run.rs")];
            for (link, target) in links {
                let link = repository.path(at.join(link));
                std::os::unix::fs::symlink(target, link).expect("a link can be made");
            }
        },
        scripts: &["ln -sfn src/main.rs moved; ln -s /nowhere/at/all dangling; ln -s .. src/up; \
             rm file; echo now a file > file; rm README.md; ln -s src/run.rs README.md"],
    },
    Kind {
        name: "modes",
        set_up: |repository, at| {
            repository.write(at.join("tool.sh"), "#!/bin/sh\n");
            repository.make_executable("modes/tool.sh");
            repository.write(at.join("plain.sh"), "#!/bin/sh\n");
        },
        scripts: &["chmod a-x tool.sh; chmod +x plain.sh; echo '#!/bin/sh' > new.sh; \
                    chmod +x new.sh"],
    },
    Kind {
        name: "renames",
        set_up: |repository, at| {
            repository.write(at.join("old/one.txt"), "one\n".repeat(40));
            repository.write(at.join("old/two.txt"), "two\n".repeat(40));
        },
        scripts: &["mv old/one.txt one.txt; echo more >> one.txt; mv old new; \
                    mv README.md readme.md"],
    },
    Kind {
        name: "deletions",
        set_up: |repository, at| {
            repository.write(at.join("deep/er/still/file.txt"), "x\n");
            repository.write(at.join("deep/stays.txt"), "x\n");
        },
        scripts: &["rm README.md; rm -r deep/er; rm -r src"],
    },
    Kind {
        name: "file and folder",
        set_up: |repository, at| {
            repository.write(at.join("was-file"), "x\n");
            repository.write(at.join("was-folder/a"), "a\n");
            repository.write(at.join("was-folder/b/c"), "c\n");
        },
        scripts: &["rm was-file; mkdir -p was-file/in; echo y > was-file/in/side; \
                    rm -r was-folder; echo z > was-folder"],
    },
    Kind {
        name: "empty files",
        set_up: |repository, at| {
            repository.write(at.join("empty"), "");
            repository.write(at.join("full"), "full\n");
        },
        scripts: &[": > new; : > full; echo no longer > empty"],
    },
    Kind {
        name: "odd names",
        set_up: |repository, at| {
            repository.write(at.join("two words/a file.txt"), "x\n");
            repository.write(at.join("new\nline"), "x\n");
            repository.write(at.join(OsStr::from_bytes(b"not \xff utf-8")), "x\n");
            repository.write(at.join("-dash"), "x\n");
        },
        scripts: &["echo y >> 'two words/a file.txt'; \
             echo y >> \"$(printf 'new\\nline')\"; \
             echo y >> \"$(printf 'not \\377 utf-8')\"; \
             echo z > \"$(printf 'fresh\\nand \\376 \"quoted\" $(touch oops)')\"; \
             rm ./-dash; echo z > 'tab\tand \\ backslash'"],
    },
    Kind {
        name: "crlf",
        set_up: |repository, at| {
            repository.write(at.join("dos.txt"), "one\r\ntwo\r\nthree\r\n");
            repository.write(at.join(".gitattributes"), "*.win text eol=crlf\n*.txt -text\n");
            repository.write(at.join("converted.win"), "one\r\ntwo\r\nthree\r\n");
        },
        scripts: &["printf 'four\\r\\n' >> dos.txt; sed -i 's/two/TWO/' converted.win; \
             printf 'fresh\\r\\n' > fresh.win"],
    },
    Kind {
        name: "two tasks in one crlf file",
        set_up: |repository, at| {
            repository.write(at.join(".gitattributes"), "* text=auto eol=crlf\n");
            let lines: String = (0..40).map(|line| format!("line {line}\r\n")).collect();
            repository.write(at.join("notes.txt"), lines);
        },
        scripts: &[
            "sed -i 's/line 2\\r/line two\\r/' notes.txt",
            "sed -i 's/line 35\\r/line thirty-five\\r/' notes.txt",
        ],
    },
];

/// Checks that the tree is what the scripts make of a plain copy, to git and to the last byte. What
/// differs is named with the folder of its kind.
#[test]
fn every_kind_of_change_lands_as_git_would_have_it_and_a_folder_becomes_a_file_again() {
    let place = sandbox();
    let repository = place.repository();
    for Kind { name, set_up, .. } in KINDS {
        let at = Path::new(name);
        repository.write(at.join("README.md"), format!("# {name}\n\nA small thing.\n"));
        repository.write(at.join("src/main.rs"), format!("// {name}\nfn main() {{}}\n"));
        repository.write(at.join("src/run.rs"), format!("// {name}\npub fn run() {{}}\n"));
        set_up(&repository, at);
    }
    repository.commit("set up");
    let plain = place.folder().join("plain");
    let copied = Command::new("cp").arg("-a").arg(repository.root()).arg(&plain).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let mut plan = Plan::default();
    for Kind { name, scripts, .. } in KINDS {
        for (number, script) in scripts.iter().enumerate() {
            let script = format!("set -e; cd '{name}'; {script}");
            let ran = Command::new("/bin/sh").args(["-c", &script]).current_dir(&plain).status();
            assert!(ran.is_ok_and(|status| status.success()), "{script}");
            plan = plan.task(&format!("{}-{number}", name.replace(' ', "-")), &script);
        }
    }
    let git = repository.dot_git();
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    let plain = Repository::at(&plain);
    assert_eq!(plain.tree().differences(&repository.tree()), Vec::<String>::new(), "{finished}");
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    assert_eq!(plain.tree_id(), repository.tree_id(), "{finished}");

    let back = "cd 'file and folder'; rm -r was-file; echo x > was-file";
    let back = place.run_in(&repository).exec(back).run().expect_code(0);
    let status = ["status", "--porcelain", "--", "file and folder/was-file"];
    assert_eq!(repository.git(&status), "", "{back}");
    place.expect_nothing_left(&repository);
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
