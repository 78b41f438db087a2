//! Programs that have a file open for writing while a run lands on it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tests::sandbox::{Repository, Sandbox, eventually};

use crate::binary::sandbox_on_disk as sandbox;

/// A repository with a log.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    repository.write("app.log", "1\n");
    repository.commit("a log");
    repository
}

/// Where the old version of the only file that lands waits to be removed, if it does.
fn replaced(repository: &Repository) -> Option<PathBuf> {
    let names = fs::read_dir(repository.root()).expect("the repository is there");
    let mut paths = names.map(|entry| entry.expect("the repository can be listed").path());
    paths.find(|path| path.extension().is_some_and(|end| end == "tmp"))
}

fn append(path: impl Into<PathBuf>, text: &str) -> bool {
    let file = OpenOptions::new().append(true).open(path.into());
    file.and_then(|mut file| file.write_all(text.as_bytes())).is_ok()
}

/// Types what follows the last colon of `line`, and returns what is in the file then.
fn typed(place: &Sandbox, line: &str) -> String {
    let (_, command) = line.split_once(" is kept: ").unwrap_or_else(|| panic!("{line}"));
    let file = place.folder().join("rescued");
    let command = command.trim().replace("FILE", &file.to_string_lossy());
    let status = Command::new("sh").args(["-c", &command]).status();
    assert!(status.is_ok_and(|status| status.success()), "{command}");
    fs::read_to_string(file).expect("the command wrote the file")
}

#[test]
fn a_replaced_version_that_is_written_to_is_an_event_and_after_a_kill_the_next_start_says_where() {
    let place = sandbox();
    let repository = repository(&place);
    let run = place.run_in(&repository).exec("echo task > app.log");
    let gate = place.folder().join("gate");
    let running = run.wait_at("landing.drop", &gate).start();
    eventually(Duration::from_secs(60), "the tree is changed", || gate.exists());
    assert!(replaced(&repository).is_some_and(|path| append(path, "late\n")));
    std::fs::remove_file(&gate).expect("it goes on then");
    let finished = running.wait().expect_code(0);
    assert_eq!(repository.text("app.log"), "task\n", "{finished}");
    let rescue = &finished.events_of("file_rescued")[0]["rescue"];
    assert_eq!(rescue["path"], "app.log", "{finished}");
    assert_eq!(rescue["run"], finished.run_name().as_str(), "{finished}");
    let object = rescue["kept"]["object"].as_str().expect("an object of the store");
    assert_eq!(place.home().store_git(&["show", object]), "1\nlate\n");
    place.expect_nothing_left(&repository);

    let run = place.run_in(&repository).exec("echo another > app.log");
    let killed = run.fault("kill@landing.drop").run().expect_code(128 + 9);
    assert!(replaced(&repository).is_some_and(|path| append(path, "later\n")), "{killed}");
    let next = place.regatta(repository.root()).words("runs").run().expect_code(0);
    let line = next.stderr.lines().find(|line| line.contains("a version of app.log"));
    let line = line.unwrap_or_else(|| panic!("the rescue in {next}"));
    assert_eq!(typed(&place, line), "task\nlater\n");
    assert_eq!(repository.text("app.log"), "another\n");
    place.expect_nothing_left(&repository);
}
