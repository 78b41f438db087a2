//! How a task ended.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Captured, TaskName, Timestamp, Usage};

/// How a task ended. There is no fourth way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It yielded a value that satisfies its contract.
    Done {
        /// The value; null when it had nothing to say.
        #[serde(rename = "yield")]
        value: Value,
    },
    /// It could not be brought to a yield.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// Someone cancelled it.
    Cancelled,
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure, which decides what the run does about it.
    pub class: FailureClass,
    /// What a person reads.
    pub message: String,
    /// What a program reads, where the class has more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<FailureDetail>,
}

impl Failure {
    /// Returns a failure without details.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), detail: None }
    }

    /// Returns the same failure with what a program may want to know.
    #[must_use]
    pub fn with(self, detail: FailureDetail) -> Self {
        Self { detail: Some(detail), ..self }
    }
}

/// Every kind of failure there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Connection lost, server overloaded, stream silent, for longer than is retried.
    Transient,
    /// A rate limit with a far reset, or credit gone.
    Quota,
    /// The provider does not know us.
    Auth,
    /// The provider will not answer this.
    Refused,
    /// The conversation no longer fits the model.
    Overflow,
    /// The provider finds the request malformed.
    Invalid,
    /// No acceptable yield.
    Contract,
    /// The worker said that it cannot.
    GaveUp,
    /// A post-condition failed, or a claim is not in the change set.
    Proof,
    /// The same call kept failing.
    Poison,
    /// The wall clock ran out.
    Timeout,
    /// A command ended with a code or a signal.
    Command,
    /// The workspace could not be made or captured.
    Workspace,
    /// Memory, disk, processes or descriptors ran out.
    Resources,
    /// A predecessor failed, or predecessors conflict.
    Dependency,
    /// The session crashed and may not be restarted.
    Crashed,
    /// A limit of turns, tokens or money was reached.
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

/// What a program may want to know about a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FailureDetail {
    /// A command ended with this code.
    Exit {
        /// The code.
        code: i32,
    },
    /// A command was ended by this signal.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// It may work again at this time.
    Until {
        /// The time.
        at: Timestamp,
    },
    /// These tasks stand in the way.
    Tasks {
        /// Their names.
        tasks: Vec<TaskName>,
    },
}

/// What a task leaves behind, said once at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What it had changed by then; nothing if it never had a workspace.
    #[serde(flatten)]
    pub captured: Option<Captured>,
    /// How long it took, in milliseconds, from its start to its report.
    pub ms: u64,
    /// What its model used; nothing where a command did the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}
