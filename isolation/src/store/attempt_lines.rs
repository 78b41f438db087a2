//! The last lines of the message of a capture, for people and for git's tools: the run, the task and
//! the attempt, how it ended, and what its model used. They are trailers, as git has them.

use std::fmt::Write as _;

use engine::ports::{AttemptEnd, ModelWork};
use protocol::{RunName, TaskName, Usage};

/// What is written where something is not known.
const UNKNOWN: &str = "unknown";

/// Returns the trailers of the capture of an attempt that has changed `files` files.
pub(crate) fn attempt_lines(
    (run, task, attempt): (&RunName, &TaskName, u32),
    end: &AttemptEnd,
    files: usize,
) -> String {
    let outcome = if files == 0 { end.unchanged } else { end.changed };
    let mut lines = format!(
        "Regatta-Run: {run}\nRegatta-Task: {task}\nRegatta-Attempt: {attempt}\n\
         Regatta-Outcome: {outcome}\n"
    );
    let (turns, usage) = match end.model {
        ModelWork::None => return lines,
        ModelWork::Used { turns, usage } => (turns, usage),
        ModelWork::Unknown => (None, None),
    };
    let or_unknown = |known: Option<String>| known.unwrap_or_else(|| UNKNOWN.to_owned());
    let turns = or_unknown(turns.map(|turns| turns.to_string()));
    let tokens = or_unknown(usage.map(|usage| usage.tokens().to_string()));
    let cost = usage.and_then(|Usage { cost, .. }| cost);
    let cost = or_unknown(cost.map(|cost| format!("{} USD", cost.as_dollars())));
    let _written =
        write!(lines, "Regatta-Turns: {turns}\nRegatta-Tokens: {tokens}\nRegatta-Cost: {cost}\n");
    lines
}

/// Returns the outcome that the message of a capture has.
pub(crate) fn outcome_of(message: &str) -> Option<&str> {
    message.lines().rev().find_map(|line| line.strip_prefix("Regatta-Outcome: "))
}

#[cfg(test)]
mod tests {
    use engine::ports::AttemptOutcome;
    use protocol::{Cost, FailureClass};

    use super::*;

    fn lines(model: ModelWork, files: usize) -> String {
        let (run, task) = ("r7k3f".parse().unwrap(), "auth".parse().unwrap());
        let end = AttemptEnd {
            changed: AttemptOutcome::Done,
            unchanged: AttemptOutcome::Failed(FailureClass::Contract),
            model,
        };
        attempt_lines((&run, &task, 2), &end, files)
    }

    #[test]
    fn what_is_not_known_is_said_and_never_nought() {
        let priced = Usage { input: 1_200, output: 34, ..Usage::ZERO };
        let priced = Usage { cost: Some(Cost::from_nanodollars(52_500_000)), ..priced };
        let used = |turns, usage| ModelWork::Used { turns, usage };
        let head = "Regatta-Run: r7k3f\nRegatta-Task: auth\nRegatta-Attempt: 2\n";
        let tail = [
            (ModelWork::None, 1, "done\n"),
            (ModelWork::None, 0, "failed: contract\n"),
            (
                used(Some(3), Some(priced)),
                1,
                "done\nRegatta-Turns: 3\nRegatta-Tokens: 1234\nRegatta-Cost: 0.0525 USD\n",
            ),
            (
                used(Some(3), Some(Usage { cost: None, ..priced })),
                1,
                "done\nRegatta-Turns: 3\nRegatta-Tokens: 1234\nRegatta-Cost: unknown\n",
            ),
            (
                ModelWork::Unknown,
                1,
                "done\nRegatta-Turns: unknown\nRegatta-Tokens: unknown\nRegatta-Cost: unknown\n",
            ),
        ];
        for (model, files, tail) in tail {
            let text = lines(model, files);
            assert_eq!(text, format!("{head}Regatta-Outcome: {tail}"));
            assert_eq!(outcome_of(&text), tail.lines().next());
        }
    }
}
