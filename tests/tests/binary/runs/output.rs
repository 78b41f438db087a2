//! Output that cannot be written: without a reader, with one that stops, or without room.

use std::fs::File;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{Pid, Signal, kill_process};
use tests::sandbox::{Repository, Sandbox, eventually};

use crate::binary::sandbox;

/// Begins a run of one command with these words.
fn call(place: &Sandbox, repository: &Repository, words: &str, script: &str) -> Command {
    let mut command = place.regatta(repository.root()).words(words).exec(script).into_command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs it with this as standard output.
fn with_output(mut command: Command, output: impl Into<Stdio>) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command.stdout(output).output().expect("it can be run");
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

/// Returns a pipe that takes nothing more: who writes to it waits for a reader.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().expect("a pipe can be made");
    let room = fcntl_getpipe_size(&writer).expect("a pipe has a size");
    writer.write_all(&vec![b'.'; room]).expect("it takes that much");
    (reader, writer)
}

fn interrupt(child: &Child) {
    let id = Pid::from_raw(i32::try_from(child.id()).expect("ids are small"));
    kill_process(id.expect("a child has an id"), Signal::INT).expect("it lives");
}

#[test]
fn ctrl_c_is_heard_while_nobody_reads_what_the_run_says() {
    for words in ["run --json", "run"] {
        let place = sandbox();
        let repository = place.repository();
        let ready = place.folder().join("ready");
        let script = format!("echo kept > kept.txt; : > {}; sleep 1000", ready.display());
        let mut command = call(&place, &repository, words, &script);
        let (_unread, stalled) = full_pipe();
        match words {
            "run" => command.stderr(stalled),
            _ => command.stdout(stalled),
        };
        let mut child = command.spawn().expect("it can be started");
        eventually(Duration::from_secs(60), "the task is at work", || ready.exists());
        interrupt(&child);
        let codes = || -> Vec<Option<u8>> {
            place.home().ledger("SELECT exit_code FROM run", |row| row.get(0))
        };
        eventually(Duration::from_secs(30), "the run is over", || codes() == [Some(130)]);
        assert!(!repository.has("kept.txt"), "{words}: nothing lands");
        // An earlier second signal leaves the tidying up to the next start.
        let tidy = || place.home().leftovers().is_empty();
        eventually(Duration::from_secs(60), "what the run had made is gone", tidy);
        let captures = place.home().captures();
        assert_eq!(captures.len(), 1, "{words}: {captures:?}");
        assert_eq!(place.home().captured(&captures[0], "kept.txt"), "kept\n");
        // What is left of the program waits for its reader; a second signal ends it. Two signals
        // may arrive as one.
        let mut ended = None;
        eventually(Duration::from_secs(60), "whoever insists ends it", || {
            interrupt(&child);
            ended = child.try_wait().expect("it can be asked");
            ended.is_some()
        });
        assert_eq!(ended.and_then(|status| status.code()), Some(130), "{words}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn a_run_whose_output_has_no_room_or_no_reader_ends_with_its_own_code_or_is_stopped() {
    let place = sandbox();
    let repository = place.repository();
    let full = || File::options().write(true).open("/dev/full").expect("there is one");
    // There is no room for its events: it is stopped, and nothing lands.
    let script = "echo x > x.txt; sleep 1000";
    let (code, said) = with_output(call(&place, &repository, "run --json", script), full());
    assert_eq!(code, Some(143), "{said}");
    assert!(!repository.has("x.txt"), "{said}");
    assert!(said.contains("error: cannot write to standard output"), "{said}");
    place.expect_nothing_left(&repository);
    // There is no room for its report, at its end.
    for (script, expected) in [("echo x > x.txt", 0), ("exit 3", 5)] {
        let (code, said) = with_output(call(&place, &repository, "run -q", script), full());
        assert_eq!(code, Some(expected), "{script}: {said}");
        assert!(said.contains("error: cannot write to standard output"), "{script}: {said}");
    }
    assert_eq!(repository.text("x.txt"), "x\n", "what landed has landed");
    place.expect_nothing_left(&repository);
    // Its reader has gone: it ends with the code in the ledger, and says so only if that has cancelled it.
    for words in ["run -q", "run --json"] {
        let (reader, writer) = pipe().expect("a pipe can be made");
        drop(reader);
        let (code, said) = with_output(call(&place, &repository, words, "exit 3"), writer);
        assert_eq!(code, last_code(&place), "{words}: {said}");
        let is_cancelled = said.contains("note: standard output was closed, so run r");
        assert_eq!(is_cancelled, code == Some(143), "{words}: {said}");
        assert_eq!(said.is_empty(), !is_cancelled, "{words}: {said}");
    }
    place.expect_nothing_left(&repository);
}

/// Returns the exit code of the latest run, as the ledger has it.
fn last_code(place: &Sandbox) -> Option<i32> {
    let select = "SELECT exit_code FROM run ORDER BY number DESC LIMIT 1";
    place.home().ledger(select, |row| row.get(0)).remove(0)
}

#[test]
fn a_run_whose_reader_closes_the_pipe_is_cancelled_and_captured() {
    let place = sandbox();
    let repository = place.repository();
    let (reader, writer) = pipe().expect("a pipe can be made");
    let script = "echo kept > kept.txt; while echo at work; do sleep 0.1; done";
    let mut command = call(&place, &repository, "run --json", script);
    let mut child = command.stdout(writer).spawn().expect("it can be started");
    drop(command); // and with it our end of the pipe
    let mut events = BufReader::new(reader).lines();
    let begun = |line: std::io::Result<String>| {
        let line = line.expect("it is text"); // the title of the task has the words, too
        line.contains("task_progress") && line.contains("at work")
    };
    assert!(events.by_ref().any(begun), "the task is at work");
    drop(events);
    let ended = child.wait().expect("it ends");
    assert_eq!((ended.code(), last_code(&place)), (Some(143), Some(143)));
    let captures = place.home().captures();
    assert_eq!(captures.len(), 1, "{captures:?}");
    assert_eq!(place.home().captured(&captures[0], "kept.txt"), "kept\n");
    assert!(!repository.has("kept.txt"), "nothing lands");
    place.expect_nothing_left(&repository);
}
