use protocol::{
    AssistantMessage, Cost, Event, EventKind, EventScope, Failure, FailureClass, Message,
    MessageRole, Outcome, Phase, SessionEvent, StopReason, TaskName, TaskReport, Usage,
};

use super::super::printable::{fit, width};
use super::super::test_terminal::run_started;
use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millisecond(seconds * 1000)
}

fn scope() -> EventScope {
    EventScope::Run("r7k3f".parse().unwrap())
}

fn run_view(tasks: usize, running: usize) -> RunView {
    let mut run = RunView::default();
    let mut tell = |seconds, kind| {
        run.apply(&Event { seq: 1, at: at(seconds), scope: Some(scope()), kind });
    };
    tell(0, run_started(tasks, 8));
    for task in (0..running).map(|at| format!("task{at}").parse::<TaskName>().unwrap()) {
        tell(
            1,
            EventKind::TaskStarted {
                task: task.clone(),
                id: protocol::TaskId::generate(),
                attempt: 1,
            },
        );
        let line = Some(format!("line of {task}\u{1b}[2J 日本語"));
        tell(
            2,
            EventKind::TaskProgress {
                task,
                phase: Phase::Working,
                line,
                tool: None,
                tokens: None,
                waits_for: None,
            },
        );
    }
    let failure = Failure::new(FailureClass::Timeout, "late");
    let report = TaskReport {
        outcome: Outcome::Failed { failure },
        captured: None,
        ms: 5,
        setup_ms: None,
        usage: None,
        fallbacks: Vec::new(),
        turns: None,
        reached_limit: None,
        refused_calls: 0,
        timings: None,
    };
    tell(3, EventKind::TaskFinished { task: "broken".parse().unwrap(), report: Box::new(report) });
    run
}

/// Adds four agents: one that calls a tool, one that thinks, one that waits, one that is stopped.
fn with_agents(mut run: RunView) -> RunView {
    let mut tell = |seconds, kind| {
        run.apply(&Event { seq: 1, at: at(seconds), scope: Some(scope()), kind });
    };
    for (name, phase, tool, line) in [
        ("calls", Phase::Working, Some("bash"), Some("cargo check -p auth\u{1b}[2J")),
        ("thinks", Phase::Working, None, Some("Let me see")),
        ("waits", Phase::Working, None, None),
        ("stopped", Phase::Stopping, None, None),
    ] {
        let task: TaskName = name.parse().unwrap();
        let model = Some("openrouter/qwen/qwen3-coder:480b-instruct".to_owned());
        let title = format!("title of {name}");
        tell(
            0,
            EventKind::TaskQueued {
                task: task.clone(),
                title,
                item: None,
                items: Vec::new(),
                model,
            },
        );
        tell(
            1,
            EventKind::TaskStarted {
                task: task.clone(),
                id: protocol::TaskId::generate(),
                attempt: 1,
            },
        );
        let event = SessionEvent::MessageEnd { message: Message::Assistant(answer()) };
        tell(2, EventKind::SessionEvent { task: Some(task.clone()), event });
        if name == "waits" {
            let error_message = "it is\noverloaded".to_owned();
            let event = SessionEvent::AutoRetryStart {
                attempt: 1,
                max_attempts: 4,
                delay_ms: 9_000,
                error_message,
                waits_for: None,
            };
            tell(8, EventKind::SessionEvent { task: Some(task.clone()), event });
        }
        let (tool, line) = (tool.map(str::to_owned), line.map(str::to_owned));
        tell(
            9,
            EventKind::TaskProgress {
                task,
                phase,
                line,
                tool,
                tokens: Some(24_100),
                waits_for: None,
            },
        );
    }
    run
}

fn answer() -> AssistantMessage {
    AssistantMessage {
        content: Vec::new(),
        api: "a".to_owned(),
        provider: "b".to_owned(),
        model: "c".to_owned(),
        usage: Usage {
            input: 20_000,
            output: 4_100,
            cost: Some(Cost::from_nanodollars(51_000_000)),
            ..Usage::ZERO
        },
        stop_reason: StopReason::ToolUse,
        error_message: None,
        timestamp: at(2),
    }
}

#[test]
fn the_line_of_an_agent_has_its_model_its_tool_and_its_tokens() {
    let shown = |columns| {
        let lines = frame(&with_agents(run_view(16, 0)), input(columns, 24), Palette::Plain);
        format!("\n{}\n", lines[2..].join("\n"))
    };
    assert_eq!(
        shown(95),
        "
  ⠋ calls    qwen3-coder:480b-…  bash      cargo check -p auth                   24.1k     12s
  ⠸ thinks   qwen3-coder:480b-…  thinks    Let me see                            24.1k     12s
  ⠦ waits    qwen3-coder:480b-…  waits     for openrouter, 4s more: it is␊ove…   24.1k     12s
  ⠏ stopped  qwen3-coder:480b-…  stops     title of stopped                      24.1k     12s
  ━╸──────────────────────────────  1 of 16 · 1 failed · 13s · 96.4k tokens · $0.20
"
    );
    assert_eq!(
        shown(60),
        "
  ⠋ calls    bash      cargo check -p auth    24.1k     12s
  ⠸ thinks   thinks    Let me see             24.1k     12s
  ⠦ waits    waits     for openrouter, 4s …   24.1k     12s
  ⠏ stopped  stops     title of stopped       24.1k     12s
1 of 16 · 1 failed · 13s · 96.4k tokens · $0.20
"
    );
}

#[test]
fn an_agent_answers_while_text_arrives_and_thinks_otherwise() {
    let mut run = with_agents(run_view(16, 0));
    let mut word = |event| {
        let task = Some("thinks".parse().unwrap());
        let kind = EventKind::SessionEvent { task, event };
        run.apply(&Event { seq: 1, at: at(10), scope: Some(scope()), kind });
        let lines = frame(&run, input(60, 24), Palette::Plain);
        let line = lines.iter().find(|line| line.contains("⠸ thinks")).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    };
    let start = || SessionEvent::MessageStart { role: MessageRole::Assistant, answer: None };
    assert_eq!(word(SessionEvent::TextStart { content_index: 1 }), "answers");
    assert_eq!(word(start()), "thinks");
    assert_eq!(word(SessionEvent::TextStart { content_index: 0 }), "answers");
    let message = Message::Assistant(answer());
    assert_eq!(word(SessionEvent::MessageEnd { message }), "thinks");
}

#[test]
fn a_wait_is_over_when_its_time_is_or_when_the_session_goes_on() {
    let mut run = with_agents(run_view(16, 0));
    let waits = |run: &RunView, seconds| {
        let input = FrameInput { now: at(seconds), ..input(100, 24) };
        frame(run, input, Palette::Plain)[4].contains("waits     for openrouter")
    };
    assert_eq!([16, 17].map(|seconds| waits(&run, seconds)), [true, false]);
    let event = SessionEvent::TurnStart { turn: 2 };
    let kind = EventKind::SessionEvent { task: "waits".parse().ok(), event };
    run.apply(&Event { seq: 1, at: at(10), scope: Some(scope()), kind });
    assert!(!waits(&run, 10));
}

fn input(columns: usize, rows: usize) -> FrameInput {
    FrameInput { now: at(13), turn: 0, size: Size { columns, rows } }
}

#[test]
fn the_first_line_of_a_run_has_its_label() {
    let head = run_view(2, 0).head().cloned();
    let head = RunInfo { label: Some("v2\u{1b}[2J".to_owned()), ..head.unwrap() };
    assert_eq!(
        headline(&head),
        "run r7k3f · v2 · 2 tasks · 8 at once · worktree · lands at the end"
    );
}

#[test]
fn a_frame_has_a_head_a_line_per_running_task_and_a_total() {
    let lines = frame(&run_view(16, 2), input(80, 24), Palette::Plain);
    assert_eq!(
        lines,
        [
            "run r7k3f · 16 tasks · 8 at once · worktree · lands at the end".to_owned(),
            String::new(),
            format!("  ⠋ task0  works     {}     12s", fit("line of task0 日本語", 50)),
            format!("  ⠸ task1  works     {}     12s", fit("line of task1 日本語", 50)),
            format!("  ━╸{}  1 of 16 · 1 failed · 13s", "─".repeat(30)),
        ]
    );
}

#[test]
fn a_frame_never_has_more_lines_or_columns_than_the_terminal() {
    let agents = with_agents(run_view(100, 7));
    let commands = [0, 1, 5, 40].map(|running| run_view(100, running));
    for run in commands.into_iter().chain([agents]) {
        for rows in 0..30 {
            for columns in [0, 1, 7, 20, 33, 60, 81, 200] {
                let lines = frame(&run, input(columns, rows), Palette::Plain);
                assert!(lines.len() <= rows.saturating_sub(1), "{rows} rows: {lines:?}");
                for line in &lines {
                    assert!(width(line) < columns.max(1), "{columns} columns: {line:?}");
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let lines = frame(&run_view(100, 40), input(80, 10), Palette::Plain);
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[7], "    and 35 more");
}

#[test]
fn nothing_that_a_task_wrote_reaches_the_terminal_as_a_command() {
    let lines = frame(&with_agents(run_view(16, 3)), input(80, 24), Palette::Plain);
    assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:?}");
}

#[test]
fn who_was_cancelled_has_not_failed() {
    let at = Timestamp::from_millisecond(0);
    let mut run = RunView::default();
    let mut seq = 0;
    let mut tell = |kind| {
        seq += 1;
        run.apply(&Event { seq, at, scope: Some(scope()), kind });
    };
    tell(run_started(3, 3));
    let failure = Failure::new(FailureClass::Command, "it ended with code 1");
    let ends = [Outcome::Cancelled, Outcome::Failed { failure }, Outcome::Cancelled];
    for (at, outcome) in ends.into_iter().enumerate() {
        let report = TaskReport {
            outcome,
            captured: None,
            ms: 1,
            setup_ms: None,
            usage: None,
            fallbacks: Vec::new(),
            turns: None,
            reached_limit: None,
            refused_calls: 0,
            timings: None,
        };
        tell(EventKind::TaskFinished {
            task: format!("t{at}").parse().unwrap(),
            report: Box::new(report),
        });
    }
    let line = total_line(&run, run.head().unwrap(), at, 60, Palette::Plain);
    assert!(line.ends_with("  3 of 3 · 1 failed · 2 cancelled · 0.0s"), "{line}");
}

#[test]
fn a_bar_is_as_long_as_its_room() {
    for done in 0..=7 {
        assert_eq!(width(&bar(done, 7, 20)), 20, "{done}");
    }
    assert_eq!(bar(0, 0, 3), "━━━");
}

#[test]
fn what_a_run_does_for_its_tasks_names_the_workspaces_that_get_it() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let needs = WorkspaceNeeds {
        setup: words(&["make"]),
        carry: words(&[".env"]),
        ..WorkspaceNeeds::default()
    };
    let own = |setup_tasks, carry_tasks| OwnNeeds {
        setup: words(&["npm ci"]),
        setup_tasks,
        carry: words(&["deps", "*.key"]),
        carry_tasks,
    };
    let nothing = |setup_tasks, carry_tasks| OwnNeeds {
        setup: Vec::new(),
        carry: Vec::new(),
        ..own(setup_tasks, carry_tasks)
    };
    let verify = words(&["true"]);
    let told = |own: OwnNeeds, verify: &[String]| {
        let mut lines = run_conditions(2, &[], (&needs, &own), verify);
        lines.retain(|line| line != SETUP_NOTE && !line.starts_with("verifies"));
        lines.join("\n")
    };
    let own_lines = [
        "copies ignored files that match deps, *.key into the workspaces of tasks with their own `carry`",
        "sets up the workspaces of tasks with their own `setup` with `npm ci`",
    ];
    let all = "copies ignored files that match .env into each workspace\nsets up each workspace with `make`";
    assert_eq!(told(nothing(0, 0), &[]), all);
    let others = |own: &str| format!("the workspaces of tasks without their own {own}");
    let (carry, setup) = (others("`carry`"), others("`setup`"));
    let some = [
        &format!("copies ignored files that match .env into {carry}"),
        own_lines[0],
        &format!("sets up {setup} with `make`"),
        own_lines[1],
    ];
    assert_eq!(told(own(1, 1), &[]), some.join("\n"));
    // A task that needs nothing has nothing of its own to show.
    assert_eq!(told(nothing(1, 1), &[]), [some[0], some[2]].join("\n"));
    assert_eq!(told(own(2, 2), &[]), own_lines.join("\n"));
    let verified = told(own(2, 2), &verify);
    let whose = "the workspace of the verification";
    assert!(
        verified.contains(&format!("copies ignored files that match .env into {whose}\n")),
        "{verified}"
    );
    assert!(verified.contains(&format!("sets up {whose} with `make`\n")), "{verified}");
    assert_eq!(run_conditions(2, &[], (&needs, &nothing(2, 2)), &[]), [""; 0]);
}
