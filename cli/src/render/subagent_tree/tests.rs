use super::super::live_frame::{FrameInput, frame};
use super::super::printable::width;
use super::super::task_lines::task_lines;
use super::super::terminal::{Palette, Size};
use super::super::test_terminal::run_started;
use super::*;
use protocol::{
    CaptureRef, Captured, EventScope, Failure, FailureClass, Phase, RunId, Timestamp, Usage,
};

const TOP: &str = "r0000";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millisecond(seconds * 1000)
}

fn event(run: &str, kind: EventKind) -> Event {
    Event { seq: 1, at: at(1), scope: Some(EventScope::Run(run.parse().unwrap())), kind }
}

/// The first event of a run of so many subagents, which a session or the agent of a task has called.
fn called(run: &str, tasks: usize, session: SessionId, task: Option<TaskId>) -> Event {
    let mut kind = run_started(tasks, 32);
    if let EventKind::RunStarted { caller, .. } = &mut kind {
        let task = task.map(|task| (RunId::generate(), task));
        *caller = Some(RunCaller { session, task });
    }
    event(run, kind)
}

fn queued(run: &str, task: &str) -> Event {
    let kind = EventKind::TaskQueued {
        task: task.parse().unwrap(),
        title: format!("title of {task}"),
        item: None,
        items: Vec::new(),
        model: Some("a/model".to_owned()),
    };
    event(run, kind)
}

/// The events of a task that begins to work, with this id.
fn working(run: &str, task: &str, id: TaskId) -> [Event; 3] {
    let name: TaskName = task.parse().unwrap();
    let progress = EventKind::TaskProgress {
        task: name.clone(),
        phase: Phase::Working,
        line: Some("src/a.rs\u{1b}[2J".to_owned()),
        tool: Some("read".to_owned()),
        tokens: Some(1_200),
        waits_for: None,
    };
    let started = EventKind::TaskStarted { task: name, id, attempt: 1 };
    [queued(run, task), event(run, started), event(run, progress)]
}

fn finished(run: &str, task: &str, outcome: Outcome) -> Event {
    let changes = ChangeSummary { files: 2, added: 3, removed: 1 };
    let capture = CaptureRef::of(&run.parse().unwrap(), &task.parse().unwrap(), 1);
    let report = TaskReport {
        outcome,
        captured: Some(Captured::whole(capture, changes)),
        ms: 12_000,
        setup_ms: None,
        usage: Some(Usage { input: 3_200, ..Usage::ZERO }),
        fallbacks: Vec::new(),
        turns: None,
        reached_limit: None,
        refused_calls: 0,
        timings: None,
    };
    let report = Box::new(report);
    event(run, EventKind::TaskFinished { task: task.parse().unwrap(), report })
}

fn ended_run(run: &str) -> Event {
    let totals = protocol::Totals::default();
    event(run, EventKind::RunFinished { totals, exit_code: protocol::ExitCode::Success })
}

fn lines(rows: &[TaskRow<'_>], room: usize) -> Vec<String> {
    let input = FrameInput { now: at(3), turn: 0, size: Size { columns: 80, rows: 24 } };
    task_lines(rows, input, 60, room)
}

#[test]
fn subagents_are_below_their_callers_at_any_depth_and_those_of_other_sessions_are_left_out() {
    let (session, other, parent) =
        (SessionId::generate(), SessionId::generate(), TaskId::generate());
    let mut tree = SubagentTree::below(session);
    let mut apply = |event: &Event| assert_eq!(tree.apply(event), None);
    apply(&event("r0009", run_started(1, 1)));
    working("r0009", "alone", TaskId::generate()).iter().for_each(&mut apply);
    apply(&called("r0001", 3, session, None));
    working("r0001", "1-Fix", parent).iter().for_each(&mut apply);
    apply(&queued("r0001", "2-Test"));
    apply(&called("r0008", 1, other, None));
    working("r0008", "1-Other", TaskId::generate()).iter().for_each(&mut apply);
    // The session of a task is known by that task.
    apply(&called("r0002", 1, SessionId::generate(), Some(parent)));
    working("r0002", "1-Fix.1-Deep", TaskId::generate()).iter().for_each(&mut apply);
    assert_eq!(
        lines(&tree.rows(), 9),
        [
            "  ⠋ 1-Fix           read      src/a.rs          1.2k    2.0s",
            "  ⠸   1-Fix.1-Deep  read      src/a.rs          1.2k    2.0s",
            "  · 2-Test          queued    title of 2-Te…                ",
        ]
    );
    assert_eq!(
        lines(&tree.rows(), 2),
        ["  ⠋ 1-Fix  read      src/a.rs                   1.2k    2.0s", "    and 2 more",]
    );
    assert_eq!(tree.counts(), SubagentCounts { all: 4, ended: 0, failed: 0 });
    assert_eq!(tree.apply(&ended_run("r0002")), None);
    assert_eq!(tree.counts().all, 3);
    assert_eq!(tree.apply(&ended_run("r0001")), None);
    assert_eq!((tree.rows().len(), tree.counts().all), (0, 0));
}

#[test]
fn a_subagent_that_has_ended_is_one_line_and_below_a_run_it_names_its_task() {
    let (top, child) = (TaskId::generate(), TaskId::generate());
    let mut run = RunView::default();
    run.apply(&event(TOP, run_started(1, 4)));
    working(TOP, "parser", top).iter().for_each(|event| run.apply(event));
    assert_eq!(run.apply_below(&called("r0001", 2, SessionId::generate(), Some(top))), None);
    for event in working("r0001", "1-Fix", child) {
        assert_eq!(run.apply_below(&event), None);
    }
    assert_eq!(run.apply_below(&called("r0002", 1, SessionId::generate(), Some(child))), None);
    let done = finished("r0002", "1-Fix.1-Deep", Outcome::Done { value: Value::Null });
    assert_eq!(
        run.apply_below(&done).unwrap().line(),
        "✓ parser › 1-Fix.1-Deep · 12s · 3.2k tokens · 2 files +3 −1"
    );
    let failure = Failure::new(FailureClass::Timeout, "too\nlate");
    let failed = run.apply_below(&finished("r0001", "1-Fix", Outcome::Failed { failure }));
    assert_eq!(
        failed.unwrap().line(),
        "✗ parser › 1-Fix · failed: timeout: too␊late · 12s · 3.2k tokens · 2 files +3 −1"
    );
    assert_eq!(run.subagents().counts(), SubagentCounts { all: 3, ended: 2, failed: 1 });
    assert_eq!(run.ended().all, 0, "they are no tasks of the run");
}

#[test]
fn a_frame_of_two_hundred_subagents_is_never_larger_than_the_terminal() {
    let (first, second) = (TaskId::generate(), TaskId::generate());
    let mut run = RunView::default();
    run.apply(&event(TOP, run_started(2, 32)));
    working(TOP, "first", first).iter().for_each(|event| run.apply(event));
    working(TOP, "second", second).iter().for_each(|event| run.apply(event));
    let _none = run.apply_below(&called("r0001", 200, SessionId::generate(), Some(first)));
    for number in 1..=200 {
        let name = format!("{number}-Subagent-with-a-long-name");
        for event in working("r0001", &name, TaskId::generate()) {
            let _none = run.apply_below(&event);
        }
    }
    for (columns, rows) in [(80, 24), (40, 10), (200, 60), (20, 6), (5, 2)] {
        let size = Size { columns, rows };
        let input = FrameInput { now: at(9), turn: 1, size };
        let lines = frame(&run, input, Palette::Plain);
        assert!(lines.len() < rows, "{rows} rows: {lines:#?}");
        assert!(lines.iter().all(|line| width(line) < columns), "{columns} columns: {lines:#?}");
    }
    let size = Size { columns: 80, rows: 24 };
    let lines = frame(&run, FrameInput { now: at(9), turn: 1, size }, Palette::Plain);
    let begins = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!(
        (begins(" first "), begins(" second "), begins("    and 183 more")),
        (1, 1, 1),
        "{lines:#?}"
    );
}

#[test]
fn the_events_of_subagents_are_json_with_what_has_called_them_and_without_their_results() {
    let (session, parent) = (SessionId::generate(), TaskId::generate());
    let mut tree = SubagentTree::below(session);
    let mut parents = Vec::new();
    let outcome = || Outcome::Done { value: json!("x".repeat(1_000)) };
    let events = [
        vec![event(TOP, run_started(1, 1)), called("r0001", 1, session, None)],
        working("r0001", "1-Fix", parent).into(),
        vec![called("r0002", 1, SessionId::generate(), Some(parent))],
        vec![finished("r0002", "1-Fix.1-Deep", outcome()), ended_run("r0002")],
        vec![finished("r0001", "1-Fix", outcome()), ended_run("r0001")],
        vec![queued("r0001", "2-Late")],
    ];
    for event in events.iter().flatten() {
        let Some(json) = tree.json(event) else { continue };
        assert_eq!(json["type"], "subagent_event");
        assert!(json.to_string().len() < 1_000, "{json}");
        parents.push((json["parent"].as_str().unwrap().to_owned(), json["event"]["type"].clone()));
    }
    let kinds: Vec<_> = parents.iter().map(|(_, kind)| kind.as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "run_started",
            "task_queued",
            "task_started",
            "task_progress",
            "run_started",
            "task_finished",
            "run_finished",
            "task_finished",
            "run_finished",
        ]
    );
    let deep = parents.iter().filter(|(parent, _)| parent == "r0001/1-Fix").count();
    let session = session.uuid();
    let top = parents.iter().filter(|(parent, _)| *parent == session).count();
    assert_eq!((deep, top), (3, 6));
}
