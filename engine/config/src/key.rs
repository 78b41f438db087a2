//! The names of the settings.

use std::fmt;

use crate::nearest::nearest;

/// Every setting there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// How many tasks run at the same time.
    MaxConcurrency,
    /// How tasks are kept apart.
    IsolationMode,
    /// Where their work goes.
    MergeMode,
    /// The folder of the workspaces.
    IsolationDir,
    /// How large untracked files may be together.
    UntrackedLimit,
    /// What the names of branches begin with.
    BranchPrefix,
    /// Which variables tasks do not get.
    EnvRemove,
    /// Which variables alone tasks get.
    EnvKeepOnly,
    /// Which variables tasks get in spite of that.
    EnvPass,
    /// How long a task may run.
    LimitWall,
    /// How much of a task's output is kept.
    LimitOutput,
    /// How often a model may answer.
    LimitTurns,
    /// How many tokens a model may use.
    LimitTokens,
    /// The model where none is named.
    ModelDefault,
    /// The model for small things.
    ModelSmol,
    /// The model for hard things.
    ModelSlow,
    /// The model that plans.
    ModelPlan,
    /// What models cost.
    Prices,
    /// How many requests of one account run at the same time.
    ProviderConcurrency,
    /// Whether a provider is asked again.
    RetryEnabled,
    /// How often it is.
    RetryMaxRetries,
    /// How long it is left alone before.
    RetryBaseDelay,
    /// How long a provider may think.
    StreamFirstEventTimeout,
    /// How long a provider may pause.
    StreamIdleTimeout,
}

/// A variable of another name that sets the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alias {
    /// It takes the same values.
    Same(&'static str),
    /// It takes a number of milliseconds.
    Milliseconds(&'static str),
}

impl Key {
    /// Every key, in the order of the defaults file.
    pub const ALL: [Self; 24] = [
        Self::MaxConcurrency,
        Self::IsolationMode,
        Self::MergeMode,
        Self::IsolationDir,
        Self::UntrackedLimit,
        Self::BranchPrefix,
        Self::EnvRemove,
        Self::EnvKeepOnly,
        Self::EnvPass,
        Self::LimitWall,
        Self::LimitOutput,
        Self::LimitTurns,
        Self::LimitTokens,
        Self::ModelDefault,
        Self::ModelSmol,
        Self::ModelSlow,
        Self::ModelPlan,
        Self::Prices,
        Self::ProviderConcurrency,
        Self::RetryEnabled,
        Self::RetryMaxRetries,
        Self::RetryBaseDelay,
        Self::StreamFirstEventTimeout,
        Self::StreamIdleTimeout,
    ];

    /// Returns the key as a settings file has it: names joined by dots.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxConcurrency => "task.maxConcurrency",
            Self::IsolationMode => "task.isolation.mode",
            Self::MergeMode => "task.isolation.merge",
            Self::IsolationDir => "isolation.dir",
            Self::UntrackedLimit => "isolation.untrackedLimit",
            Self::BranchPrefix => "branch.prefix",
            Self::EnvRemove => "env.remove",
            Self::EnvKeepOnly => "env.keep_only",
            Self::EnvPass => "env.pass",
            Self::LimitWall => "limits.wall",
            Self::LimitOutput => "limits.output",
            Self::LimitTurns => "limits.turns",
            Self::LimitTokens => "limits.tokens",
            Self::ModelDefault => "modelRoles.default",
            Self::ModelSmol => "modelRoles.smol",
            Self::ModelSlow => "modelRoles.slow",
            Self::ModelPlan => "modelRoles.plan",
            Self::Prices => "prices",
            Self::ProviderConcurrency => "provider.maxConcurrency",
            Self::RetryEnabled => "retry.enabled",
            Self::RetryMaxRetries => "retry.maxRetries",
            Self::RetryBaseDelay => "retry.baseDelayMs",
            Self::StreamFirstEventTimeout => "stream.firstEventTimeout",
            Self::StreamIdleTimeout => "stream.idleTimeout",
        }
    }

    /// Returns the environment variable that sets it: `task.maxConcurrency` is
    /// `REGATTA_TASK_MAX_CONCURRENCY`.
    #[must_use]
    pub fn variable(self) -> String {
        let mut variable = String::from("REGATTA_");
        for letter in self.as_str().chars() {
            match letter {
                '.' => variable.push('_'),
                upper if upper.is_ascii_uppercase() => variable.extend(['_', upper]),
                other => variable.push(other.to_ascii_uppercase()),
            }
        }
        variable
    }

    /// Returns the other variables that set it, the one that goes before the others first.
    pub(crate) fn aliases(self) -> &'static [Alias] {
        use Alias::{Milliseconds, Same};
        match self {
            Self::ModelDefault => &[Same("REGATTA_MODEL")],
            Self::ModelSmol => &[Same("REGATTA_SMOL_MODEL"), Same("PI_SMOL_MODEL")],
            Self::ModelSlow => &[Same("REGATTA_SLOW_MODEL"), Same("PI_SLOW_MODEL")],
            Self::ModelPlan => &[Same("REGATTA_PLAN_MODEL"), Same("PI_PLAN_MODEL")],
            Self::StreamFirstEventTimeout => &[
                Milliseconds("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS"),
                Milliseconds("PI_STREAM_FIRST_EVENT_TIMEOUT_MS"),
            ],
            Self::StreamIdleTimeout => &[
                Milliseconds("REGATTA_STREAM_IDLE_TIMEOUT_MS"),
                Milliseconds("PI_STREAM_IDLE_TIMEOUT_MS"),
            ],
            Self::MaxConcurrency
            | Self::IsolationMode
            | Self::MergeMode
            | Self::IsolationDir
            | Self::UntrackedLimit
            | Self::BranchPrefix
            | Self::EnvRemove
            | Self::EnvKeepOnly
            | Self::EnvPass
            | Self::LimitWall
            | Self::LimitOutput
            | Self::LimitTurns
            | Self::LimitTokens
            | Self::Prices
            | Self::ProviderConcurrency
            | Self::RetryEnabled
            | Self::RetryMaxRetries
            | Self::RetryBaseDelay => &[],
        }
    }

    /// Returns the key that is written like this.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.as_str() == text)
    }

    /// Returns the key that `text` is most like, if it is like one.
    #[must_use]
    pub fn nearest(text: &str) -> Option<Self> {
        nearest(text, Self::ALL.map(Self::as_str)).and_then(Self::find)
    }

    /// Returns whether some key lies below `path`.
    pub(crate) fn is_folder(path: &str) -> bool {
        let below = |key: Self| key.as_str().strip_prefix(path).is_some_and(|k| k.starts_with('.'));
        Self::ALL.into_iter().any(below)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
