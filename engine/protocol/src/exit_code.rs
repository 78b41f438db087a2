//! The exit codes of the program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An exit code. The numbers are a public interface: scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "u8", try_from = "u8")]
pub enum ExitCode {
    /// All work was done and landed.
    Success,
    /// Nothing was started.
    NotStarted,
    /// Some tasks failed; the work of the others has landed.
    Partial,
    /// Every task has finished, but some work is kept instead of landed.
    Kept,
    /// No task succeeded.
    NoSuccess,
    /// A budget or a quota stopped the run.
    Exhausted,
    /// A bug in the engine.
    Bug,
    /// The run was cancelled with Ctrl-C.
    Interrupted,
    /// The run was cancelled with SIGTERM, or because standard output could not be written.
    Terminated,
}

impl ExitCode {
    /// All exit codes, sorted by number.
    pub const ALL: [Self; 9] = [
        Self::Success,
        Self::NotStarted,
        Self::Partial,
        Self::Kept,
        Self::NoSuccess,
        Self::Exhausted,
        Self::Bug,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// Returns a description in one line.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "every task is done and has landed",
            Self::NotStarted => "nothing was started: usage, settings, repository or machine",
            Self::Partial => "some tasks failed; what succeeded has landed",
            Self::Kept => "every task finished; some work did not land and is kept",
            Self::NoSuccess => "no task succeeded",
            Self::Exhausted => "stopped by a budget or a quota",
            Self::Bug => "a bug in Regatta; the message names the report",
            Self::Interrupted => "cancelled by Ctrl-C; work so far is captured",
            Self::Terminated => "cancelled by SIGTERM or a closed output; work so far is captured",
        }
    }
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> Self {
        match code {
            ExitCode::Success => 0,
            ExitCode::NotStarted => 1,
            ExitCode::Partial => 3,
            ExitCode::Kept => 4,
            ExitCode::NoSuccess => 5,
            ExitCode::Exhausted => 6,
            ExitCode::Bug => 70,
            ExitCode::Interrupted => 130,
            ExitCode::Terminated => 143,
        }
    }
}

impl TryFrom<u8> for ExitCode {
    type Error = String;

    fn try_from(code: u8) -> Result<Self, Self::Error> {
        let known = Self::ALL.into_iter().find(|known| u8::from(*known) == code);
        known.ok_or_else(|| format!("{code} is not an exit code of Regatta"))
    }
}
