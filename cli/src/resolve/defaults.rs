//! What holds where neither the command line nor a plan says anything.

use std::num::NonZeroUsize;

use config::{Setting, Settings};
use protocol::{IsolationMode, MergeMode, TaskLimits};

use crate::model::Roles;

/// What the settings say about runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// How many tasks run at the same time; without it, 32 where a model does the work of some, and
    /// as many as the machine has cores where none does.
    pub jobs: Option<NonZeroUsize>,
    /// How tasks are kept apart.
    pub isolation: IsolationMode,
    /// Where their work goes.
    pub merge: MergeMode,
    /// How much each task may use.
    pub limits: TaskLimits,
    /// What the names of branches begin with.
    pub branch_prefix: String,
    /// How many bytes of untracked files may be copied into each workspace.
    pub untracked_limit: u64,
    /// The models that have roles.
    pub roles: Roles,
    /// The names of variables that are passed on to what tasks run.
    pub pass_env: Setting<Vec<String>>,
}

impl From<&Settings> for Defaults {
    fn from(settings: &Settings) -> Self {
        Self {
            jobs: settings.max_concurrency.value,
            isolation: settings.isolation_mode.value,
            merge: settings.merge_mode.value,
            limits: settings.task_limits(),
            branch_prefix: settings.branch_prefix.value.clone(),
            untracked_limit: settings.untracked_limit.value,
            roles: Roles::from(settings),
            pass_env: settings.env_pass.clone(),
        }
    }
}
