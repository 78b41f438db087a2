//! How often a model may answer, and how much it may use.

use std::num::NonZeroU32;

use protocol::{Failure, FailureClass};

use super::words;

/// What one session may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How often the model may answer.
    pub turns: NonZeroU32,
    /// How many tokens it may use; as many as it likes without it.
    pub tokens: Option<u64>,
}

/// What has been used of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) turns: u32,
    pub(super) tokens: u64,
    /// Whether the model was told to yield.
    pub(super) warned: Warned,
}

/// Whether a model was told that it has reached a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Warned {
    #[default]
    No,
    Yes,
}

/// Whether there may be another turn.
#[derive(Debug, PartialEq)]
pub(super) enum Permit {
    /// There may.
    Go,
    /// One more, to yield in; this is what the model is told.
    YieldNow(String),
    /// There may not.
    Over(Failure),
}

impl Limits {
    /// Judges whether there may be another turn.
    pub(super) fn judge(&self, spent: &Spent) -> Permit {
        let reached = if spent.turns >= self.turns.get() {
            format!("{} turns", self.turns)
        } else if let Some(tokens) = self.tokens.filter(|tokens| spent.tokens >= *tokens) {
            format!("{tokens} tokens")
        } else {
            return Permit::Go;
        };
        match spent.warned {
            Warned::No => Permit::YieldNow(words::yield_now(&reached)),
            Warned::Yes => {
                let message =
                    format!("it had used its {reached} before it yielded what was asked for");
                Permit::Over(Failure::new(FailureClass::Budget, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_its_limit_a_model_is_asked_to_yield_once_and_then_it_is_over() {
        let turns = NonZeroU32::new(2).unwrap();
        let limits = Limits { turns, tokens: Some(100) };
        let spent = Spent { turns: 1, tokens: 99, warned: Warned::No };
        assert_eq!(limits.judge(&spent), Permit::Go);
        for reached in [Spent { turns: 2, ..spent }, Spent { tokens: 100, ..spent }] {
            let Permit::YieldNow(words) = limits.judge(&reached) else { panic!("{reached:?}") };
            assert!(words.contains("2 turns") || words.contains("100 tokens"), "{words}");
            let Permit::Over(failure) = limits.judge(&Spent { warned: Warned::Yes, ..reached })
            else {
                panic!("{reached:?}")
            };
            assert_eq!(failure.class, FailureClass::Budget);
        }
    }
}
