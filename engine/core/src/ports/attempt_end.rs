//! How an attempt at a task ended, for whoever reads its capture alone.

use std::fmt;

use protocol::{FailureClass, Outcome, Usage};

/// How an attempt ended and what its model used, as far as it is known when its work is captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptEnd {
    /// The outcome if the task has changed something.
    pub changed: AttemptOutcome,
    /// The outcome if it has changed nothing.
    pub unchanged: AttemptOutcome,
    /// What its model used.
    pub model: ModelWork,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// It succeeded.
    Done,
    /// It failed.
    Failed(FailureClass),
    /// It was cancelled.
    Cancelled,
    /// Its engine or its actor died before it ended.
    #[default]
    Interrupted,
}

/// What the model of an attempt used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelWork {
    /// It had no model.
    None,
    /// It had one.
    Used {
        /// The number of its turns; `None` if another program does not report them.
        turns: Option<u64>,
        /// Its tokens and their cost; `None` if another program does not report them.
        usage: Option<Usage>,
    },
    /// It is not known.
    #[default]
    Unknown,
}

impl From<&Outcome> for AttemptOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done { .. } => Self::Done,
            Outcome::Failed { failure } => Self::Failed(failure.class),
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}

impl fmt::Display for AttemptOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Failed(class) => write!(f, "failed: {class}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
