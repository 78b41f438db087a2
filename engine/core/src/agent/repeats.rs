//! Whether a model only repeats a call that fails.

use protocol::{Failure, FailureClass, ToolCall};

/// How often the same call may fail running.
const PATIENCE: u32 = 5;

/// The last call that failed, and how often it has failed with nothing else between.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    last: Option<ToolCall>,
    failures: u32,
}

impl Repeats {
    /// Notes what came of a call. Returns the failure of a session that goes in a circle.
    pub(super) fn note(&mut self, call: &ToolCall, came_of_it: Came) -> Option<Failure> {
        if came_of_it == Came::Well {
            *self = Self::default();
            return None;
        }
        let same = |last: &ToolCall| {
            last.name == call.name
                && last.arguments == call.arguments
                && last.malformed == call.malformed
        };
        self.failures = if self.last.as_ref().is_some_and(same) { self.failures + 1 } else { 1 };
        self.last = Some(call.clone());
        (self.failures >= PATIENCE).then(|| {
            let message =
                format!("it called `{}` {PATIENCE} times running, the same way", call.name);
            Failure::new(FailureClass::Poison, format!("{message}, and it failed each time"))
        })
    }
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    Well,
    Badly,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(path: &str) -> ToolCall {
        let arguments = json!({ "path": path }).as_object().unwrap().clone();
        ToolCall { id: path.to_owned(), name: "read".to_owned(), arguments, malformed: None }
    }

    #[test]
    fn the_fifth_failure_running_of_the_same_call_is_poison() {
        let mut repeats = Repeats::default();
        for _ in 0..4 {
            assert_eq!(repeats.note(&call("a"), Came::Badly), None);
        }
        let failure = repeats.note(&call("a"), Came::Badly).unwrap();
        assert_eq!(failure.class, FailureClass::Poison);
    }

    #[test]
    fn other_arguments_are_another_call() {
        let mut repeats = Repeats::default();
        for path in ["a", "b", "c", "d", "e", "f"] {
            assert_eq!(repeats.note(&call(path), Came::Badly), None);
        }
    }

    #[test]
    fn whatever_comes_between_begins_the_count_anew() {
        let mut repeats = Repeats::default();
        for _ in 0..20 {
            assert_eq!(repeats.note(&call("a"), Came::Badly), None);
            assert_eq!(repeats.note(&call("a"), Came::Badly), None);
            assert_eq!(repeats.note(&call("b"), Came::Well), None);
            assert_eq!(repeats.note(&call("a"), Came::Badly), None);
            assert_eq!(repeats.note(&call("b"), Came::Badly), None);
        }
    }
}
