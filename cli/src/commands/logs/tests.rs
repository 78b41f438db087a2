use std::fs;

use engine::fault::Faults;
use engine::ports::{SessionHeader, SessionLogs as _};
use protocol::{
    Cost, Failure, FailureClass, Message, RunName, SessionEntry, SessionId, Timestamp, Usage,
};
use serde_json::{Value, json};
use store::{SessionLogFiles, read_session};

use super::super::context::Output;
use super::super::fake_repository::{Bench, End, in_tree};
use super::super::target;
use super::*;
use crate::render::OutputWidth;

/// A run of a command, an agent that failed, an agent without a log, and a task that runs.
async fn bench() -> (Bench, RunName) {
    let bench = Bench::new();
    let usage = Usage {
        input: 20_000,
        output: 4_100,
        cost: Some(Cost::from_nanodollars(51_000_000)),
        ..Usage::ZERO
    };
    let message = "it ended without a yield\n\u{1b}[2Jand was reminded";
    let failure = Failure::new(FailureClass::Contract, message);
    let run = bench
        .record(vec![
            ("make", &[], End::Done(1, in_tree())),
            ("auth", &[], End::Agent(Outcome::Failed { failure }, usage)),
            ("lost", &[], End::Agent(Outcome::Cancelled, Usage::ZERO)),
            ("runs", &[], End::Open),
        ])
        .await;
    let folder = bench.context.runs.artifacts.join(run.as_str());
    fs::create_dir_all(folder.join("make")).unwrap();
    let output = b"one\x1b[31m\ttwo\x1b[0m\nb\xffd\r\nlast";
    fs::write(folder.join("make/output.log"), output).unwrap();
    let header =
        SessionHeader { id: SessionId::generate(), cwd: "/app".into(), at: at(0), parent: None };
    let logs = SessionLogFiles::new(Faults::default());
    let opened = logs.open(&folder.join("auth/session.jsonl"), header).await.unwrap();
    let mut log = opened.log;
    let message = Message::user("Move it.", at(0));
    log.append(at(0), SessionEntry::message(message)).await.unwrap();
    (bench, run)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678 + 1_000 * second)
}

fn shown(bench: &Bench, target: Option<&str>, form: Form) -> Result<String, Error> {
    let mut context = bench.context.clone();
    context.view.form = form;
    let mut out = Vec::new();
    run(&context, &LogsArgs { target: target.map(str::to_owned).into(), follow: false }, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

const AUTH: &str = "auth · failed: contract · offline/demo.toml
prompt  03:04:05
  Move it.

failed: contract · 1.2s · 24.1k tokens (20.0k read, 4.1k written) · $0.05 (source unknown)
  it ended without a yield
  and was reminded
";

#[test]
async fn of_an_agent_there_is_what_was_said_how_it_ended_and_what_it_used() {
    let (bench, _) = bench().await;
    assert_eq!(shown(&bench, Some("auth"), Form::Text), Ok(AUTH.to_owned()));
    assert_eq!(shown(&bench, Some("@/au"), Form::Text), Ok(AUTH.to_owned()));
}

#[test]
async fn of_a_command_there_is_what_it_wrote_and_a_terminal_obeys_none_of_it() {
    let (bench, run) = bench().await;
    let target = format!("{run}/make");
    assert_eq!(
        shown(&bench, Some(&target), Form::Text),
        Ok("make · done\n$ make make\none\ttwo\nb\u{fffd}d\nlast\ndone · 1.2s\n".to_owned())
    );
}

#[test]
async fn of_a_run_there_is_each_task_under_a_heading() {
    let (bench, run) = bench().await;
    let whole = format!(
        "make · done\n$ make make\none\ttwo\nb\u{fffd}d\nlast\ndone · 1.2s\n\n{AUTH}\n\
         lost · cancelled · offline/demo.toml\n\
         lost has no log: it ended before its session began, or its log was removed\n\
         cancelled · 1.2s · 0 tokens · $0.00\n\n\
         runs · running\n\
         $ make runs\n\
         runs has no log: it has printed nothing yet\n\
         running\n"
    );
    for target in [None, Some("@"), Some(&run.as_str()[..3])] {
        assert_eq!(shown(&bench, target, Form::Text), Ok(whole.clone()));
    }
}

#[test]
async fn what_a_task_used_that_has_no_report_is_in_its_log() {
    let (bench, run) = bench().await;
    let header =
        SessionHeader { id: SessionId::generate(), cwd: "/app".into(), at: at(0), parent: None };
    let place = bench.context.runs.artifacts.join(run.as_str()).join("runs/session.jsonl");
    let mut log = SessionLogFiles::new(Faults::default()).open(&place, header).await.unwrap().log;
    for input in [700, 800] {
        let usage = Usage { input, cost: None, ..Usage::ZERO };
        let message = serde_json::from_value(json!({
            "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
            "usage": usage_of(input), "stopReason": "stop", "timestamp": 0,
        }));
        let message: Message = message.unwrap();
        assert!(matches!(&message, Message::Assistant(said) if said.usage == usage));
        log.append(at(0), SessionEntry::message(message)).await.unwrap();
    }
    let used = used_in(&read_session(&place).unwrap()).unwrap();
    assert_eq!((used.tokens(), used.cost), (1_500, None));
}

fn usage_of(input: u64) -> Value {
    json!({ "input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input })
}

#[test]
async fn programs_get_one_document_of_everything() {
    let (bench, _) = bench().await;
    let document: Value = serde_json::from_str(&shown(&bench, None, Form::Json).unwrap()).unwrap();
    let id = &document[1]["entries"][0]["id"];
    assert_eq!(
        document,
        json!([
            { "task": "make", "script": "make make", "output": "one\u{1b}[31m\ttwo\u{1b}[0m\nb\u{fffd}d\r\nlast" },
            { "task": "auth", "entries": [{
                "id": id,
                "parentId": null,
                "timestamp": "2026-01-02T03:04:05.678Z",
                "type": "message",
                "message": {
                    "role": "user",
                    "content": [{ "type": "text", "text": "Move it." }],
                    "timestamp": 1_767_323_045_678_i64,
                },
            }] },
            { "task": "lost" },
            { "task": "runs", "script": "make runs" },
        ])
    );
    assert_eq!(id.as_str().map(str::len), Some(8));
}

#[test]
async fn programs_get_the_damaged_lines_of_a_session() {
    let (bench, run) = bench().await;
    let log = bench.context.runs.artifacts.join(run.as_str()).join("auth/session.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str("{\"type\":\"mess\n");
    let last = text.lines().count();
    fs::write(&log, text).unwrap();
    let document = shown(&bench, Some("auth"), Form::Json).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let damage = &document[0]["damage"];
    assert_eq!((&damage[0]["line"], damage.as_array().map(Vec::len)), (&json!(last), Some(1)));
    assert!(damage[0]["what"].is_string(), "{damage}");
    assert_eq!(document[0]["entries"].as_array().map(Vec::len), Some(1));
    // Each is a line of its own with `--follow`.
    let target = target::find(&bench.context, &Some("auth".to_owned()).into()).unwrap();
    let damage = vec![DamagedLine { line: 3, what: "it is torn".to_owned() }];
    let added = follow::Added { damage, ..follow::Added::default() };
    let mut out = Vec::new();
    follow::print_json_lines(&target.tasks[0], &added, &mut out).unwrap();
    let line: Value = serde_json::from_slice(&out).unwrap();
    let damage = json!({ "line": 3, "what": "it is torn" });
    assert_eq!(line, json!({ "task": "auth", "damage": damage }));
}

#[test]
async fn what_is_not_there_is_said_as_elsewhere() {
    let (bench, run) = bench().await;
    let error = shown(&bench, Some("nope"), Form::Text).unwrap_err();
    assert_eq!(error.what, "there is no run or task `nope`");
    let error = shown(&bench, Some(&format!("{run}/nope")), Form::Text).unwrap_err();
    assert_eq!(
        error.what,
        "there is no task `nope` in the run; its tasks are make, auth, lost or runs"
    );
    let empty = Bench::new();
    assert!(shown(&empty, None, Form::Text).unwrap_err().what.starts_with("there is no run yet"));
}

#[test]
async fn a_log_that_cannot_be_read_is_an_error_with_its_place() {
    let (bench, run) = bench().await;
    let log = bench.context.runs.artifacts.join(run.as_str()).join("auth/session.jsonl");
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    let error = shown(&bench, Some("auth"), Form::Text).unwrap_err();
    assert_eq!(error.what, format!("cannot read the log at {}", log.display()));
}

#[test]
async fn a_reader_who_has_read_enough_ends_it_quietly() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Output for Closed {
        fn room(&self) -> OutputWidth {
            OutputWidth::Pipe
        }
    }
    let (bench, _) = bench().await;
    for target in ["make", "auth"] {
        let args = LogsArgs { target: Some(target.to_owned()).into(), follow: false };
        let error = run(&bench.context, &args, &mut Closed).unwrap_err();
        assert_eq!(error, Error::output(&io::ErrorKind::BrokenPipe.into()));
    }
}

#[test]
async fn a_command_that_wrote_nothing_says_so_however_it_ended() {
    let (bench, _) = bench().await;
    let target = target::find(&bench.context, &Some("@/make".to_owned()).into()).unwrap();
    let [made] = &target.tasks[..] else { panic!("it is one task") };
    let said = |change: &dyn Fn(&mut TaskRow)| {
        let mut row = made.clone();
        change(&mut row);
        let mut out = Vec::new();
        output(&row, Path::new("/no/such/output.log"), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let ended = |outcome: Outcome, micros: u64, setup_ms: Option<u64>| {
        said(&|row| {
            let mut timings = TaskTimings::default();
            timings.add(TimedPhase::Work, micros);
            row.state = TaskState::Failed;
            let report = row.report.as_mut().unwrap();
            report.outcome = outcome.clone();
            (report.timings, report.setup_ms) = (Some(Box::new(timings)), setup_ms);
        })
    };
    let failed = |class, message: &str| Outcome::Failed { failure: Failure::new(class, message) };
    let late = || failed(FailureClass::Timeout, "it did not end within 1 s");
    assert_eq!(said(&|_| {}), "it printed nothing\n");
    assert_eq!(ended(late(), 5, None), "it printed nothing\n");
    assert_eq!(ended(Outcome::Cancelled, 5, None), "it printed nothing\n");
    let never = "make has no log: it ended before its command began, or its log was removed\n";
    assert_eq!(ended(failed(FailureClass::Workspace, "no room"), 0, None), never);
    let either = "make has no log: it printed nothing, or it ended in its set-up\n";
    assert_eq!(ended(late(), 5, Some(3)), either);
    let setup = failed(FailureClass::Command, "set-up `make` ended with 1");
    assert_eq!(ended(setup, 5, Some(3)), "make has no log: it ended in its set-up\n");
    let killed = "make has no log: it printed nothing, or it was interrupted before its command \
                  began, or its log was removed\n";
    let interrupted = |row: &mut TaskRow| (row.state, row.report) = (TaskState::Interrupted, None);
    assert_eq!(said(&interrupted), killed);
}
