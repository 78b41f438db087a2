//! What holds of a session log wherever it is kept.

use std::time::Duration;

use engine::session::{MemorySessionLogs, SessionMove};
use protocol::{EntryId, Message, SessionEntry, Timestamp};
use store::Durability;

use super::tested::{Storage, header};

/// Returns each storage, with files below `folder`.
fn storages(folder: &tempfile::TempDir) -> [Storage; 2] {
    let memory = Storage::Memory(MemorySessionLogs::default());
    let files = Storage::files(folder.path(), Durability::EachMessage);
    [memory, files.with_lock_timeout(Duration::from_millis(20))]
}

fn at() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678)
}

fn said(text: &str) -> SessionEntry {
    SessionEntry::message(Message::user(text, at()))
}

/// Returns what the prompts say of the session that is opened again.
async fn prompts(storage: &Storage) -> Vec<String> {
    let opened =
        storage.logs().open(&storage.first(), header(1, at())).await.expect("it can be used");
    let messages = opened.context.messages.into_iter();
    messages.map(|message| message.message.as_model().map(text).unwrap_or_default()).collect()
}

fn text(message: &Message) -> String {
    if let Message::User(said) = message { said.text() } else { String::new() }
}

#[test]
async fn a_log_has_one_writer_however_often_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    for storage in storages(&folder) {
        let (logs, path) = (storage.logs(), storage.first());
        let mut first = logs.open(&path, header(1, at())).await.unwrap();
        first.log.append(at(), said("one")).await.unwrap();
        let mut second = logs.open(&path, header(2, at())).await.ok();
        let mut wrote = Vec::new();
        if let Some(second) = &mut second {
            assert_eq!(second.session, first.session, "it is the same session");
            wrote.push(second.log.append(at(), said("two")).await.is_ok());
        }
        for _ in 0..2 {
            wrote.push(first.log.append(at(), said("two")).await.is_ok());
        }
        // A file is refused to the second, in memory the second takes the place of the first.
        let expected = match storage {
            Storage::Memory(_) => vec![true, false, false],
            Storage::Files { .. } => vec![true, true],
        };
        assert_eq!((second.is_some(), &wrote), (expected.len() == 3, &expected));
        let expected = 1 + wrote.iter().filter(|it| **it).count();
        drop((first, second));
        let found = prompts(&storage).await;
        assert_eq!((found[0].as_str(), found.len()), ("one", expected), "{found:?}");
        assert!(found[1..].iter().all(|text| text == "two"), "{found:?}");
    }
}

#[test]
async fn a_log_that_was_closed_can_be_opened_by_anybody_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for storage in storages(&folder) {
        for number in 0..3_u32 {
            let opened = storage.logs().open(&storage.first(), header(number, at())).await;
            let mut opened = opened.unwrap();
            assert_eq!(opened.session, header(0, at()).id, "who began it says whose it is");
            opened.log.append(at(), said(&number.to_string())).await.unwrap();
        }
        assert_eq!(prompts(&storage).await, ["0", "1", "2"]);
    }
}

#[test]
async fn a_log_in_which_nothing_was_said_has_no_entry_to_go_to() {
    let folder = tempfile::tempdir().unwrap();
    for storage in storages(&folder) {
        let opened = storage.logs().open(&storage.first(), header(0, at())).await;
        let mut log = opened.unwrap().log;
        let preview = log.preview(None).await.unwrap();
        assert!(preview.is_nowhere() && preview.left.is_empty(), "{preview:?}");
        let unknown = Some(EntryId::new("00000000"));
        let to = SessionMove { target: unknown.clone(), summary: None };
        for error in [log.preview(unknown).await.err(), log.go_to(at(), to).await.err()] {
            let error = error.expect("there is no such entry").source.to_string();
            assert_eq!(error, "the session has no entry `00000000`");
        }
        // It can be used as if nothing had been asked.
        log.append(at(), said("one")).await.unwrap();
        drop(log);
        assert_eq!(prompts(&storage).await, ["one"]);
    }
}

#[test]
async fn a_session_stays_where_it_is_after_a_move_to_an_entry_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for storage in storages(&folder) {
        let opened = storage.logs().open(&storage.first(), header(0, at())).await;
        let mut log = opened.unwrap().log;
        let first = log.append(at(), said("one")).await.unwrap();
        log.append(at(), said("two")).await.unwrap();
        let to = |target: &EntryId| SessionMove { target: Some(target.clone()), summary: None };
        assert!(log.go_to(at(), to(&EntryId::new("00000000"))).await.is_err());
        log.append(at(), said("three")).await.unwrap();
        let moved = log.go_to(at(), to(&first)).await.unwrap();
        assert_eq!(moved.context.messages.len(), 1);
        log.append(at(), said("four")).await.unwrap();
        drop(log);
        assert_eq!(prompts(&storage).await, ["one", "four"]);
    }
}
