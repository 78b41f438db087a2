//! Names that differ in case only: both land where the file system tells them apart, and where it does
//! not, neither is lost.

use tests::sandbox::{LoopDisk, Plan, Repository, Sandbox, skip};

use crate::binary::sandbox;

/// Tasks that add two names which differ in case only, and one that builds on neither.
fn twins() -> Plan {
    let plan = Plan::default().task("one", "echo one > Notes.txt");
    plan.task("two", "echo two > notes.txt; echo x > two.txt").task("three", "echo 3 > three.txt")
}

#[test]
fn names_that_differ_in_case_only_both_land_where_they_are_two_files() {
    let place = sandbox();
    let repository = place.repository().watched();
    let plan = twins().task("four", "git mv README.md readme.md; mkdir Src; echo y > Src/run.rs");
    let _run = place.run_plan(&repository, &plan).run().expect_code(0);
    for (path, text) in [("Notes.txt", "one\n"), ("notes.txt", "two\n"), ("Src/run.rs", "y\n")] {
        assert_eq!(repository.text(path), text);
    }
    assert!(repository.path("readme.md").exists() && !repository.path("README.md").exists());
    assert_eq!(repository.text("src/run.rs"), "pub fn run() {}\n");
    place.expect_nothing_left(&repository);
}

/// The repository on a file system that folds the case of names; the tasks work on another one.
fn on_folding(place: &Sandbox, test: &str) -> Option<(LoopDisk, Repository)> {
    let disk = match LoopDisk::mount(&place.folder().join("disk"), "exfat", 64) {
        Ok(disk) => disk,
        Err(why) => {
            skip(test, &why);
            return None;
        }
    };
    let repository = Repository::init(&disk.folder().join("app"));
    repository.write("README.md", "# App\n");
    repository.write("src/run.rs", "pub fn run() {}\n");
    repository.commit("files");
    assert_eq!(repository.git(&["config", "core.ignorecase"]), "true\n");
    Some((disk, repository.watched()))
}

#[test]
fn where_case_is_folded_a_name_that_is_there_in_another_case_is_a_conflict_and_no_file_is_lost() {
    let place = sandbox();
    let name = "where_case_is_folded_a_name_that_is_there_in_another_case_is_a_conflict_and_no_file_is_lost";
    let Some((_disk, repository)) = on_folding(&place, name) else { return };
    let git = repository.dot_git();
    let plan = twins()
        .task("user", "echo mine > readme.MD; echo z > z.txt")
        .task("folder", "mkdir SRC; echo w > SRC/new.rs")
        .task("rename", "git mv README.md Readme.md; echo more >> Readme.md");
    let run = place.run_plan(&repository, &plan).run().expect_code(4);
    let kept = run.events_of("task_conflicted");
    let found: Vec<_> = kept
        .iter()
        .map(|event| {
            let conflict = &event["conflicts"][0];
            assert_eq!(conflict["reason"], "case", "{run}");
            [&event["task"], &conflict["path"], &conflict["renamed"]["ours"]]
                .map(|value| value.as_str().unwrap_or_default().to_owned())
        })
        .collect();
    let expected = [
        ["two", "notes.txt", "Notes.txt"],
        ["user", "readme.MD", "README.md"],
        ["folder", "SRC/new.rs", "src"],
    ];
    assert_eq!(found, expected, "{run}");
    // A file can get its own name in another case.
    let names = |folder: &str| {
        let entries = std::fs::read_dir(repository.path(folder)).expect("it is a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it is listed").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("."), [".git", "Notes.txt", "Readme.md", "src", "three.txt"], "{run}");
    assert_eq!(names("src"), ["run.rs"]);
    assert_eq!(repository.text("Notes.txt"), "one\n");
    assert_eq!(repository.text("Readme.md"), "# App\nmore\n");
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());

    let shown = place.regatta(repository.root()).words("conflicts @").run().expect_code(0);
    assert!(shown.stdout.contains("another file has a name that differs only in case"), "{shown}");
    let refused = place.regatta(repository.root()).words("apply @ two --union").run();
    refused.expect_refusal(&["with `--union`", "differs only in case"]);
    let clean = place.regatta(repository.root()).words("apply @ two --clean").run();
    let _clean = clean.expect_code(4);
    assert_eq!(repository.text("two.txt"), "x\n");
    let theirs = place.regatta(repository.root()).words("apply @ two --theirs").run();
    let _theirs = theirs.expect_code(0);
    assert_eq!(names("."), [".git", "Readme.md", "notes.txt", "src", "three.txt", "two.txt"]);
    assert_eq!(repository.text("notes.txt"), "two\n");
    let ours = place.regatta(repository.root()).words("apply @ user --ours").run();
    let _ours = ours.expect_code(0);
    assert_eq!(repository.text("Readme.md"), "# App\nmore\n");
    assert_eq!(repository.text("z.txt"), "z\n");
}

#[test]
fn no_branch_gets_two_names_that_differ_in_case_only_where_git_folds_them() {
    let place = sandbox();
    let repository = place.repository();
    repository.git(&["config", "core.ignorecase", "true"]);
    let plan = twins().task("user", "echo mine > SRC_; mkdir SRC; echo mine > SRC/Run.rs");
    let run = place.run_plan(&repository, &plan).words("--merge stack").run().expect_code(4);
    let kept = run.events_of("task_conflicted");
    let reasons: Vec<_> = kept.iter().map(|event| &event["conflicts"][0]["reason"]).collect();
    assert_eq!(reasons, ["case", "case"], "{run}");
    assert_eq!(run.landed(), ["one", "three"], "{run}");
}
