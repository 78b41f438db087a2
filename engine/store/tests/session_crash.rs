//! Engines that are killed while their sessions go on: every message that was acknowledged is in
//! its log, and the log can be gone on with.

#[macro_use]
extern crate test_limit;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Child;

use engine::fault::Faults;
use engine::ports::{OpenedLog, SessionHeader, SessionLogs};
use protocol::{Message, SessionEntry, SessionId, SessionMessage, Timestamp};
use store::{SessionLogFiles, read_session};

mod common;

use common::this_program;

/// Names the folder that a child writes in.
const FOLDER: &str = "REGATTA_TEST_SESSIONS";

const SESSIONS: usize = 4;
const ROUNDS: usize = 6;

#[test]
async fn every_message_that_a_killed_engine_was_told_is_durable_is_in_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut before = [0; SESSIONS];
    for round in 0..ROUNDS {
        let mut engine = engine(folder.path());
        let output = engine.stdout.take().unwrap();
        let mut words = BufReader::new(output).lines().map(Result::unwrap);
        let mut durable = before;
        let mut count = |word: String| {
            let session = word.strip_prefix("durable ")?.parse::<usize>().ok()?;
            durable[session] += 1;
            Some(())
        };
        assert_eq!(
            words.by_ref().filter_map(&mut count).take(5 + 9 * round).count(),
            5 + 9 * round
        );
        engine.kill().unwrap();
        engine.wait().unwrap();
        // What it still said before it died counts as well.
        words.filter_map(&mut count).count();
        for session in 0..SESSIONS {
            let path = path(folder.path(), session);
            let torn = !std::fs::read(&path).unwrap_or_default().ends_with(b"\n");
            let messages = open(&path).await.context.messages;
            let said: Vec<_> = messages.iter().map(|logged| text(&logged.message)).collect();
            let expected: Vec<_> = (0..said.len()).map(said_at).collect();
            assert_eq!(said, expected, "session {session}, torn: {torn}");
            let acknowledged = durable[session];
            let one_more = acknowledged..=acknowledged + 1;
            assert!(one_more.contains(&said.len()), "{} of {acknowledged}", said.len());
            assert_eq!(read_session(&path).map_or(0, |lines| lines.len()), said.len());
            before[session] = said.len();
        }
    }
}

/// Starts this program again as an engine that writes until it is killed.
fn engine(folder: &Path) -> Child {
    this_program("an_engine_whose_sessions_go_on_until_it_is_killed")
        .env(FOLDER, folder)
        .spawn()
        .expect("this program can be started again")
}

/// The child of the test above. Without a folder there is nothing to do.
#[test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_whose_sessions_go_on_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut sessions = tokio::task::JoinSet::new();
    for session in 0..SESSIONS {
        let path = path(&folder, session);
        sessions.spawn(async move {
            let OpenedLog { context, mut log, .. } = open(&path).await;
            for number in context.messages.len().. {
                let message = Message::user(said_at(number), at());
                log.append(at(), SessionEntry::message(message)).await.unwrap();
                writeln!(std::io::stdout(), "\ndurable {session}").unwrap();
            }
        });
    }
    sessions.join_all().await;
}

async fn open(path: &Path) -> OpenedLog {
    let header =
        SessionHeader { id: SessionId::generate(), cwd: "/".into(), at: at(), parent: None };
    SessionLogFiles::new(Faults::default()).open(path, header).await.expect("the log can be opened")
}

fn path(folder: &Path, session: usize) -> PathBuf {
    folder.join(format!("t{session}/session.jsonl"))
}

fn text(message: &SessionMessage) -> String {
    let SessionMessage::Model(Message::User(said)) = message else { panic!("only the user spoke") };
    said.text()
}

/// What is said at a place: some of it longer than what the system writes at once.
fn said_at(number: usize) -> String {
    format!("{number} {}", "ä".repeat(number * 997 % 20_000))
}

fn at() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678)
}
