//! The yield contract of a task: its worker has to end with a value that matches the task's schema,
//! and is reminded a limited number of times if it does not.

use std::sync::Arc;

use protocol::{AgentEnd, Failure, FailureClass};
use serde_json::Value;

use crate::ports::{CUT_LINE, Schema};
use crate::texts::counted;

/// Judges how the worker of one task ended. It counts the reminders that were sent.
pub struct YieldContract {
    schema: Arc<dyn Schema>,
    policy: ReminderPolicy,
    reminded: u8,
}

/// How many reminders a worker gets, and whether it may yield null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReminderPolicy {
    /// How many times the worker is asked again after an unacceptable end.
    pub reminders: u8,
    /// Whether null is an acceptable yield.
    pub null: NullYield,
}

impl ReminderPolicy {
    /// The policy for commands: a command that has ended cannot be asked again, and it may have no
    /// result.
    pub const COMMAND: Self = Self { reminders: 0, null: NullYield::Allowed };

    /// The policy for models: a model can be asked again, and has to yield a result.
    pub const AGENT: Self = Self { reminders: 3, null: NullYield::Refused };
}

/// Whether null is an acceptable yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullYield {
    /// Null is accepted if the schema allows it.
    Allowed,
    /// Null is never accepted.
    Refused,
}

/// The message sent to a worker whose end was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reminder {
    /// What was wrong with the end, in words for the worker.
    pub feedback: String,
    /// The number of this reminder, from 1.
    pub number: u8,
    /// The maximum number of reminders of the task.
    pub of: u8,
}

impl Reminder {
    /// Returns whether this is the last reminder.
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

/// The decision of the contract about the end of a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum ContractDecision {
    /// The task is done: the yielded value matches the schema.
    Accept(Value),
    /// The worker is asked again.
    Remind(Reminder),
    /// The task has failed.
    Fail(Failure),
}

impl YieldContract {
    /// Returns a contract that has sent no reminder yet.
    #[must_use]
    pub fn new(schema: Arc<dyn Schema>, policy: ReminderPolicy) -> Self {
        Self { schema, policy, reminded: 0 }
    }

    /// Decides how the task continues after its worker has ended. An unacceptable end uses up one
    /// reminder. If no reminder is left, the task has failed.
    pub fn judge(&mut self, end: AgentEnd) -> ContractDecision {
        let feedback = match end {
            AgentEnd::Failed(failure) => return ContractDecision::Fail(failure),
            AgentEnd::GaveUp(why) => {
                return ContractDecision::Fail(Failure::new(FailureClass::GaveUp, why));
            }
            AgentEnd::Aborted => {
                let stopped = Failure::new(FailureClass::Crashed, "its session was stopped");
                return ContractDecision::Fail(stopped);
            }
            AgentEnd::Silent(feedback) => feedback,
            AgentEnd::Yielded(Value::Null) if self.policy.null == NullYield::Refused => {
                "it yielded null, which is not a result".to_owned()
            }
            AgentEnd::Yielded(value) => match self.schema.faults(&value) {
                faults if faults.is_empty() => return ContractDecision::Accept(value),
                _ if is_cut(&value) => {
                    "the last line of its output, which it yields, is longer than 500000 bytes, so \
                     it cannot match the schema; regatta logs prints all of it, from output.log"
                        .to_owned()
                }
                faults => {
                    format!("what it yielded does not match the schema: {}", faults.join("; "))
                }
            },
        };
        if self.reminded < self.policy.reminders {
            self.reminded += 1;
            let (number, of) = (self.reminded, self.policy.reminders);
            return ContractDecision::Remind(Reminder { feedback, number, of });
        }
        let feedback = match self.reminded {
            0 => feedback,
            reminded => format!("{feedback}; it was reminded {}", counted(reminded, "time")),
        };
        ContractDecision::Fail(Failure::new(FailureClass::Contract, feedback))
    }
}

/// Returns whether a value is the beginning of a line of output that was too long.
fn is_cut(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.ends_with(CUT_LINE))
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
        let policy = ReminderPolicy { reminders, null: NullYield::Refused };
        YieldContract::new(Arc::new(Summary), policy)
    }

    #[test]
    fn accepts_a_value_that_satisfies_the_schema() {
        let value = json!({ "summary": "done", "extra": 1 });
        assert_eq!(
            contract(0).judge(AgentEnd::Yielded(value.clone())),
            ContractDecision::Accept(value)
        );
    }

    #[test]
    fn reminds_until_no_reminder_is_left() {
        let mut contract = contract(1);
        let silent = AgentEnd::Silent("it ended without a yield".to_owned());
        let ContractDecision::Remind(reminder) = contract.judge(silent) else {
            panic!("a reminder is left")
        };
        assert!(reminder.is_last());
        assert_eq!(reminder.feedback, "it ended without a yield");
        let ContractDecision::Fail(failure) = contract.judge(AgentEnd::Yielded(json!({}))) else {
            panic!("no reminder is left");
        };
        assert_eq!(failure.class, FailureClass::Contract);
        assert!(failure.message.contains("/summary: is missing"), "{}", failure.message);
    }

    #[test]
    fn null_is_no_result_of_a_model_and_may_be_one_of_a_command() {
        let nothing = || AgentEnd::Yielded(Value::Null);
        let judge = |policy| YieldContract::new(Arc::new(crate::ports::AnyValue), policy);
        assert!(matches!(
            judge(ReminderPolicy::AGENT).judge(nothing()),
            ContractDecision::Remind(_)
        ));
        assert_eq!(
            judge(ReminderPolicy::COMMAND).judge(nothing()),
            ContractDecision::Accept(Value::Null)
        );
    }

    #[test]
    fn a_line_that_was_too_long_breaks_the_contract_and_says_so() {
        let cut = Value::String(format!("{{\"summary\": \"x{CUT_LINE}"));
        let ContractDecision::Fail(failure) = contract(0).judge(AgentEnd::Yielded(cut)) else {
            panic!("a part is no object");
        };
        assert!(failure.message.contains("longer than 500000 bytes"), "{}", failure.message);
    }

    #[test]
    fn a_worker_that_cannot_go_on_is_not_reminded() {
        let failure = Failure::new(FailureClass::Command, "exit code 1");
        assert_eq!(
            contract(3).judge(AgentEnd::Failed(failure.clone())),
            ContractDecision::Fail(failure)
        );
    }

    #[test]
    fn a_session_that_gave_up_or_was_stopped_is_not_asked_again() {
        let gave_up = contract(3).judge(AgentEnd::GaveUp("no compiler".to_owned()));
        let expected = Failure::new(FailureClass::GaveUp, "no compiler");
        assert_eq!(gave_up, ContractDecision::Fail(expected));
        let stopped = Failure::new(FailureClass::Crashed, "its session was stopped");
        assert_eq!(contract(3).judge(AgentEnd::Aborted), ContractDecision::Fail(stopped));
    }
}
