use std::error::Error as _;
use std::fs;
use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::time::Duration;

use engine::fault::{FaultHooks, Faults};
use engine::ports::{OpenedLog, SessionHeader, SessionLogError, SessionLogs};
use engine::session::for_model;
use protocol::{
    AssistantMessage, EntryId, FailureClass, InputId, Message, Part, SessionEntry, SessionId,
    StopReason, Timestamp, Usage,
};
use serde_json::Value;
use test_limit::{eventually, sample};
use tokio::sync::Semaphore;

use super::{BlobFolder, Durability, SessionLogFiles, read_session};

/// Told when what a plan makes slow is reached.
static REACHED: Semaphore = Semaphore::const_new(0);

/// Where it waits for who lets it go on.
static GOES_ON: Barrier = Barrier::new(2);

fn wait() {
    REACHED.add_permits(1);
    GOES_ON.wait();
}

/// The log of one session, in a folder of its own.
struct LogFixture {
    folder: tempfile::TempDir,
    id: SessionId,
    logs: SessionLogFiles,
}

impl LogFixture {
    fn new() -> Self {
        Self::with_faults("")
    }

    fn with_faults(plan: &str) -> Self {
        let faults = Faults::read(plan, FaultHooks { wait, ..FaultHooks::default() }).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(folder.path().join("blobs"));
        let logs = SessionLogFiles::new(faults).with_blobs(blobs);
        Self { folder, id: SessionId::generate(), logs }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("r7k3f/auth/session.jsonl")
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("r7k3f/sessions.journal")
    }

    /// Waits until closed logs are durable without their journal.
    fn until_settled(&self) {
        eventually(Duration::from_secs(60), "the log is synced", || !self.journal().exists());
    }

    async fn open(&self) -> Result<OpenedLog, SessionLogError> {
        let header = SessionHeader { id: self.id, cwd: "/app".into(), at: at(0), parent: None };
        self.logs.open(&self.path(), header).await
    }

    /// Opens another log of the same folder: as long as both are open, they share a journal.
    async fn open_beside(&self) -> OpenedLog {
        let (id, path) = (SessionId::generate(), self.folder.path().join("r7k3f/db/session.jsonl"));
        let header = SessionHeader { id, cwd: "/app".into(), at: at(0), parent: None };
        self.logs.open(&path, header).await.unwrap()
    }

    /// Writes a log of these entries and closes it.
    async fn write(&self, entries: impl IntoIterator<Item = SessionEntry>) {
        let mut log = self.open().await.unwrap().log;
        for (second, entry) in (1..).zip(entries) {
            log.append(at(second), entry).await.unwrap();
        }
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678 + 1_000 * second)
}

fn messages(opened: &OpenedLog) -> Vec<Message> {
    opened.context.messages.iter().filter_map(|logged| for_model(&logged.message)).collect()
}

fn user(text: &str) -> Message {
    Message::user(text, at(0))
}

fn assistant(text: &str, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage {
        content: vec![Part::text(text.to_owned())],
        api: "offline".to_owned(),
        provider: "offline".to_owned(),
        model: "a".to_owned(),
        usage: Usage::ZERO,
        stop_reason,
        error_message: None,
        timestamp: at(0),
    })
}

fn entry(message: Message) -> SessionEntry {
    SessionEntry::message(message)
}

fn said(text: &str) -> SessionEntry {
    entry(user(text))
}

fn init() -> SessionEntry {
    SessionEntry::SessionInit {
        system_prompt: "be brief".to_owned(),
        task: "do it".to_owned(),
        tools: vec!["read".to_owned()],
        output_schema: None,
    }
}

#[test]
async fn a_log_goes_on_where_it_ended() {
    let stage = LogFixture::new();
    let opened = stage.open().await.unwrap();
    assert_eq!((opened.session, messages(&opened)), (stage.id, vec![]));
    drop(opened.log);
    stage.write([init(), said("a"), entry(assistant("b", StopReason::Stop))]).await;

    let other =
        SessionHeader { id: SessionId::generate(), cwd: "/else".into(), at: at(9), parent: None };
    let mut opened = stage.logs.open(&stage.path(), other).await.unwrap();
    assert_eq!(opened.session, stage.id);
    assert_eq!(messages(&opened), [user("a"), assistant("b", StopReason::Stop)]);
    opened.log.append(at(4), said("c")).await.unwrap();

    let lines = stage.lines();
    let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session", "session_init", "message", "message", "message"]);
    assert_eq!(lines[0]["cwd"], "/app");
    assert_eq!(lines[1]["parentId"], Value::Null);
    for pair in lines[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"]);
    }
    let read = read_session(&stage.path()).unwrap();
    assert_eq!(read.iter().map(|line| line.timestamp).collect::<Vec<_>>(), [1, 2, 3, 4].map(at));
    assert_eq!(read[3].entry, said("c"));
}

#[test]
async fn wherever_a_log_was_cut_its_whole_lines_are_there_and_it_goes_on() {
    let stage = LogFixture::new();
    stage.write(["a", "ä", "c"].map(said)).await;
    stage.until_settled();
    let whole = fs::read(stage.path()).unwrap();
    let ends: Vec<_> = (1..=whole.len()).filter(|end| whole[end - 1] == b'\n').collect();
    // Around each end of a line, and in between.
    let near = ends.iter().flat_map(|end| [end - 1, *end]);
    let near = near.filter(|cut| (ends[0]..whole.len()).contains(cut));
    let between = sample(ends[0]..whole.len(), 60);
    for cut in near.chain(between) {
        fs::write(stage.path(), &whole[..cut]).unwrap();
        // The line break is no part of what was said.
        let left = ends.iter().filter(|end| **end <= cut + 1).count();
        assert_eq!(read_session(&stage.path()).unwrap().len(), left - 1, "cut at {cut}");
        let mut opened = stage.open().await.unwrap();
        let expected: Vec<_> = ["a", "ä", "c"].map(user).into_iter().take(left - 1).collect();
        assert_eq!(messages(&opened), expected, "cut at {cut}");
        assert_eq!(fs::read(stage.path()).unwrap(), whole[..ends[left - 1]], "cut at {cut}");
        // A sync takes its time; what follows a cut does not depend on where in a line it was.
        if cut % 16 == 0 {
            opened.log.append(at(9), said("on")).await.unwrap();
            assert_eq!(stage.lines().len(), left + 1, "cut at {cut}");
        }
        drop(opened);
        stage.until_settled();
    }
}

#[test]
async fn what_a_power_cut_takes_from_a_log_is_in_the_journal() {
    for left in ["", "{\"type\":\"session\"", "\0"] {
        let stage = LogFixture::new();
        let beside = stage.open_beside().await;
        let mut log = stage.open().await.unwrap().log;
        for (second, text) in (1..).zip(["a", "ä", "c"]) {
            log.append(at(second), said(text)).await.unwrap();
        }
        let whole = stage.text();
        // The machine stops here, and only what was synced is there when it starts again.
        let after = LogFixture { id: stage.id, ..LogFixture::new() };
        fs::create_dir(after.journal().parent().unwrap()).unwrap();
        fs::copy(stage.journal(), after.journal()).unwrap();
        if !left.is_empty() {
            fs::create_dir(after.path().parent().unwrap()).unwrap();
            let left = if left == "\0" { left.repeat(whole.len()) } else { left.to_owned() };
            fs::write(after.path(), left).unwrap();
        }
        let opened = after.open().await.unwrap();
        assert_eq!(messages(&opened), ["a", "ä", "c"].map(user), "{left:?}");
        assert_eq!(after.text(), whole, "{left:?}");
        assert!(!after.journal().exists(), "it was read, and the log is synced");
        drop((log, opened, beside));
        stage.until_settled();
        assert_eq!(stage.text(), whole);
    }
}

#[test]
async fn what_a_power_cut_takes_from_many_logs_is_in_the_journal() {
    let stage = LogFixture::new();
    let path = |stage: &LogFixture, number: u32| {
        stage.folder.path().join(format!("r7k3f/t{number}/session.jsonl"))
    };
    let mut open = Vec::new();
    for number in 0..70 {
        let id = SessionId::generate();
        let header = SessionHeader { id, cwd: "/app".into(), at: at(0), parent: None };
        open.push(stage.logs.open(&path(&stage, number), header).await.unwrap().log);
    }
    for (number, log) in (0..).zip(&mut open) {
        log.append(at(1), said(&format!("{number}"))).await.unwrap();
    }
    let whole = |number| fs::read_to_string(path(&stage, number)).unwrap();
    let whole: Vec<_> = (0..70).map(whole).collect();
    let after = LogFixture::new();
    fs::create_dir(after.journal().parent().unwrap()).unwrap();
    fs::copy(stage.journal(), after.journal()).unwrap();
    let _opened = after.open().await.unwrap();
    assert!(!after.journal().exists(), "one was read, and all are synced");
    for (number, whole) in (0..).zip(whole) {
        assert_eq!(fs::read_to_string(path(&after, number)).unwrap(), whole, "{number}");
    }
    drop(open);
    stage.until_settled();
}

#[test]
async fn a_log_that_is_open_alone_is_synced_itself_and_one_that_is_not_any_more_goes_on_so() {
    alone_then_not_then_again().await;
}

#[test(flavor = "multi_thread")]
async fn a_log_that_is_open_alone_is_written_by_the_thread_that_asks_where_there_are_others() {
    tokio::spawn(alone_then_not_then_again()).await.unwrap();
}

async fn alone_then_not_then_again() {
    let stage = LogFixture::new();
    let mut log = stage.open().await.unwrap().log;
    log.append(at(1), said("a")).await.unwrap();
    assert!(!stage.journal().exists(), "it is alone");
    let synced = stage.text();
    let mut beside = stage.open_beside().await.log;
    log.append(at(2), said("b")).await.unwrap();
    beside.append(at(2), said("x")).await.unwrap();
    let journal = fs::read(stage.journal()).unwrap();
    drop(beside);
    log.append(at(3), said("c")).await.unwrap();
    assert_eq!(fs::read(stage.journal()).unwrap(), journal, "it is alone again");
    let whole = stage.text();
    // The machine stops after the second message: of the log there is what was synced by itself.
    let after = LogFixture { id: stage.id, ..LogFixture::new() };
    fs::create_dir_all(after.path().parent().unwrap()).unwrap();
    fs::copy(stage.journal(), after.journal()).unwrap();
    fs::write(after.path(), synced).unwrap();
    assert_eq!(messages(&after.open().await.unwrap()), ["a", "b"].map(user));
    drop(log);
    stage.until_settled();
    assert_eq!(stage.text(), whole);
    assert_eq!(messages(&stage.open().await.unwrap()), ["a", "b", "c"].map(user));
}

#[test]
async fn a_journal_that_is_left_changes_no_log_that_somebody_has_changed() {
    let stage = LogFixture::new();
    let _beside = stage.open_beside().await;
    let mut log = stage.open().await.unwrap().log;
    for (second, text) in (1..).zip(["a", "b"]) {
        log.append(at(second), said(text)).await.unwrap();
    }
    let whole = stage.text();
    let nuls = whole.replace('\n', &format!("\n{}\n", "\0".repeat(3)));
    let shorter = whole.replace("\"a\"", "\"\"");
    for changed in [nuls, shorter, whole.replace('\n', "\r\n"), format!("{whole}{whole}")] {
        let after = LogFixture { id: stage.id, ..LogFixture::new() };
        fs::create_dir_all(after.path().parent().unwrap()).unwrap();
        fs::copy(stage.journal(), after.journal()).unwrap();
        fs::write(after.path(), &changed).unwrap();
        drop(after.open().await.unwrap());
        assert!(!after.journal().exists());
        assert_eq!(after.text(), changed);
    }
}

#[test]
async fn a_journal_that_leads_elsewhere_is_left_alone() {
    let stage = LogFixture::new();
    let outside = stage.folder.path().join("outside");
    fs::create_dir(stage.journal().parent().unwrap()).unwrap();
    let log = std::sync::Arc::new(group_log::GroupLog::at(stage.journal()));
    let record = r#"[{"log":"../outside","offset":0,"lines":"x\n"}]"#;
    log.announce().append(record.as_bytes()).unwrap();
    let opened = stage.open().await.unwrap();
    assert_eq!(messages(&opened), []);
    assert!(!outside.exists());
}

#[test]
async fn what_cannot_be_read_or_is_not_known_stays_in_the_file_and_is_not_minded() {
    let stage = LogFixture::new();
    stage.write([said("a")]).await;
    let title = "{\"type\":\"title\",\"v\":1,\"title\":\"x\",\"pad\":\"   \"}\n";
    let parent = &stage.lines()[1]["id"];
    let label = format!(
        "{{\"type\":\"label\",\"id\":\"0000abcd\",\"parentId\":{parent},\
         \"timestamp\":\"2026-01-02T03:04:05.678Z\",\"targetId\":\"x\"}}\n"
    );
    let odd = format!("{title}{}not json\n\0\0\0\n\n{label}", stage.text());
    fs::write(stage.path(), &odd).unwrap();

    let mut opened = stage.open().await.unwrap();
    assert_eq!((opened.session, messages(&opened)), (stage.id, vec![user("a")]));
    let damage: Vec<_> = opened.damage.iter().map(|it| (it.line, it.what.as_str())).collect();
    let json = "expected ident at line 1 column 2";
    assert_eq!(damage, [(4, json), (5, "it holds no text")]);
    opened.log.append(at(2), said("b")).await.unwrap();
    let text = stage.text();
    assert!(text.starts_with(&odd));
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["parentId"], "0000abcd");
    let read: Vec<_> =
        read_session(&stage.path()).unwrap().into_iter().map(|line| line.entry).collect();
    let label = SessionEntry::Label { target_id: EntryId::new("x"), label: None };
    assert_eq!(read, [said("a"), label, said("b")]);
}

#[test]
async fn a_file_that_is_no_log_is_moved_aside_and_nothing_of_it_is_lost() {
    let stage = LogFixture::new();
    fs::create_dir_all(stage.path().parent().unwrap()).unwrap();
    for (number, content) in ["{\"type\":\"session\",\"ver", "hello\n", "\n\n"].iter().enumerate() {
        fs::write(stage.path(), content).unwrap();
        let opened = stage.open().await.unwrap();
        assert_eq!((opened.session, messages(&opened)), (stage.id, vec![]));
        let number = if number == 0 { String::new() } else { (number + 1).to_string() };
        let aside = stage.path().with_file_name(format!("session.jsonl.bak{number}"));
        assert_eq!(fs::read_to_string(aside).unwrap(), *content);
        assert!(!stage.path().exists(), "nothing was said yet");
    }
    fs::write(stage.path(), "").unwrap();
    stage.write([said("a")]).await;
    assert_eq!(stage.lines().len(), 2);
    assert_eq!(fs::read_dir(stage.path().parent().unwrap()).unwrap().count(), 4);
}

#[test]
async fn a_log_of_a_newer_version_is_refused_and_left_as_it_is() {
    let stage = LogFixture::new();
    stage.write([said("a")]).await;
    let newer = stage.text().replace("\"version\":3", "\"version\":4");
    fs::write(stage.path(), &newer).unwrap();
    let error = stage.open().await.err().unwrap();
    let why = "a newer version of this program wrote it (its version is 4, this program knows 3); \
               update this program";
    assert_eq!(error.source().unwrap().to_string(), why);
    assert_eq!(stage.text(), newer);
}

#[test]
async fn a_log_that_is_open_is_refused_to_everybody_else_until_it_is_closed() {
    let stage = LogFixture::new();
    let mut first = stage.open().await.unwrap();
    first.log.append(at(1), said("a")).await.unwrap();
    let header = SessionHeader { id: stage.id, cwd: "/app".into(), at: at(0), parent: None };
    let hasty = stage.logs.clone().with_lock_timeout(Duration::from_millis(50));
    let error = hasty.open(&stage.path(), header).await.err().unwrap();
    let what = format!("cannot open the session log at {}", stage.path().display());
    assert_eq!(error.to_string(), what);
    assert_eq!(
        error.to_failure().message,
        format!(
            "{what}: another session has it open; with `--fork` a \
                       copy of it goes on"
        )
    );
    drop(first);
    assert!(stage.open().await.is_ok());
}

#[test]
async fn an_answer_that_could_not_be_had_is_for_people_only() {
    let stage = LogFixture::new();
    let bad = [StopReason::Error, StopReason::Aborted].map(|reason| assistant("b", reason));
    let entries = [user("a")].into_iter().chain(bad).chain([assistant("c", StopReason::Length)]);
    stage.write(entries.map(entry)).await;
    let opened = stage.open().await.unwrap();
    assert_eq!(messages(&opened), [user("a"), assistant("c", StopReason::Length)]);
    assert_eq!(read_session(&stage.path()).unwrap().len(), 4);
}

#[test]
async fn a_log_that_failed_once_fails_for_ever() {
    let stage = LogFixture::with_faults("full@session.append:2,fail@session.append:4");
    let mut log = stage.open().await.unwrap().log;
    log.append(at(1), said("a")).await.unwrap();
    for _ in 0..3 {
        let error = log.append(at(2), said("b")).await.unwrap_err();
        assert_eq!(error.class, FailureClass::Resources);
        assert_eq!(
            error.to_string(),
            format!("cannot write the session log at {}", stage.path().display())
        );
    }
    drop(log);
    let mut opened = stage.open().await.unwrap();
    assert_eq!(messages(&opened), [user("a")]);
    opened.log.append(at(3), said("c")).await.unwrap();
    opened.log.append(at(3), said("d")).await.unwrap();
    let error = opened.log.append(at(3), said("e")).await.unwrap_err();
    assert_eq!(error.class, FailureClass::Crashed);
}

#[test]
async fn a_panic_while_writing_is_the_session_s_own() {
    let stage = Arc::new(LogFixture::with_faults("crash@session.append:2"));
    let writer = Arc::clone(&stage);
    let writing = tokio::spawn(async move { writer.write(["a", "b"].map(said)).await });
    assert!(writing.await.unwrap_err().is_panic());
    assert_eq!(messages(&stage.open().await.unwrap()), [user("a")]);
}

#[test]
async fn a_panic_while_a_log_is_made_durable_ends_its_session_and_no_other() {
    let stage = Arc::new(LogFixture::with_faults("crash@session.sync:2"));
    let writer = Arc::clone(&stage);
    let writing = tokio::spawn(async move { writer.write(["a", "b"].map(said)).await });
    assert!(writing.await.unwrap_err().is_panic());
    // Of the same log, which the same thread writes.
    stage.write([said("c")]).await;
    assert_eq!(messages(&stage.open().await.unwrap()), ["a", "b", "c"].map(user));
}

#[test]
async fn where_messages_need_not_be_durable_they_are_written_and_nothing_is_synced() {
    let stage = LogFixture::with_faults("crash@session.sync:1");
    let logs = stage.logs.clone().with_durability(Durability::Written);
    let stage = LogFixture { logs, ..stage };
    stage.write(["a", "b"].map(said)).await;
    assert_eq!(messages(&stage.open().await.unwrap()), ["a", "b"].map(user));
}

#[test]
async fn a_session_that_is_stopped_while_it_writes_leaves_a_whole_log_to_who_goes_on() {
    let stage = LogFixture::with_faults("slow@session.append:2");
    let mut log = stage.open().await.unwrap().log;
    log.append(at(1), said("a")).await.unwrap();
    tokio::select! {
        _written = log.append(at(2), said("b")) => panic!("it was stopped"),
        _reached = REACHED.acquire() => {}
    }
    drop(log);
    // Until the next one is at the log as well.
    let path = stage.path().canonicalize().unwrap();
    let next = std::thread::spawn(move || {
        eventually(Duration::from_secs(60), "both have it open", || {
            let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
            open.filter(|open| fs::read_link(open.path()).is_ok_and(|to| to == path)).count() == 2
        });
        GOES_ON.wait();
    });
    let mut opened = stage.open().await.unwrap();
    next.join().unwrap();
    assert_eq!(messages(&opened), [user("a"), user("b")]);
    opened.log.append(at(3), said("c")).await.unwrap();
    assert_eq!(stage.lines().len(), 4);
}

#[test]
async fn what_is_very_long_is_cut_in_the_file_and_whole_when_it_is_read() {
    let stage = LogFixture::new();
    let whole = "x".repeat(600_000);
    stage.write([said(&whole)]).await;
    let notice = "[Session persistence truncated large content]";
    assert_eq!((stage.text().len() < 510_000, stage.text().matches(notice).count()), (true, 1));
    assert_eq!(messages(&stage.open().await.unwrap()), [user(&whole)]);
    fs::remove_dir_all(stage.folder.path().join("blobs")).unwrap();
    let opened = stage.open().await.unwrap();
    assert_eq!((opened.damage.len(), opened.damage[0].line), (1, 2));
    let what = &opened.damage[0].what;
    assert!(what.starts_with("the end of the text at `/message/content/0/text` (blob:"), "{what}");
    let Message::User(read) = &messages(&opened)[0] else { panic!() };
    assert_eq!((read.text().len(), read.text().ends_with(notice)), (500_000, true));
}

#[test]
async fn nobody_else_may_read_a_log() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = LogFixture::new();
    stage.write([said("a")]).await;
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(stage.path()), 0o600);
    assert_eq!(mode(stage.path().parent().unwrap().to_owned()), 0o700);
}

#[test(flavor = "multi_thread")]
async fn two_hundred_sessions_that_write_at_the_same_time_share_syncs() {
    const SESSIONS: usize = 200;
    static ALL_WAIT: Barrier = Barrier::new(2);
    let folder = tempfile::tempdir().unwrap();
    // The writing thread waits in its first entry until all others are in its queue.
    let wait = || {
        ALL_WAIT.wait();
    };
    let hooks = FaultHooks { wait, ..FaultHooks::default() };
    let logs = SessionLogFiles::new(Faults::read("slow@session.append", hooks).unwrap());
    let mut opened = Vec::new();
    for session in 0..SESSIONS {
        let path = folder.path().join(format!("t{session}/session.jsonl"));
        let header =
            SessionHeader { id: SessionId::generate(), cwd: "/".into(), at: at(0), parent: None };
        opened.push((logs.open(&path, header).await.unwrap().log, path));
    }
    let (mut sessions, waiting) = (tokio::task::JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    for (mut log, path) in opened {
        let waiting = Arc::clone(&waiting);
        sessions.spawn(async move {
            {
                let mut append = log.append(at(1), said(&"word ".repeat(100)));
                // The first poll sends the entry to the writing thread.
                let done = poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await;
                if waiting.fetch_add(1, Ordering::SeqCst) + 1 == SESSIONS {
                    ALL_WAIT.wait();
                }
                match done {
                    Poll::Ready(appended) => appended,
                    Poll::Pending => append.await,
                }
                .unwrap();
            }
            (path, log)
        });
    }
    let written = sessions.join_all().await;
    // As long as the logs are open and nobody reads them, the journal has one record for each group that
    // was synced: what was there when the thread began, and what came until all were waiting.
    let journal = folder.path().join("sessions.journal");
    let mut journal = fs::File::open(journal).unwrap();
    let syncs = group_log::read(&mut journal).unwrap().records.len();
    assert!((1..=2).contains(&syncs), "{syncs} syncs");
    for (path, log) in written {
        assert_eq!(read_session(&path).unwrap().len(), 1);
        drop(log);
    }
}

#[test]
fn the_documentation_names_every_entry_and_field() {
    let documentation = include_str!("../../../../docs/sessions.md");
    let call = protocol::ToolCall {
        id: "1".to_owned(),
        name: "read".to_owned(),
        arguments: serde_json::Map::new(),
        malformed: Some("{".to_owned()),
        thought_signature: Some("c2ln".to_owned()),
    };
    let Message::Assistant(answer) = assistant("b", StopReason::Error) else { unreachable!() };
    let parts =
        vec![Part::text("a".to_owned()), Part::thinking("b".to_owned()), Part::ToolCall(call)];
    let answer = AssistantMessage { content: parts, error_message: Some("c".to_owned()), ..answer };
    let result = protocol::ToolResult {
        tool_call_id: "1".to_owned(),
        tool_name: "read".to_owned(),
        content: vec![],
        details: Some(Value::Bool(true)),
        is_error: false,
        pruned_at: None,
        timestamp: at(0),
    };
    let init = SessionEntry::SessionInit {
        system_prompt: String::new(),
        task: String::new(),
        tools: vec![],
        output_schema: Some(Value::Bool(true)),
    };
    let entries = [
        init,
        SessionEntry::ModelChange { model: "a/b".to_owned(), role: None },
        said("a"),
        entry(Message::Assistant(answer)),
        entry(Message::ToolResult(result)),
    ];
    let mut words = vec!["id".to_owned(), "parentId".to_owned(), "timestamp".to_owned()];
    entries.iter().for_each(|entry| names(&serde_json::to_value(entry).unwrap(), &mut words));
    for word in words {
        assert!(documentation.contains(&format!("`{word}`")), "{word} is not described");
    }
}

/// Collects the names of fields, and the words that say what something is.
fn names(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                words.push(name.clone());
                if let ("type" | "role" | "stopReason", Value::String(word)) = (&name[..], value) {
                    words.push(word.clone());
                }
                names(value, words);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
async fn a_log_says_which_inputs_were_said_and_which_model_answered_last() {
    let stage = LogFixture::new();
    let id = InputId::generate();
    let change = |model: &str| SessionEntry::ModelChange { model: model.to_owned(), role: None };
    let input = SessionEntry::Message { message: user("a").into(), input_id: Some(id) };
    stage.write([change("a/b"), input, said("a"), change("c/d")]).await;
    let written = stage.text();
    let key = format!("\"inputId\":{}}}\n", serde_json::to_string(&id).unwrap());
    assert_eq!(written.matches(&key).count(), 1, "{written}");
    let opened = stage.open().await.unwrap();
    let ids: Vec<_> = opened.context.messages.iter().map(|logged| logged.input_id).collect();
    assert_eq!((ids, opened.context.model()), (vec![Some(id), None], Some("c/d")));
}
