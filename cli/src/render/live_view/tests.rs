use std::cell::Cell;

use protocol::{Event, EventKind, EventScope, TaskName};

use super::super::terminal::Meaning;
use super::super::test_terminal::{SIZE, TestTerminal, run_started};
use super::*;

/// A run of three tasks, of which one works.
fn run() -> RunView {
    let task: TaskName = "auth".parse().unwrap();
    let kinds = [
        run_started(3, 2),
        EventKind::TaskQueued {
            task: task.clone(),
            title: "make \u{7}it".into(),
            item: None,
            items: Vec::new(),
            model: None,
        },
        EventKind::TaskStarted { task, id: protocol::TaskId::generate(), attempt: 1 },
    ];
    let mut run = RunView::default();
    for (seq, kind) in (1..).zip(kinds) {
        let scope = Some(EventScope::Run("r7k3f".parse().unwrap()));
        run.apply(&Event { seq, at: at(0), scope, kind });
    }
    run
}

fn none() -> RunQuestions {
    RunQuestions::default()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms)
}

fn failed(label: &str, why: &str) -> Problem {
    Problem { meaning: Meaning::Bad, label: label.to_owned(), why: why.to_owned() }
}

thread_local! {
    /// The size of the terminal, as the view measures it.
    static MEASURED: Cell<Size> = const { Cell::new(SIZE) };
}

fn measured() -> Size {
    MEASURED.get()
}

#[test]
fn the_live_view_redraws_in_place_and_leaves_nothing_behind() {
    let terminal = TestTerminal::new();
    let mut live = terminal.view(measured);
    for turn in 0..5 {
        live.draw(&run(), &mut none(), at(turn * 1000));
        let lines = terminal.lines();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].starts_with("run r7k3f · 3 tasks"), "{lines:?}");
        assert!(lines[2].contains(" auth  prepares  make ␇it"), "{lines:?}");
        assert!(lines[3].ends_with(&format!("0 of 3 · {turn}.0s")), "{lines:?}");
    }
    live.clear();
    assert_eq!(terminal.lines(), Vec::<String>::new());
}

#[test]
fn lines_stay_above_the_live_view() {
    let terminal = TestTerminal::new();
    let mut live = terminal.view(measured);
    live.print("before the first frame");
    assert_eq!(terminal.lines(), ["before the first frame"]);
    for turn in 0..4 {
        live.draw(&run(), &mut none(), at(turn * 1000));
        live.problem(failed(&format!("t{turn}"), "command: no"));
    }
    live.draw(&run(), &mut none(), at(5000));
    let lines = terminal.lines();
    let expected: Vec<_> = (0..4).map(|turn| format!("✗ t{turn}  command: no")).collect();
    assert_eq!(lines[1..5], expected, "{lines:?}");
    assert_eq!(lines.len(), 9, "{lines:?}");
    live.problem(failed("t4", &"x".repeat(200)));
    live.clear();
    let lines = terminal.lines();
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(lines[5].starts_with("✗ t4  xxx") && lines[5].ends_with("x…"), "{lines:?}");
}

#[test]
fn a_long_label_leaves_room_for_the_reason() {
    let terminal = TestTerminal::new();
    terminal.view(measured).problem(failed(&format!("src/{}/mod.rs", "deep/".repeat(30)), "no"));
    let line = terminal.lines().remove(0);
    assert!(line.starts_with("✗ src/deep") && line.ends_with("mod.rs  no"), "{line}");
}

#[test]
fn only_the_first_remarks_are_printed_and_every_problem_is() {
    let terminal = TestTerminal::new();
    let mut live = terminal.view(measured);
    for number in 0..40 {
        live.remark(&format!("remark {number}"));
        live.problem(failed(&format!("t{number}"), "no"));
    }
    let text = terminal.text();
    assert_eq!((text.matches("remark").count(), text.matches('✗').count()), (REMARKS, 40));
}

#[test]
fn after_a_resize_the_lines_and_the_frame_are_on_the_screen_once() {
    for (columns, rows) in [(40, 24), (120, 24), (80, 12), (80, 50), (50, 10), (200, 60)] {
        let terminal = TestTerminal::new();
        MEASURED.set(SIZE);
        let mut live = terminal.view(measured);
        for turn in 0..4 {
            live.draw(&run(), &mut none(), at(turn * 1000));
            live.problem(failed(&format!("t{turn}"), &format!("command: {}", "no ".repeat(20))));
        }
        live.draw(&run(), &mut none(), at(5000));
        let size = Size { columns, rows };
        MEASURED.set(size);
        terminal.resize(size);
        live.problem(failed("t4", "command: no"));
        live.draw(&run(), &mut none(), at(6000));
        live.draw(&run(), &mut none(), at(6200));
        let lines = terminal.lines();
        assert_eq!(lines.len(), 9, "{size:?}: {lines:?}");
        for turn in 0..5 {
            assert!(lines[turn].starts_with(&format!("✗ t{turn}  command: no")), "{lines:?}");
        }
        assert!(lines[5].starts_with("run r7k3f") && lines[8].contains("0 of 3"), "{lines:?}");
        live.clear();
        assert_eq!(terminal.lines().len(), 5, "{size:?}");
    }
}

#[test]
fn a_resize_just_before_the_end_leaves_the_lines() {
    let terminal = TestTerminal::new();
    MEASURED.set(SIZE);
    let mut live = terminal.view(measured);
    live.draw(&run(), &mut none(), at(0));
    live.problem(failed("t1", "command: no"));
    let size = Size { columns: 30, rows: 10 };
    MEASURED.set(size);
    terminal.resize(size);
    live.clear();
    live.clear();
    assert_eq!(terminal.lines(), ["✗ t1  command: no"]);
}

#[test]
fn the_live_view_draws_at_most_ten_frames_a_second() {
    let terminal = TestTerminal::new();
    let mut live = terminal.view(measured);
    let run = run();
    for ms in 0..1000 {
        live.draw(&run, &mut none(), at(ms));
    }
    assert_eq!(terminal.text().matches("run r7k3f").count(), 10);
}
