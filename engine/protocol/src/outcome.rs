//! The outcome of a task, and the classes of failures.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Captured, ReachedLimit, TaskName, TaskTimings, Timestamp, Usage};

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The task yielded a value that was accepted.
    Done {
        /// The value; null if a command had no result.
        #[serde(rename = "yield", default)]
        value: Value,
    },
    /// The task failed.
    Failed {
        /// The failure.
        failure: Failure,
    },
    /// The task was cancelled.
    Cancelled,
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The class of the failure.
    pub class: FailureClass,
    /// A message for people.
    pub message: String,
    /// Structured details for other programs, if the class has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<FailureDetail>,
    /// What the message says to try. It is known only where the failure was made: nothing else tells it
    /// from what a server has said.
    #[serde(skip)]
    pub advice: Option<Box<str>>,
}

impl Failure {
    /// Returns a failure without details.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), detail: None, advice: None }
    }

    /// Returns whether the failure holds for all requests to the account of the model.
    #[must_use]
    pub fn is_of_account(&self) -> bool {
        matches!(self.class, FailureClass::Auth | FailureClass::Quota)
            || matches!(self.detail, Some(FailureDetail::Outage { .. }))
    }

    /// Returns whether the failure holds for every model of the account, not only for the one that
    /// was asked: another model may be free, or allowed where this one is not.
    #[must_use]
    pub fn is_of_every_model(&self) -> bool {
        matches!(self.detail, Some(FailureDetail::Outage { .. } | FailureDetail::UnknownKey))
    }

    /// Returns the failure with this detail.
    #[must_use]
    pub fn with(self, detail: FailureDetail) -> Self {
        Self { detail: Some(detail), ..self }
    }

    /// Returns the failure with something to try, which its message says last. `advice` has no words of
    /// others in it.
    #[must_use]
    pub fn advise(self, advice: impl Into<Box<str>>) -> Self {
        let advice = advice.into();
        Self { message: format!("{}; {advice}", self.message), advice: Some(advice), ..self }
    }

    /// Returns the message without what it says to try.
    #[must_use]
    pub fn cause(&self) -> String {
        match &self.advice {
            Some(advice) => self.message.replacen(&format!("; {advice}"), "", 1),
            None => self.message.clone(),
        }
    }
}

/// The class of a failure.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The connection was lost, the server was overloaded or the stream was silent, and retries did
    /// not help.
    Transient,
    /// The account has no credit left, or has reached a rate limit that is reset much later.
    Quota,
    /// The provider did not accept the API key, or does not allow it to ask for this.
    Auth,
    /// The provider refused to answer this request.
    Refused,
    /// The conversation does not fit the context window of the model.
    Overflow,
    /// The request was invalid.
    Invalid,
    /// The task did not yield an acceptable value.
    Contract,
    /// The worker said that it cannot do the task.
    GaveUp,
    /// A check after the task failed, or a claim of the worker does not match its changes.
    Proof,
    /// The worker repeated the same failing tool call.
    Poison,
    /// The task reached its wall-clock limit.
    Timeout,
    /// A command ended with an exit code other than 0, or by a signal.
    Command,
    /// The workspace could not be prepared or captured.
    Workspace,
    /// Memory, disk, processes or file descriptors ran out.
    Resources,
    /// A predecessor of the task did not succeed, or the work of several predecessors conflicts.
    Dependency,
    /// The worker crashed and was not restarted.
    Crashed,
    /// The task reached a limit of turns, tokens or money.
    Budget,
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Transient => "transient",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::Refused => "refused",
            Self::Overflow => "overflow",
            Self::Invalid => "invalid",
            Self::Contract => "contract",
            Self::GaveUp => "gave_up",
            Self::Proof => "proof",
            Self::Poison => "poison",
            Self::Timeout => "timeout",
            Self::Command => "command",
            Self::Workspace => "workspace",
            Self::Resources => "resources",
            Self::Dependency => "dependency",
            Self::Crashed => "crashed",
            Self::Budget => "budget",
        })
    }
}

/// Structured details of a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FailureDetail {
    /// The exit code of a command.
    Exit {
        /// The exit code.
        code: i32,
    },
    /// The signal that ended a command.
    Signal {
        /// The number of the signal.
        signal: i32,
    },
    /// The time at which a retry may succeed.
    Until {
        /// The time.
        at: Timestamp,
    },
    /// The account of the model has answered nothing for too long.
    Outage {
        /// For how long.
        seconds: u64,
    },
    /// The provider does not accept the key, whichever model is asked.
    UnknownKey,
    /// The limit of the task that was reached.
    Limit(ReachedLimit),
    /// The tasks that caused the failure.
    Tasks {
        /// The names of the tasks.
        tasks: Vec<TaskName>,
    },
}

/// What one model has used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUse {
    /// `PROVIDER/ID`.
    pub model: String,
    /// Its tokens and their cost.
    pub usage: Usage,
}

/// The final report of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// How the task ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The work of the task; absent if nothing was captured.
    #[serde(flatten)]
    pub captured: Option<Captured>,
    /// The time from the start of the task to its report, in milliseconds.
    pub ms: u64,
    /// The part of it that the set-up of its workspace took; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_ms: Option<u64>,
    /// The tokens and money that its model used; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The models that have answered in place of the task's own, in the order of their first answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelUse>,
    /// The turns of its model that have ended; absent for a command, for another program, and in
    /// ledgers that were written before turns were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The limit that its model had reached when it was done all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached_limit: Option<ReachedLimit>,
    /// The calls of its model that were refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_calls: u64,
    /// How long the phases of the task took; absent if it was not started, and in ledgers that were
    /// written before phases were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timings: Option<Box<TaskTimings>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TaskReport {
    /// Returns the report of a task that ended so before it did anything.
    #[must_use]
    pub fn unstarted(outcome: Outcome) -> Self {
        Self {
            outcome,
            captured: None,
            ms: 0,
            setup_ms: None,
            usage: None,
            fallbacks: Vec::new(),
            turns: None,
            reached_limit: None,
            refused_calls: 0,
            timings: None,
        }
    }
}
