//! Two sessions that want one log at the same moment, step by step.

use std::mem::MaybeUninit;
use std::path::PathBuf;

use protocol::{Message, SessionEntry, Timestamp};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use super::super::log_writer::Addition;
use super::super::reader::read_session;
use super::*;

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    (folder, path)
}

fn at() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678)
}

/// Opens the log as another session does that does not wait.
fn open(path: &Path) -> Result<Opened, LogCause> {
    let options = LogOptions {
        faults: Faults::default(),
        blobs: None,
        lock_timeout: Duration::ZERO,
        durability: Durability::EachMessage,
    };
    let id = SessionId::generate();
    options.open(path, &SessionHeader { id, cwd: "/app".into(), at: at(), parent: None })
}

fn say(opened: &mut Opened) {
    let said = SessionEntry::message(Message::user("a", at()));
    opened.writer.write(&Faults::default(), at(), &Addition::Entry(said)).unwrap();
}

#[test]
fn who_begins_a_log_is_refused_if_another_session_has_begun_it_before_the_lock() {
    let refused = |file: &File, path: &Path| {
        matches!(lock_at_once(file.try_clone().unwrap(), path), Err(LogCause::Locked))
            && file.metadata().unwrap().len() == 0
    };
    for (said, closed) in [(false, false), (false, true), (true, false), (true, true)] {
        let (_folder, path) = place();
        let file = create_unlocked(&path).unwrap();
        let mut other = open(&path).unwrap();
        if said {
            say(&mut other);
        }
        let other = (!closed).then_some(other);
        assert!(refused(&file, &path), "said: {said}, closed: {closed}");
        drop((file, other));
        // Nothing is in the way of the next one, and what was said is there.
        say(&mut open(&path).unwrap());
        assert_eq!(read_session(&path).unwrap().len(), 1 + usize::from(said));
    }
}

#[test]
fn an_empty_file_is_removed_before_another_session_can_lock_it() {
    let (folder, path) = place();
    File::create(&path).unwrap();
    let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
    let what = WatchFlags::DELETE | WatchFlags::CLOSE_WRITE;
    inotify::add_watch(&watch, folder.path(), what).unwrap();
    let opened = open(&path).unwrap();
    // Its lock is released when it is closed.
    let mut room = [MaybeUninit::uninit(); 1024];
    let mut events = inotify::Reader::new(watch, &mut room);
    assert_eq!(events.next().unwrap().events(), ReadFlags::DELETE);
    assert_eq!(events.next().unwrap().events(), ReadFlags::CLOSE_WRITE);
    drop(opened);
}
