use protocol::{Event, EventKind, Failure, FailureClass, Outcome, TaskReport};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millisecond(seconds * 1000)
}

fn picture(tasks: usize, running: usize) -> Picture {
    let mut picture = Picture::default();
    let mut tell = |seconds, kind| {
        let run = "r7k3f".parse().unwrap();
        picture.apply(&Event { seq: 1, at: at(seconds), run, kind });
    };
    let (isolation, merge) = (IsolationMode::Worktree, MergeMode::Patch);
    tell(0, EventKind::RunStarted { tasks, jobs: 8, isolation, merge });
    for task in (0..running).map(|at| format!("task{at}").parse::<protocol::TaskName>().unwrap()) {
        tell(1, EventKind::TaskStarted { task: task.clone(), attempt: 1 });
        let line = Some(format!("line of {task}\u{1b}[2J 日本語"));
        tell(2, EventKind::TaskProgress { task, phase: Phase::Working, line, tool: None, tokens: None });
    }
    let failure = Failure::new(FailureClass::Timeout, "late");
    let report = TaskReport { outcome: Outcome::Failed { failure }, captured: None, ms: 5, usage: None };
    tell(3, EventKind::TaskFinished { task: "broken".parse().unwrap(), report });
    picture
}

fn moment(columns: usize, rows: usize) -> Moment {
    Moment { now: at(13), turn: 0, size: Size { columns, rows } }
}

#[test]
fn a_frame_has_a_head_a_line_per_running_task_and_a_total() {
    let lines = frame(&picture(16, 2), moment(80, 24), Palette::Plain);
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
    for running in [0, 1, 5, 40] {
        let picture = picture(100, running);
        for rows in 0..30 {
            for columns in [0, 1, 7, 20, 33, 60, 81, 200] {
                let lines = frame(&picture, moment(columns, rows), Palette::Plain);
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
    let lines = frame(&picture(100, 40), moment(80, 10), Palette::Plain);
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[7], "    and 35 more");
}

#[test]
fn nothing_that_a_task_wrote_reaches_the_terminal_as_a_command() {
    let lines = frame(&picture(16, 3), moment(80, 24), Palette::Plain);
    assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:?}");
}

#[test]
fn of_a_line_that_rewrites_itself_the_last_part_is_shown() {
    assert_eq!(last_part("10%\r 50%\r\r").as_deref(), Some("50%"));
    assert_eq!(last_part(" \r"), None);
}

#[test]
fn a_bar_is_as_long_as_its_room() {
    for done in 0..=7 {
        assert_eq!(width(&bar(done, 7, 20)), 20, "{done}");
    }
    assert_eq!(bar(0, 0, 3), "━━━");
}
