//! What each task has of its own: a slot, a folder for temporary files, and a git that asks no questions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tests::sandbox::{Plan, eventually};

use crate::binary::sandbox;

#[test]
fn a_task_has_a_slot_a_temporary_folder_until_its_capture_and_a_git_that_asks_nobody() {
    let place = sandbox();
    let repository = place.repository();
    // The programs that sign and that edit fail.
    let settings = "[user]\nname = Ada\nemail = ada@localhost\n[commit]\ngpgsign = true\n\
                    [gpg]\nprogram = false\n[core]\neditor = false\n";
    fs::write(place.folder().join("user/.gitconfig"), settings).expect("it can be written");
    let script = "echo x > \"$TMPDIR/file\"; git commit -q --allow-empty -m Work &&\n\
                  git commit -q --amend --allow-empty && echo \"$REGATTA_SLOT $TMPDIR\"";
    let plan = Plan::default().task("one", script).task("two", script).after(&["one"]);
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    let own = ["one", "two"].map(|task| {
        let said = finished.task(task)["yield"].as_str().unwrap_or_default().to_owned();
        let (slot, folder) = said.split_once(' ').expect("it says both");
        assert_eq!(slot, "0", "the processes of the other had ended: {finished}");
        PathBuf::from(folder)
    });
    assert_ne!(own[0], own[1]);
    for folder in &own {
        assert_eq!(folder.parent(), Some(place.temporary().as_path()), "{finished}");
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn the_temporary_folder_of_a_killed_run_is_removed_by_the_next_start() {
    let place = sandbox();
    let repository = place.repository();
    let ready = place.folder().join("ready");
    let script = format!(
        "mkdir -m 0 \"$TMPDIR/closed\"; echo \"$TMPDIR\" > '{0}.new'; mv '{0}.new' '{0}'; sleep 300",
        ready.display(),
    );
    let running = place.run_in(&repository).exec(&script).start();
    eventually(Duration::from_secs(60), "the task is at work", || ready.exists());
    let _killed = running.kill();
    let folder = fs::read_to_string(&ready).expect("it is there");
    let folder = Path::new(folder.trim_end());
    assert!(folder.join("closed").exists());
    let _recovered = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert!(!folder.exists(), "{}", folder.display());
    place.expect_nothing_left(&repository);
}
