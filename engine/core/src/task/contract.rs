//! The promise a worker makes: to end its session with a value of the agreed shape.

use protocol::{Failure, FailureClass};
use serde_json::Value;

use crate::ports::Schema;

/// How a session ended by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEnd {
    /// It yielded this value.
    Yielded(Value),
    /// It stopped without a yield; this is what one has to say about that.
    Silent(String),
    /// It could not go on.
    Failed(Failure),
}

/// What a task's yield is held against. Forgiving a fixed number of times, then final.
pub struct YieldContract {
    schema: Box<dyn Schema>,
    patience: Patience,
    reminded: u8,
}

/// How much a contract forgives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How often the worker is asked again.
    pub reminders: u8,
    /// Whether null is a value.
    pub null: NullYield,
}

impl Patience {
    /// A command has said its last word when it ends, and may have nothing to say.
    pub const COMMAND: Self = Self { reminders: 0, null: NullYield::Allowed };

    /// A model can be asked again, and null is how models say nothing.
    pub const AGENT: Self = Self { reminders: 3, null: NullYield::Refused };
}

/// Whether null is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullYield {
    /// It is, as far as the schema allows it.
    Allowed,
    /// It never is.
    Refused,
}

/// What a worker is told whose yield was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reminder {
    /// What is wrong.
    pub complaint: String,
    /// Counts the reminders from 1.
    pub number: u8,
    /// How many there are in all.
    pub of: u8,
}

impl Reminder {
    /// Returns whether no other follows.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.number >= self.of
    }
}

impl std::fmt::Debug for YieldContract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("YieldContract").field("reminded", &self.reminded).finish()
    }
}

/// What the contract makes of a session that ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The value satisfies the schema.
    Accept(Value),
    /// Ask again.
    Remind(Reminder),
    /// It is over, for this reason.
    Break(Failure),
}

impl YieldContract {
    /// Returns a contract.
    #[must_use]
    pub fn new(schema: Box<dyn Schema>, patience: Patience) -> Self {
        Self { schema, patience, reminded: 0 }
    }

    /// Judges how a session ended, spending one reminder if it has to complain and can.
    pub fn settle(&mut self, end: SessionEnd) -> Verdict {
        let complaint = match end {
            SessionEnd::Failed(failure) => return Verdict::Break(failure),
            SessionEnd::Silent(complaint) => complaint,
            SessionEnd::Yielded(Value::Null) if self.patience.null == NullYield::Refused => {
                "it yielded null, which is no result".to_owned()
            }
            SessionEnd::Yielded(value) => match self.schema.faults(&value) {
                faults if faults.is_empty() => return Verdict::Accept(value),
                faults => {
                    format!("what it yielded does not match the schema: {}", faults.join("; "))
                }
            },
        };
        if self.reminded < self.patience.reminders {
            self.reminded += 1;
            let (number, of) = (self.reminded, self.patience.reminders);
            return Verdict::Remind(Reminder { complaint, number, of });
        }
        let complaint = match self.reminded {
            0 => complaint,
            reminded => format!("{complaint}; it was reminded {reminded} times"),
        };
        Verdict::Break(Failure::new(FailureClass::Contract, complaint))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Summary;
    impl Schema for Summary {
        fn faults(&self, value: &Value) -> Vec<String> {
            let missing = value.get("summary").is_none();
            missing.then(|| "/summary: is missing".to_owned()).into_iter().collect()
        }
    }

    fn contract(reminders: u8) -> YieldContract {
        let patience = Patience { reminders, null: NullYield::Refused };
        YieldContract::new(Box::new(Summary), patience)
    }

    #[test]
    fn accepts_a_value_that_satisfies_the_schema() {
        let value = json!({ "summary": "done", "extra": 1 });
        assert_eq!(contract(0).settle(SessionEnd::Yielded(value.clone())), Verdict::Accept(value));
    }

    #[test]
    fn reminds_until_patience_is_spent() {
        let mut contract = contract(1);
        let silent = SessionEnd::Silent("it ended without a yield".to_owned());
        let Verdict::Remind(reminder) = contract.settle(silent) else { panic!("it has patience") };
        assert!(reminder.is_last());
        assert_eq!(reminder.complaint, "it ended without a yield");
        let Verdict::Break(failure) = contract.settle(SessionEnd::Yielded(json!({}))) else {
            panic!("patience is spent");
        };
        assert_eq!(failure.class, FailureClass::Contract);
        assert!(failure.message.contains("/summary: is missing"), "{}", failure.message);
    }

    #[test]
    fn null_is_no_result_of_a_model_and_may_be_one_of_a_command() {
        let nothing = || SessionEnd::Yielded(Value::Null);
        let judge = |patience| YieldContract::new(Box::new(crate::ports::AnyValue), patience);
        assert!(matches!(judge(Patience::AGENT).settle(nothing()), Verdict::Remind(_)));
        assert_eq!(judge(Patience::COMMAND).settle(nothing()), Verdict::Accept(Value::Null));
    }

    #[test]
    fn a_worker_that_cannot_go_on_is_not_reminded() {
        let failure = Failure::new(FailureClass::Command, "exit code 1");
        assert_eq!(
            contract(3).settle(SessionEnd::Failed(failure.clone())),
            Verdict::Break(failure)
        );
    }
}
