//! Verification: commands that must succeed in the merged result of a run before it lands.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TaskName;

/// How the work of a run is verified before it lands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifySpec {
    /// The shell scripts that must all succeed in the merged result, in order; none if the work is
    /// not verified.
    pub commands: Vec<String>,
    /// The maximum wall-clock time of one verification: of all its commands together.
    pub limit: Duration,
    /// What becomes of the work if the commands already fail without it.
    pub failing_start: FailingStart,
}

/// The limit of one verification if none is given.
const LIMIT: Duration = Duration::from_secs(30 * 60);

impl Default for VerifySpec {
    fn default() -> Self {
        Self { commands: Vec::new(), limit: LIMIT, failing_start: FailingStart::default() }
    }
}

impl VerifySpec {
    /// Returns whether nothing is verified.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.commands.is_empty()
    }
}

/// What becomes of the work of a run if the verification fails without any of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailingStart {
    /// Nothing lands, and everything is kept.
    #[default]
    Keep,
    /// It lands without having been verified.
    Land,
}

/// Why the work of a task was kept instead of landing unverified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unverified {
    /// What is to blame.
    pub cause: UnverifiedCause,
    /// The tasks whose work must be there as well for the verification to fail; none if the work of
    /// the task fails alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<TaskName>,
    /// Whether the work of further tasks may have to be there as well.
    #[serde(default, skip_serializing_if = "Partners::are_all")]
    pub partners: Partners,
    /// How the verification ended, in one line.
    pub message: String,
    /// The path of the file with the output of the command that failed, if one was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The end of that output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end: String,
}

/// Whether all tasks are known whose work makes a verification fail only together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Partners {
    /// All of them are named.
    #[default]
    All,
    /// There are others.
    More,
    /// There may be others.
    Unknown,
}

impl Partners {
    /// Returns whether all of them are named.
    #[must_use]
    pub fn are_all(&self) -> bool {
        *self == Self::All
    }

    /// Returns what follows the names.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::All => "",
            Self::More => " and others",
            Self::Unknown => " and perhaps others",
        }
    }
}

/// What is to blame for a verification that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnverifiedCause {
    /// The work of the task.
    Work,
    /// The state in which the run began: the verification fails without the work of any task.
    Start,
    /// The verification itself, which could not be carried out.
    Verification,
}

impl Unverified {
    /// Returns the reason in one line.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { cause, with, partners, message, .. } = self;
        match (cause, with.as_slice()) {
            (UnverifiedCause::Work, []) => message.clone(),
            (UnverifiedCause::Work, with) => {
                let with: Vec<_> = with.iter().map(TaskName::as_str).collect();
                format!("with {}{}: {message}", with.join(", "), partners.text())
            }
            (UnverifiedCause::Start, _) => {
                format!("the verification fails without the work of any task: {message}")
            }
            (UnverifiedCause::Verification, _) => format!("it could not be verified: {message}"),
        }
    }
}

/// The verifications before one landing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationTotals {
    /// How many there were.
    pub verifications: usize,
    /// How long all of them took, in milliseconds, with the set-up of their workspace.
    pub ms: u64,
    /// The number of tasks whose work does not land because of them; 0 in ledgers that were written
    /// before these were counted.
    #[serde(default)]
    pub held: usize,
}
