//! A reader of our output that stands still: it holds nothing up, costs no memory to speak of, and
//! loses no fact.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_limit::by_depth;
use tests::sandbox::{Invocation, Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

/// A run whose reader reads one line, and the rest only when it is asked to.
struct Unread {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    first: String,
}

/// Starts a run, and comes back when it has said its first line.
fn start(call: Invocation) -> Unread {
    let mut command = call.into_command();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let first = lines.next().expect("it says something").expect("it can be read");
    Unread { child, lines, first }
}

/// Waits until a run is over and nothing is left to do but to have its output read.
fn until_over(place: &Sandbox, unread: &Unread) {
    let first: Value = serde_json::from_str(&unread.first).expect("it is an event");
    let run = first["run"].as_str().expect("it names its run");
    // What is said may come before the log is there.
    let log = place.home().folder().join("state/logs").join(format!("{run}.log"));
    let text = || std::fs::read_to_string(&log).unwrap_or_default();
    let is_over = || text().contains("the run is over");
    eventually(Duration::from_secs(300), "the run is over", is_over);
    assert_eq!(place.home().leftovers(), Vec::<String>::new());
}

/// Returns the most memory that a process has held, in megabytes. Nothing if it has ended.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// Reads everything that a run says, and returns its events and its exit code.
fn read(unread: Unread, mut after_each: impl FnMut(&Child)) -> (Vec<Value>, Option<i32>) {
    let Unread { mut child, lines, first } = unread;
    let mut events = Vec::new();
    for line in std::iter::once(Ok(first)).chain(lines) {
        let line = line.expect("it can be read");
        events.push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
        after_each(&child);
    }
    (events, child.wait().expect("it can be awaited").code())
}

/// Checks that events are numbered without gaps, in the order of their times, and that each fact
/// of these tasks is there exactly once.
fn expect_every_fact(events: &[Value], tasks: usize) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], at + 1, "{event}");
        let kind = event["type"].as_str().expect("it has a type");
        *counts.entry((kind, event["task"].as_str().unwrap_or_default())).or_default() += 1;
    }
    let times: Vec<_> = events.iter().map(|event| event["at"].as_str()).collect();
    assert!(times.is_sorted());
    let facts = [
        "task_queued",
        "task_started",
        "workspace_ready",
        "task_yielded",
        "task_captured",
        "task_finished",
        "task_landed",
    ];
    for fact in facts {
        let found: Vec<_> = counts.iter().filter(|((kind, _), _)| *kind == fact).collect();
        assert_eq!(found.len(), tasks, "{fact}");
        assert!(found.iter().all(|(_, count)| **count == 1), "{fact}: {found:?}");
    }
    assert_eq!(events.last().expect("there is one")["type"], "run_finished");
}

#[test]
fn a_run_does_its_work_while_nobody_reads_and_loses_no_fact() {
    let place = sandbox();
    let repository = place.repository();
    let tasks = by_depth(60, 150);
    let plan = (0..tasks).fold(Plan::default(), |plan, task| {
        plan.task(&format!("t{task}"), &format!("echo {task} > {task}.txt"))
    });
    let file = place.folder().join("plan.toml");
    std::fs::write(&file, plan.text()).expect("a plan can be written");
    let call = place.regatta(repository.root()).words("run --json --jobs 8 --plan").arg(&file);
    let unread = start(call);
    until_over(&place, &unread);
    let last = tasks - 1;
    assert_eq!(repository.text(format!("{last}.txt")), format!("{last}\n"), "it has landed");
    let (events, code) = read(unread, |_| {});
    assert_eq!(code, Some(0));
    expect_every_fact(&events, tasks);
    place.expect_nothing_left(&repository);
}

/// How many agents talk, one after the other, how often, and how many megabytes more a run may hold
/// whose reader stands still, which is much less than they say.
fn talk() -> (usize, usize, u64) {
    by_depth((3, 6, 14), (4, 10, 24))
}

/// Begins a run whose models say a megabyte in each turn, one after the other.
fn talkative(place: &Sandbox, repository: &Repository) -> Unread {
    let (agents, turns, _) = talk();
    let mut scenario = "version = 1\n".to_owned();
    for turn in 1..=turns {
        let call = match turn {
            _ if turn == turns => r#"{ tool = "yield", arguments = { result = { data = 1 } } }"#,
            _ => r#"{ tool = "bash", arguments = { command = "echo x > $REGATTA_TASK" } }"#,
        };
        // A scenario may have 4 MiB only: the words come from the prompt.
        let remember = if turn == 1 { "remember = { words = 'say (.*)' }\n" } else { "" };
        let text = format!("{turn}: {}", "{{words}}".repeat(10));
        write!(scenario, "[[turn]]\n{remember}text = \"{text}\"\ncalls = [{call}]\n")
            .expect("a string can be written to");
    }
    let file = place.folder().join("scenario.toml");
    std::fs::write(&file, scenario).expect("a scenario can be written");
    let prompt = format!("talk\nsay {}", "all work and no play. ".repeat(100_000 / 22));
    let plan =
        (0..agents).fold(Plan::default(), |plan, task| plan.agent(&format!("t{task}"), &prompt));
    let written = place.folder().join("plan.toml");
    std::fs::write(&written, plan.text()).expect("a plan can be written");
    let call = place.regatta(repository.root()).words("run --json --jobs 1 --model");
    start(call.arg(format!("offline/{}", file.display())).arg("--plan").arg(written))
}

#[test]
fn a_reader_that_stands_still_costs_no_memory_to_speak_of() {
    let (agents, _, more) = talk();
    let fast = std::thread::spawn(move || {
        let (place, mut fast_peak) = (sandbox(), 0);
        let repository = place.repository();
        let reading = talkative(&place, &repository);
        let (events, code) =
            read(reading, |child| fast_peak = fast_peak.max(peak(child).unwrap_or(0)));
        assert_eq!(code, Some(0), "{events:?}");
        expect_every_fact(&events, agents);
        fast_peak
    });

    let slow = sandbox();
    let repository = slow.repository();
    let unread = talkative(&slow, &repository);
    until_over(&slow, &unread);
    let slow_peak = peak(&unread.child).expect("it waits for its reader");
    let fast_peak = fast.join().expect("who reads at once gets everything");
    assert!(slow_peak < fast_peak + more, "{slow_peak} MB against {fast_peak} MB");
    let (events, code) = read(unread, |_| {});
    assert_eq!(code, Some(0));
    expect_every_fact(&events, agents);
    let said = events.iter().find(|event| event["type"] == "degraded");
    let to = said.expect("what is left out is said")["to"].as_str().unwrap_or_default();
    assert!(to.contains("are left out; the session logs have them"), "{to}");
    slow.expect_nothing_left(&repository);
}

#[test]
fn one_ctrl_c_ends_the_wait_for_a_reader_once_the_run_is_over() {
    let place = sandbox();
    let repository = place.repository();
    let script = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); done; echo x > {{item}}.txt";
    let call = place.regatta(repository.root()).words("run --json --jobs 8");
    let count = by_depth(60, 150);
    let items: Vec<_> = (0..count).map(|item| format!("{item}\n")).collect();
    let list = place.folder().join("list");
    std::fs::write(&list, items.concat()).expect("a list can be written");
    let call = call.arg("--each").arg(format!("@{}", list.display())).exec(script);
    let mut unread = start(call);
    until_over(&place, &unread);
    let id = Pid::from_raw(i32::try_from(unread.child.id()).expect("ids are small"));
    kill_process(id.expect("a child has an id"), Signal::INT).expect("it waits for its reader");
    let mut ended = None;
    eventually(Duration::from_secs(60), "it ends", || {
        ended = unread.child.try_wait().expect("it can be asked");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
    assert!(repository.has(format!("{}.txt", count - 1)), "what has landed stays");
    place.expect_nothing_left(&repository);
}
