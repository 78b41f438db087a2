//! What an undo of several tasks comes to for each of them.

use engine::ports::UndoReport;
use protocol::{Landed, TaskName};
use serde::Serialize;
use store::TaskRow;

use super::context::CommandContext;
use crate::render::{Meaning, count, folded_lines};
use regatta::runs::{Target, TargetKind, has_landed, is_taken_back};

/// What became of one of several tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct TaskResult<'a> {
    task: &'a TaskName,
    result: TaskEnd,
    #[serde(skip)]
    row: &'a TaskRow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum TaskEnd {
    TakenBack,
    /// Files or branches of it are left as they are.
    LeftInPart,
    /// All of it is left.
    Left,
    TakenBackBefore,
    NotLanded,
}

/// Returns what became of each task of a target that names several.
pub(super) fn task_results<'a>(target: &'a Target, report: &UndoReport) -> Vec<TaskResult<'a>> {
    if target.kind == TargetKind::Run || target.tasks.len() < 2 {
        return Vec::new();
    }
    let result = |row: &'a TaskRow| {
        let landing = report.report.tasks.iter().find(|landing| landing.task == row.name);
        let result = match landing.map(|landing| &landing.landed) {
            Some(Landed::TakenBack { left }) if left.is_empty() => TaskEnd::TakenBack,
            Some(_) => TaskEnd::LeftInPart,
            None if has_landed(row) => TaskEnd::Left,
            None if is_taken_back(row) => TaskEnd::TakenBackBefore,
            None => TaskEnd::NotLanded,
        };
        TaskResult { task: &row.name, result, row }
    };
    target.tasks.iter().map(result).collect()
}

/// Returns a line for each of these tasks, at most `most` for each result. `back` is the word for work that is
/// taken back.
pub(super) fn task_lines(
    context: &CommandContext,
    results: &[TaskResult<'_>],
    (back, most): (&str, usize),
) -> Vec<String> {
    let line = |TaskResult { result, row, .. }: &TaskResult<'_>| {
        let (word, meaning, why) = match result {
            TaskEnd::TakenBack => (back, Meaning::Good, ""),
            TaskEnd::LeftInPart => (back, Meaning::Kept, ", but for what is left"),
            TaskEnd::Left => ("left      ", Meaning::Kept, ": all of it"),
            TaskEnd::TakenBackBefore => {
                ("unchanged ", Meaning::Neutral, ": it was taken back before")
            }
            TaskEnd::NotLanded => ("unchanged ", Meaning::Neutral, ": nothing of it has landed"),
        };
        let word = context.view.palette.paint(meaning, word);
        ((*result, word.clone(), why), format!("{word}  {}{why}", row.name))
    };
    folded_lines(results.iter().map(line).collect(), most, |(_, word, why), more| {
        format!("{word}  and {}{why} (--all lists them)", count(more, "more task"))
    })
}

#[cfg(test)]
mod tests {
    use protocol::{LandingReport, TaskLanding};

    use super::super::fake_repository::{Bench, End, in_tree};
    use super::super::target;
    use super::*;

    #[test]
    async fn each_of_several_tasks_has_a_line_of_its_own() {
        let bench = Bench::new();
        let taken_back = || Some(Landed::TakenBack { left: Vec::new() });
        let landings =
            [("one", in_tree()), ("two", in_tree()), ("back", taken_back()), ("none", None)];
        let tasks = landings.map(|(name, landed)| (name, &[][..], End::Done(1, landed)));
        bench.record(tasks.into()).await;
        let more = ["two", "back", "none"].map(str::to_owned);
        let target = target::find_several(&bench.context, Some(&"one".to_owned()), &more).unwrap();
        let landed = taken_back().unwrap();
        let tasks = vec![TaskLanding::of("one".parse().unwrap(), landed)];
        let report = UndoReport { report: LandingReport { tasks }, ..UndoReport::default() };
        let results = task_results(&target, &report);
        let expected = [
            "taken back  one",
            "left        two: all of it",
            "unchanged   back: it was taken back before",
            "unchanged   none: nothing of it has landed",
        ];
        assert_eq!(task_lines(&bench.context, &results, ("taken back", 1)), expected);
        let many = vec![results[0].clone(); 120];
        let folded = ["taken back  one", "taken back  and 119 more tasks (--all lists them)"];
        assert_eq!(task_lines(&bench.context, &many, ("taken back", 1)), folded);
        let json = serde_json::to_value(&results).unwrap();
        assert_eq!(json[1], serde_json::json!({ "task": "two", "result": "left" }));
        // One task is what the other lines are about.
        let one = target::find(&bench.context, &Some("one".to_owned()).into()).unwrap();
        assert_eq!(task_results(&one, &report), []);
    }
}
