//! The limits of a session: turns, tokens and repeated failing tool calls.

use std::num::NonZeroU32;

use protocol::{
    Cost, Failure, FailureClass, FailureDetail, ReachedLimit, TaskLimits, ToolCall, Usage,
};

use super::prompts;
use crate::texts::{limit_text, most_text};

/// The limits of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of answers of the model.
    pub turns: NonZeroU32,
    /// The maximum number of tokens; unlimited if absent.
    pub tokens: Option<u64>,
    /// The maximum cost; unlimited if absent.
    pub cost: Option<Cost>,
}

/// The usage of a session so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionUsage {
    pub(super) turns: u32,
    /// Tokens and their cost, failed attempts included.
    pub(super) used: Usage,
    /// Whether the model was asked to yield because of a limit.
    pub(super) warned: Warned,
}

/// Whether the model was asked to yield because of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Warned {
    #[default]
    No,
    Yes,
}

/// Whether a session may have another turn.
#[derive(Debug, PartialEq)]
pub(super) enum BudgetDecision {
    /// The session may have another turn.
    Continue,
    /// The session may have one last turn, in which the model has to yield. The text is the input
    /// that asks the model to yield.
    YieldNow(String),
    /// The session may have no further turn.
    Exceeded(Failure),
}

impl Default for SessionUsage {
    fn default() -> Self {
        Self { turns: 0, used: Usage::ZERO, warned: Warned::No }
    }
}

impl From<&TaskLimits> for Limits {
    fn from(task: &TaskLimits) -> Self {
        Self { turns: task.turns, tokens: task.tokens, cost: task.cost }
    }
}

impl Limits {
    /// Returns the first limit that is reached after so many answers that have used so much.
    #[must_use]
    pub fn reached_by(&self, answers: u64, used: Usage) -> Option<ReachedLimit> {
        let turns = u32::try_from(answers).unwrap_or(u32::MAX);
        self.reached(&SessionUsage { turns, used, warned: Warned::No })
    }

    /// Decides whether there may be another turn.
    pub(super) fn check(&self, usage: &SessionUsage) -> BudgetDecision {
        let Some(reached) = self.reached(usage) else { return BudgetDecision::Continue };
        match usage.warned {
            Warned::No => BudgetDecision::YieldNow(prompts::yield_now(&most_text(&reached))),
            Warned::Yes => {
                let message =
                    format!("{}: it did not yield what was asked for", limit_text(&reached));
                let failure = Failure::new(FailureClass::Budget, message);
                BudgetDecision::Exceeded(failure.with(FailureDetail::Limit(reached)))
            }
        }
    }

    /// Returns the first limit that is reached.
    fn reached(&self, usage: &SessionUsage) -> Option<ReachedLimit> {
        let turns = (usage.turns, self.turns.get());
        let (tokens, cost) = (usage.used.tokens(), usage.used.cost);
        if turns.0 >= turns.1 {
            return Some(ReachedLimit::Turns { used: turns.0, most: turns.1 });
        }
        if let Some(most) = self.tokens.filter(|most| tokens >= *most) {
            return Some(ReachedLimit::Tokens { used: tokens, most });
        }
        let most = self.cost.filter(|most| usage.has_cost(*most))?;
        Some(ReachedLimit::Cost { used: cost, most })
    }
}

impl SessionUsage {
    /// Returns whether this much is spent. Who does not know what is spent may have spent it.
    fn has_cost(&self, cost: Cost) -> bool {
        self.used.cost.is_none_or(|spent| spent >= cost)
    }
}

/// The number of answers in a row in which the same tool call may fail.
const MAX_REPEATED_FAILURES: u32 = 5;

/// Detects a model that repeats the same failing tool call.
#[derive(Debug, Default)]
pub(super) struct LoopDetector {
    last: Option<ToolCall>,
    /// In how many answers in a row `last` has failed.
    failures: u32,
    /// Whether the current answer is among them.
    counted: Counted,
}

/// Whether a failing call is counted in the current answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Counted {
    #[default]
    No,
    Yes,
}

impl LoopDetector {
    /// The calls that are recorded from now on are those of another answer. A model that repeats a call
    /// in one answer has not seen that it fails.
    pub(super) fn begin_answer(&mut self) {
        self.counted = Counted::No;
    }

    /// Records the result of a call. Returns a failure if the same call has failed in too many answers
    /// in a row.
    pub(super) fn record(&mut self, call: &ToolCall, result: CallResult) -> Option<Failure> {
        if result == CallResult::Ok {
            *self = Self::default();
            return None;
        }
        let same = |last: &ToolCall| {
            last.name == call.name
                && last.arguments == call.arguments
                && last.malformed == call.malformed
        };
        match (self.last.as_ref().is_some_and(same), self.counted) {
            (true, Counted::Yes) => {}
            (true, Counted::No) => self.failures += 1,
            (false, _) => self.failures = 1,
        }
        self.counted = Counted::Yes;
        self.last = Some(call.clone());
        (self.failures >= MAX_REPEATED_FAILURES).then(|| {
            let message = format!(
                "it called `{}` in {MAX_REPEATED_FAILURES} answers running, the same way",
                call.name
            );
            Failure::new(FailureClass::Poison, format!("{message}, and it failed each time"))
        })
    }
}

/// Whether a tool call succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallResult {
    Ok,
    Failed,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn at_its_limit_a_model_is_asked_to_yield_once_and_then_it_is_over() {
        let turns = NonZeroU32::new(2).unwrap();
        let (most, less) = (Cost::from_nanodollars(2_000_000_000), Cost::from_nanodollars(1));
        let limits = Limits { turns, tokens: Some(100), cost: Some(most) };
        let used = |input, cost| Usage { input, cost, ..Usage::ZERO };
        let spent = SessionUsage { turns: 1, used: used(99, Some(less)), warned: Warned::No };
        assert_eq!(limits.check(&spent), BudgetDecision::Continue);
        for (reached, text) in [
            (SessionUsage { turns: 3, ..spent }, "turns 3 of 2"),
            (SessionUsage { used: used(923, Some(less)), ..spent }, "tokens 923 of 100"),
            (SessionUsage { used: used(1, Some(most)), ..spent }, "cost $2.00 of $2.00"),
            (SessionUsage { used: used(1, None), ..spent }, "cost ? of $2.00"),
        ] {
            let BudgetDecision::YieldNow(words) = limits.check(&reached) else {
                panic!("{reached:?}")
            };
            assert!(
                ["2 turns", "100 tokens", "limit of $2.00"].iter().any(|it| words.contains(it)),
                "{words}"
            );
            let BudgetDecision::Exceeded(failure) =
                limits.check(&SessionUsage { warned: Warned::Yes, ..reached })
            else {
                panic!("{reached:?}")
            };
            assert_eq!(failure.class, FailureClass::Budget);
            let expected = format!("{text}: it did not yield what was asked for");
            assert_eq!(failure.message, expected);
            let Some(FailureDetail::Limit(limit)) = failure.detail else { panic!("{failure:?}") };
            assert_eq!(limit_text(&limit), text);
        }
    }

    fn call(path: &str) -> ToolCall {
        let arguments = json!({ "path": path }).as_object().unwrap().clone();
        ToolCall {
            id: path.to_owned(),
            name: "read".to_owned(),
            arguments,
            malformed: None,
            thought_signature: None,
        }
    }

    /// Records answers whose calls fail, unless they end with `+`. Returns whether one is poison.
    fn is_poison(answers: &[&str]) -> bool {
        let mut repeats = LoopDetector::default();
        answers.iter().any(|calls| {
            repeats.begin_answer();
            let mut failures = calls.split(' ').filter_map(|path| match path.strip_suffix('+') {
                Some(path) => repeats.record(&call(path), CallResult::Ok),
                None => repeats.record(&call(path), CallResult::Failed),
            });
            failures.any(|failure| failure.class == FailureClass::Poison)
        })
    }

    #[test]
    fn the_same_call_that_fails_in_five_answers_running_is_poison() {
        assert!(!is_poison(&["a"; 4]));
        assert!(is_poison(&["a"; 5]));
    }

    #[test]
    fn the_calls_of_one_answer_count_once() {
        assert!(!is_poison(&["a a a a a a"]));
        assert!(!is_poison(&["a a a a a a"; 4]));
        assert!(is_poison(&["a a"; 5]));
        assert!(is_poison(&["b a a", "a", "a", "a", "a"]));
    }

    #[test]
    fn other_arguments_are_another_call_and_what_comes_between_begins_the_count_anew() {
        assert!(!is_poison(&["a", "b", "c", "d", "e", "f"]));
        assert!(!is_poison(&["a", "a", "b+", "a", "b"].repeat(20)));
        assert!(!is_poison(&["a b+"; 20]));
    }
}
