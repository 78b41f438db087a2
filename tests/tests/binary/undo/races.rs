//! `regatta undo` while the user saves the same files: no byte of the user's is lost.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use test_limit::by_depth;
use tests::sandbox::{Plan, Repository};

use crate::binary::sandbox_on_disk as sandbox;

/// Saves a file again and again as an editor does, in place and by a rename, until `stop`. Returns
/// the lines that it has saved.
fn save_until(stop: &Receiver<()>, path: &Path) -> Vec<String> {
    let mut saved = Vec::new();
    for number in 0.. {
        let line = format!("saved {number}");
        let now = fs::read_to_string(path).unwrap_or_default();
        let text = format!("{now}{line}\n");
        if number % 2 == 0 {
            fs::write(path, text).expect("a file can be written");
        } else {
            let beside = path.with_extension("swp");
            fs::write(&beside, text).expect("a file can be written");
            fs::rename(&beside, path).expect("a file can be renamed");
        }
        saved.push(line);
        // A person does not save all the time.
        if stop.recv_timeout(Duration::from_millis(3)) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    saved
}

/// Returns everything that is kept of a file: what it holds, and what was rescued.
fn kept(repository: &Repository, path: &str, told: &str) -> String {
    let mut all = repository.text(path);
    for line in told.lines().filter(|line| line.contains(" is kept: ")) {
        let (_, command) = line.split_once(" is kept: ").expect("it was looked for");
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        let command = command.trim().replace("FILE", &file.path().to_string_lossy());
        let status = std::process::Command::new("sh").args(["-c", &command]).status();
        assert!(status.is_ok_and(|status| status.success()), "{command}");
        all.push_str(&fs::read_to_string(file.path()).expect("the command wrote it"));
    }
    all
}

#[test]
fn what_somebody_saves_during_an_undo_is_there_afterwards_or_its_path_is_named() {
    let place = sandbox();
    let repository = place.repository().watched();
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &text);
    repository.commit("notes");
    for round in 0..by_depth(2, 6) {
        let plan = Plan::default()
            .task("notes", "sed -i 's/^line 2$/the task/' notes.txt")
            .task("other", &format!("echo {round} > other.txt"));
        let _landed = place.run_plan(&repository, &plan).run().expect_code(0);
        let (stop, stopped) = channel();
        let path = repository.path("notes.txt");
        let (saved, undone) = std::thread::scope(|scope| {
            let saver = scope.spawn(move || save_until(&stopped, &path));
            let undone = place.regatta(repository.root()).words("undo @").run();
            stop.send(()).expect("the saver works until then");
            (saver.join().expect("the saver does not panic"), undone)
        });
        assert!([0, 4].contains(&undone.code), "{undone}");
        let kept = kept(&repository, "notes.txt", &undone.stderr);
        // The saver itself overwrites what it has not read: only its last line is certain.
        let last = saved.last().expect("something was saved");
        assert!(kept.contains(last.as_str()), "round {round}: {last} in {kept}\n{undone}");
        let is_named = undone.stdout.contains("left        notes.txt");
        assert_eq!(is_named, undone.code == 4, "round {round}: {undone}");
        assert!(!repository.has("other.txt"), "round {round}: {undone}");
        repository.write("notes.txt", &text);
    }
    place.expect_nothing_left(&repository);
}
