use protocol::{EventKind, EventScope, Outcome, Phase, RunCaller, RunName, TaskId, TaskReport};

use super::*;
use crate::render::{run_started, width};
use crate::view::command::{Command, parse};
use crate::view::highlight::Syntaxes;
use crate::view::live_part::{live_part, live_text};
use crate::view::state::test_view;

fn event(kind: EventKind) -> Event {
    let run: RunName = "r7k3f".parse().unwrap();
    let at = Timestamp::from_millisecond(60_000);
    Event { seq: 1, at, scope: Some(EventScope::Run(run)), kind }
}

/// A session whose call has so many subagents, of which all but the last one work.
fn calling(count: usize) -> ViewState {
    let (mut view, session) = (test_view(), SessionId::generate());
    view.subagents.begin(session);
    let mut kind = run_started(count, 32);
    if let EventKind::RunStarted { caller, .. } = &mut kind {
        *caller = Some(RunCaller { session, task: None });
    }
    view.run_event(&event(kind), Duration::ZERO);
    for number in 1..=count {
        let task: protocol::TaskName = format!("{number}-Fix").parse().unwrap();
        let queued = EventKind::TaskQueued {
            task: task.clone(),
            title: "does it".to_owned(),
            item: None,
            items: Vec::new(),
            model: None,
        };
        view.run_event(&event(queued), Duration::ZERO);
        if number < count {
            let id = TaskId::generate();
            let started = EventKind::TaskStarted { task: task.clone(), id, attempt: 1 };
            view.run_event(&event(started), Duration::ZERO);
            let (tool, tokens) = (Some("bash".to_owned()), Some(1_200));
            let line = Some("cargo test\u{1b}[2J".to_owned());
            let phase = Phase::Working;
            let progress =
                EventKind::TaskProgress { task, phase, line, tool, tokens, waits_for: None };
            view.run_event(&event(progress), Duration::ZERO);
        }
    }
    view
}

fn lines(view: &ViewState) -> Vec<String> {
    let size = Size { columns: 60, rows: 20 };
    let lines = view.subagents.lines(size, Duration::from_secs(3));
    lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
}

#[test]
fn the_tree_is_compact_at_first_and_tasks_changes_how_much_of_it_is_displayed() {
    let mut view = calling(8);
    let compact = lines(&view);
    assert_eq!(compact[0], "  subagents: 0 of 8 ended");
    assert!(compact[1].starts_with("  ⠸ 1-Fix  bash      cargo test "), "{compact:#?}");
    assert!(compact[1].ends_with("1.2k    3.0s"), "{compact:#?}");
    assert_eq!(compact[5..], ["    and 3 more"], "of the seven that work");
    view.show_tasks(Some(TreeMode::Verbose));
    let verbose = lines(&view);
    assert_eq!(verbose.len(), 9);
    assert!(verbose[8].starts_with("  · 8-Fix  queued    does it"), "{verbose:#?}");
    view.show_tasks(Some(TreeMode::Off));
    assert_eq!(lines(&view), [""; 0]);
    assert!(!live_text(&view).contains("subagents"));
    assert_eq!(parse("/tasks verbose"), Some(Ok(Command::Tasks(Some(TreeMode::Verbose)))));
    view.show_tasks(None);
    let said = view.take_finished(80).pop().unwrap().lines(80, &Syntaxes::default());
    assert_eq!(
        said[0].to_string(),
        "the tree of subagents is off; there are off, compact, verbose"
    );
}

#[test]
fn the_live_part_with_two_hundred_subagents_fits_the_terminal() {
    let mut view = calling(200);
    for mode in TreeMode::ALL {
        view.show_tasks(Some(mode));
        for (columns, rows) in [(80, 24), (40, 8), (20, 4), (200, 60)] {
            let size = Size { columns, rows };
            let lines = live_part(&view, size, Duration::ZERO, &Syntaxes::default());
            assert!(lines.len() <= rows, "{rows} rows: {lines:#?}");
            let widest = lines.iter().map(|line| width(&line.to_string())).max().unwrap();
            assert!(widest <= columns, "{columns} columns: {lines:#?}");
        }
        let shown = live_text(&view).contains("subagents: 0 of 200 ended");
        assert_eq!(shown, mode != TreeMode::Off);
    }
}

#[test]
fn a_subagent_that_has_ended_is_printed_once_unless_the_tree_is_off() {
    let finished = || {
        let report = TaskReport {
            outcome: Outcome::Cancelled,
            captured: None,
            ms: 12_000,
            setup_ms: None,
            usage: None,
            fallbacks: Vec::new(),
            turns: None,
            reached_limit: None,
            refused_calls: 0,
            timings: None,
        };
        event(EventKind::TaskFinished { task: "1-Fix".parse().unwrap(), report: Box::new(report) })
    };
    let mut view = calling(2);
    view.run_event(&finished(), Duration::ZERO);
    let printed = view.take_finished(80);
    assert_eq!(printed.len(), 1);
    let line = printed[0].lines(80, &Syntaxes::default());
    assert_eq!(line[0].to_string(), "✗ 1-Fix · cancelled · 12s");
    assert_eq!(lines(&view)[0], "  subagents: 1 of 2 ended");
    let mut view = calling(2);
    view.show_tasks(Some(TreeMode::Off));
    drop(view.take_finished(80));
    view.run_event(&finished(), Duration::ZERO);
    assert_eq!(view.take_finished(80).len(), 0);
}
