//! The promise a worker makes: to end its session with a value of the agreed shape.

use protocol::{Failure, FailureClass};
use serde_json::Value;

use crate::ports::Schema;

/// How a session ended by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEnd {
    /// It yielded this value.
    Yielded(Value),
    /// It stopped without a yield.
    Silent,
    /// It could not go on.
    Failed(Failure),
}

/// What a task's yield is held against. Forgiving a fixed number of times, then final.
pub struct YieldContract {
    schema: Box<dyn Schema>,
    reminders_left: u8,
}

impl std::fmt::Debug for YieldContract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("YieldContract").field("reminders_left", &self.reminders_left).finish()
    }
}

/// What the contract makes of a session that ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The value satisfies the schema.
    Accept(Value),
    /// Ask again, with this complaint.
    Remind(String),
    /// It is over, for this reason.
    Break(Failure),
}

impl YieldContract {
    /// Returns a contract that reminds at most `reminders` times. A command cannot be reminded:
    /// its contract has none.
    #[must_use]
    pub fn new(schema: Box<dyn Schema>, reminders: u8) -> Self {
        Self { schema, reminders_left: reminders }
    }

    /// Judges how a session ended, spending one reminder if it has to complain and can.
    pub fn settle(&mut self, end: SessionEnd) -> Verdict {
        let complaint = match end {
            SessionEnd::Failed(failure) => return Verdict::Break(failure),
            SessionEnd::Silent => "it ended without a yield".to_owned(),
            SessionEnd::Yielded(value) => match self.schema.faults(&value) {
                faults if faults.is_empty() => return Verdict::Accept(value),
                faults => {
                    format!("what it yielded does not match the schema: {}", faults.join("; "))
                }
            },
        };
        match self.reminders_left.checked_sub(1) {
            Some(left) => {
                self.reminders_left = left;
                Verdict::Remind(complaint)
            }
            None => Verdict::Break(Failure::new(FailureClass::Contract, complaint)),
        }
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
        YieldContract::new(Box::new(Summary), reminders)
    }

    #[test]
    fn accepts_a_value_that_satisfies_the_schema() {
        let value = json!({ "summary": "done", "extra": 1 });
        assert_eq!(contract(0).settle(SessionEnd::Yielded(value.clone())), Verdict::Accept(value));
    }

    #[test]
    fn reminds_until_patience_is_spent() {
        let mut contract = contract(1);
        assert!(matches!(contract.settle(SessionEnd::Silent), Verdict::Remind(_)));
        let Verdict::Break(failure) = contract.settle(SessionEnd::Yielded(json!({}))) else {
            panic!("patience is spent");
        };
        assert_eq!(failure.class, FailureClass::Contract);
        assert!(failure.message.contains("/summary: is missing"), "{}", failure.message);
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
