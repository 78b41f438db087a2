//! What loading a long session, adding to it and going on in it take, beside what the disk and the
//! parser take for the same.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::{Bound, Limit, Report, Rounds, median, ms, scratch, timed};
use engine::fault::Faults;
use engine::ports::{SessionHeader, SessionLogs as _};
use protocol::{EntryId, Message, SessionEntry, SessionId, Timestamp};
use serde_json::Value;
use store::{LoadedSession, SessionLogFiles};

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many entries the long session has, and of how many characters the text of each is.
const ENTRIES: usize = 50_000;
const TEXT: usize = 850;

/// How many entries the branch has whose context is asked for.
const BRANCH: usize = 1_000;

/// How many times what `serde_json` takes for the lines the loading may take.
const TIMES_PARSER: f64 = 2.0;

/// How many times a write and an fdatasync an addition may take.
const TIMES_SYNC: Limit = Limit { aim: 1.2, most: 1.6 };

/// How many times the context of a branch in a small file that in a large one may take.
const TIMES_SMALL: f64 = 1.5;

fn main() -> ExitCode {
    let mut report = Report::new(
        "sessions",
        "A session file of 50 MB with 50,000 entries, a fifth of them on a branch that was left: \
         loading it with its context, beside `serde_json` over its lines; the context of a branch of \
         1,000 entries in it, beside the same in a file of its own; and adding a message, beside a \
         write of as many bytes and an fdatasync, by themselves and on a thread of tokio for blocking \
         work. In turns, medians.",
    );
    let scratch = scratch();
    let rounds = Rounds::asked_for();
    let entries = if rounds == Rounds::Trial { ENTRIES / 10 } else { ENTRIES };
    load(scratch.path(), entries, &mut report);
    contexts(scratch.path(), entries, &mut report);
    append(scratch.path(), &mut report);
    report.finish()
}

/// Writes a session file: a branch of some entries that is left, then one of the others, both after
/// the first entry. Returns the path and the last entry of the branch that is left.
fn session_file(folder: &Path, name: &str, left: usize, stays: usize) -> (PathBuf, EntryId) {
    let mut text =
        "{\"type\":\"session\",\"version\":3,\"id\":\"a\",\"cwd\":\"/app\"}\n".to_owned();
    for number in 0..=left + stays {
        let parent = match number {
            0 => "null".to_owned(),
            number if number == left + 1 => "\"00000000\"".to_owned(),
            number => format!("\"{:08x}\"", number - 1),
        };
        let said = format!("{number} ").repeat(TEXT / (number.to_string().len() + 1));
        let _infallible = writeln!(
            text,
            "{{\"type\":\"message\",\"id\":\"{number:08x}\",\"parentId\":{parent},\"timestamp\":\
             \"2026-01-02T03:04:05.678Z\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\
             \"text\",\"text\":\"{said}\"}}],\"timestamp\":1767323045678}}}}"
        );
    }
    let path = folder.join(name);
    fs::write(&path, text).expect("the file can be written");
    (path, EntryId::new(format!("{left:08x}")))
}

fn load(folder: &Path, entries: usize, report: &mut Report) {
    let (path, _) = session_file(folder, "load.jsonl", entries / 5, entries - entries / 5);
    let (mut loads, mut parses, mut held) = (vec![], vec![], vec![]);
    while !Rounds::asked_for().suffice(20, &held) {
        let load = timed(|| {
            let mut session = read(&path);
            assert_eq!(session.context(None).messages.len(), entries - entries / 5 + 1);
        });
        let parse = timed(|| {
            let text = fs::read_to_string(&path).expect("it is there");
            let lines = text.lines().map(serde_json::from_str::<Value>);
            assert_eq!(lines.filter(Result::is_ok).count(), entries + 2);
        });
        held.push(load.as_secs_f64() <= TIMES_PARSER * parse.as_secs_f64());
        loads.push(load);
        parses.push(parse);
    }
    let what = format!("{entries} entries");
    ratio(
        report,
        &format!("{what}: load"),
        "serde_json",
        [&loads, &parses],
        Bound::AtMost(TIMES_PARSER),
    );
}

fn contexts(folder: &Path, entries: usize, report: &mut Report) {
    let (large, at) = session_file(folder, "large.jsonl", BRANCH, entries - BRANCH);
    let (small, _) = session_file(folder, "small.jsonl", 0, BRANCH);
    let (mut in_large, mut in_small, mut held) = (vec![], vec![], vec![]);
    while !Rounds::asked_for().suffice(20, &held) {
        // Both are read first, so that the caches of the processor favour neither.
        let (mut alone, mut session) = (read(&small), read(&large));
        session.tree.branch(&at).expect("it is there");
        let long = context(&mut session);
        let short = context(&mut alone);
        held.push(long.as_secs_f64() <= TIMES_SMALL * short.as_secs_f64());
        in_large.push(long);
        in_small.push(short);
    }
    let what = format!("context of {BRANCH} of {entries} entries");
    ratio(
        report,
        &what,
        "in a file of its own",
        [&in_large, &in_small],
        Bound::AtMost(TIMES_SMALL),
    );
}

fn context(session: &mut LoadedSession) -> Duration {
    timed(|| assert_eq!(session.context(None).messages.len(), BRANCH + 1))
}

fn append(folder: &Path, report: &mut Report) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    let folder = folder.to_owned();
    // It runs as a task, as a session does: on a thread that has other tasks, too.
    let [appends, syncs, elsewhere] =
        runtime.block_on(runtime.spawn(append_times(folder))).expect("it does not panic");
    ratio(report, "append", "write and fdatasync", [&appends, &syncs], Bound::Aim(TIMES_SYNC));
    let beside = "the same on a thread for blocking work";
    report.figure(&format!("append: {beside}"), ms(median(&elsewhere)), "ms", Bound::None);
}

/// Returns the times of additions to a session, of writes and fdatasyncs of as much on the thread
/// of the task, and of the same on a thread for blocking work.
async fn append_times(folder: PathBuf) -> [Vec<Duration>; 3] {
    let path = folder.join("session/append.jsonl");
    let at = Timestamp::from_millisecond(1_767_323_045_678);
    let header = SessionHeader { id: SessionId::generate(), cwd: "/app".into(), at, parent: None };
    let logs = SessionLogFiles::new(Faults::default());
    let mut log = logs.open(&path, header).await.expect("it can be opened").log;
    let beside = Arc::new(File::create(folder.join("beside")).expect("a file can be made"));
    let text = "word ".repeat(TEXT / 5);
    let line = "x".repeat(1_000);
    let mut times = [const { Vec::new() }; 3];
    for round in 0..Rounds::asked_for().of(1_000, 200) {
        // Each comes first as often as the others: what comes after a change of threads is slower.
        for way in (0..3).map(|turn| (round + turn) % 3) {
            let entry = SessionEntry::message(Message::user(text.clone(), at));
            let (file, text) = (Arc::clone(&beside), line.clone());
            let began = Instant::now();
            match way {
                0 => drop(log.append(at, entry).await.expect("it can be written")),
                1 => synced(&file, &text),
                _ => {
                    let work = tokio::task::spawn_blocking(move || synced(&file, &text));
                    work.await.expect("it can be done");
                }
            }
            times[way].push(began.elapsed());
        }
    }
    times
}

fn synced(mut file: &File, line: &str) {
    file.write_all(line.as_bytes()).expect("it can be written");
    file.sync_data().expect("it can be synced");
}

fn read(path: &Path) -> LoadedSession {
    LoadedSession::read(path).expect("it can be read").expect("it is a session")
}

/// States two times, and what the first is of the second.
fn ratio(report: &mut Report, what: &str, beside: &str, times: [&[Duration]; 2], bound: Bound) {
    let [ours, theirs] = times.map(median);
    report.figure(what, ms(ours), "ms", Bound::None);
    report.figure(&format!("{what}: {beside}"), ms(theirs), "ms", Bound::None);
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    report.figure(&format!("{what} / {beside}"), ratio, "×", bound);
}
