//! Two processes want one session for some seconds and are killed: what each was told is durable is
//! in the file, in one line of entries, and whoever comes second is refused.

#[macro_use]
extern crate test_limit;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{SessionHeader, SessionLogs};
use protocol::{EntryId, Message, SessionEntry, SessionId, Timestamp};
use store::{SessionLogFiles, read_session};

mod common;

use common::this_program;

/// Names the log that a child writes, and the child.
const LOG: &str = "REGATTA_TEST_SESSION_LOG";
const NAME: &str = "REGATTA_TEST_SESSION_WRITER";

type Lines = Arc<Mutex<Vec<String>>>;

/// Collects the lines of an output in another thread, up to its end.
fn collect(output: impl std::io::Read + Send + 'static) -> (Lines, JoinHandle<()>) {
    let lines = Lines::default();
    let collected = Arc::clone(&lines);
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            collected.lock().expect("no thread panics here").push(line);
        }
    });
    (lines, reader)
}

fn is_durable(line: &str) -> bool {
    line.starts_with("durable")
}

/// Returns whether the line says that a writer was refused.
fn is_refused(line: &str) -> bool {
    line.contains("--fork")
}

#[test]
fn two_processes_on_one_session_lose_nothing_and_write_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("--app--/session.jsonl");
    let names = ["one", "two"];
    let mut writers = names.map(|name| writer(&path, name));
    let outputs = writers.each_mut().map(|writer| writer.stdout.take().unwrap());
    let outputs = outputs.map(collect);
    let often = test_limit::by_depth(15, 150);
    test_limit::eventually(Duration::from_secs(60), "both were let in and refused often", || {
        outputs.iter().all(|(lines, _)| {
            let lines = lines.lock().unwrap();
            let count = |is: fn(&str) -> bool| lines.iter().filter(|line| is(line)).count();
            count(is_durable) >= often && count(is_refused) >= often
        })
    });
    for writer in &mut writers {
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    let told = outputs.map(|(lines, reader)| {
        reader.join().unwrap();
        std::mem::take(&mut *lines.lock().unwrap())
    });

    let lines = read_session(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let whole = text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
    assert_eq!(whole.count(), lines.len() + 1, "every line is an entry, but for the header");
    let mut last: Option<EntryId> = None;
    for line in &lines {
        assert_eq!(line.parent, last);
        last = Some(line.id.clone());
    }
    for (name, told) in names.iter().zip(told) {
        let said = lines.iter().filter_map(|line| match line.entry.model_message() {
            Some(Message::User(said)) => {
                said.text().strip_prefix(&format!("{name} ")).map(str::to_owned)
            }
            _other => None,
        });
        let said: Vec<_> = said.collect();
        let durable = told.iter().filter(|word| is_durable(word)).count();
        let expected: Vec<_> = (0..said.len()).map(|number| number.to_string()).collect();
        assert_eq!(said, expected, "{name}");
        assert!(
            (durable..=durable + 1).contains(&said.len()),
            "{name}: {durable} of {}",
            said.len()
        );
        assert!(durable > 0, "{name} was never let in");
        assert!(told.iter().any(|word| is_refused(word)), "{name} was never refused");
    }
}

fn writer(path: &Path, name: &str) -> Child {
    this_program("a_writer_that_wants_the_session_until_it_is_killed")
        .env(LOG, path)
        .env(NAME, name)
        .spawn()
        .expect("this program can be started again")
}

/// The child of the test above. Without a log there is nothing to do.
#[test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_wants_the_session_until_it_is_killed() {
    let Some(path) = std::env::var_os(LOG).map(PathBuf::from) else { return };
    let name = std::env::var(NAME).unwrap();
    let at = Timestamp::from_millisecond(1_767_323_045_678);
    let logs = SessionLogFiles::new(Faults::default()).with_lock_timeout(Duration::from_millis(1));
    let mut number = 0;
    let mut out = std::io::stdout();
    loop {
        let header = SessionHeader { id: SessionId::generate(), cwd: "/".into(), at, parent: None };
        let mut log = match logs.open(&path, header).await {
            Ok(opened) => opened.log,
            Err(error) => {
                writeln!(out, "\nrefused: {}", error.source).unwrap();
                continue;
            }
        };
        for _ in 0..3 {
            let entry = SessionEntry::message(Message::user(format!("{name} {number}"), at));
            // Another process has begun the session meanwhile.
            let Err(error) = log.append(at, entry).await.map(|_id| number += 1) else {
                writeln!(out, "\ndurable {number}").unwrap();
                continue;
            };
            writeln!(out, "\nrefused: {}", error.source).unwrap();
            break;
        }
    }
}
