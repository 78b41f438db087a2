//! The keys of the settings, with the environment variables that set them.

mod synonyms;

use std::fmt;

use self::synonyms::SYNONYMS;
use crate::nearest::nearest;

/// The key of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// How many tasks run at the same time.
    MaxConcurrency,
    /// The models of agents.
    AgentModels,
    /// The agents that get no tasks.
    DisabledAgents,
    /// How deep calls for subagents may be below each other.
    MaxRecursionDepth,
    /// How tasks are isolated.
    IsolationMode,
    /// How the work of tasks is merged.
    MergeMode,
    /// Who writes the subjects of commits.
    CommitStyle,
    /// The folder of the workspaces.
    IsolationDir,
    /// The total size of untracked files that may be copied.
    UntrackedLimit,
    /// The commands that set up each workspace.
    IsolationSetup,
    /// The globs of ignored files that are copied into each workspace.
    IsolationCarry,
    /// The globs of files in which the lines of both sides are kept.
    IsolationUnion,
    /// The total size of those files.
    CarryLimit,
    /// Which calls of tools are asked about.
    ApprovalMode,
    /// The rules for calls that are refused.
    ApprovalsDeny,
    /// The rules for calls that are asked about.
    ApprovalsAsk,
    /// The rules for calls that are not asked about.
    ApprovalsAllow,
    /// Which tool a model changes parts of files with.
    EditMode,
    /// Whether MCP servers of other programs' files start.
    McpForeign,
    /// The commands that get notices of questions and ends.
    Notify,
    /// How the terminal alerts the user.
    Alert,
    /// The prefix of branch names.
    BranchPrefix,
    /// The environment variables removed from tasks.
    EnvRemove,
    /// The only environment variables tasks get.
    EnvKeepOnly,
    /// The environment variables tasks get although they would be removed.
    EnvPass,
    /// How long a task may run.
    LimitWall,
    /// How much of a task's output is kept.
    LimitOutput,
    /// The maximum number of answers of a model in a task.
    LimitTurns,
    /// The maximum number of tokens a model may use.
    LimitTokens,
    /// The maximum cost of a task.
    LimitCost,
    /// The default model.
    ModelDefault,
    /// The model for small tasks.
    ModelSmol,
    /// The model for hard tasks.
    ModelSlow,
    /// The model for planning.
    ModelPlan,
    /// The prices of models.
    Prices,
    /// How many requests of one account run at the same time.
    ProviderConcurrency,
    /// Whether failed requests to a provider are retried.
    RetryEnabled,
    /// The maximum number of retries.
    RetryMaxRetries,
    /// The delay before the first retry.
    RetryBaseDelay,
    /// How long a provider may answer nothing at all.
    RetryOutage,
    /// The models that answer where another cannot be had.
    RetryFallbackChains,
    /// When a model that could not be had is asked again.
    RetryFallbackRevertPolicy,
    /// How long a quota that is used up is waited for.
    QuotaWait,
    /// Whether conversations are compacted.
    CompactionEnabled,
    /// The part of the window from which they are.
    CompactionThresholdPercent,
    /// The number of tokens from which they are.
    CompactionThresholdTokens,
    /// The tokens of the window that stay free.
    CompactionReserve,
    /// The tokens of the newest messages that are kept.
    CompactionKeepRecent,
    /// Whether a branch that a session leaves is summed up.
    BranchSummaryEnabled,
    /// The tokens of the window that stay free when a branch is summed up.
    BranchSummaryReserve,
    /// Whether images of prompts are made smaller that are too large.
    ImagesAutoResize,
    /// Whether each message of a session is durable before the session goes on.
    SessionsDurable,
    /// How long a provider may take until it begins to answer.
    StreamFirstEventTimeout,
    /// How long a provider may pause in an answer.
    StreamIdleTimeout,
    /// The age from which work that needs not be kept is removed.
    RetentionOlderThan,
    /// The size down to which such work is removed.
    RetentionKeepSize,
}

/// Another environment variable for the same setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alias {
    /// The variable takes the same values.
    Same(&'static str),
    /// The variable takes a number of milliseconds.
    Milliseconds(&'static str),
}

impl Key {
    /// Every key, in the order of the defaults file.
    pub const ALL: [Self; 56] = [
        Self::MaxConcurrency,
        Self::AgentModels,
        Self::DisabledAgents,
        Self::MaxRecursionDepth,
        Self::IsolationMode,
        Self::MergeMode,
        Self::CommitStyle,
        Self::IsolationDir,
        Self::UntrackedLimit,
        Self::IsolationSetup,
        Self::IsolationCarry,
        Self::CarryLimit,
        Self::IsolationUnion,
        Self::ApprovalMode,
        Self::ApprovalsDeny,
        Self::ApprovalsAsk,
        Self::ApprovalsAllow,
        Self::EditMode,
        Self::McpForeign,
        Self::Notify,
        Self::Alert,
        Self::BranchPrefix,
        Self::EnvRemove,
        Self::EnvKeepOnly,
        Self::EnvPass,
        Self::LimitWall,
        Self::LimitOutput,
        Self::LimitTurns,
        Self::LimitTokens,
        Self::LimitCost,
        Self::ModelDefault,
        Self::ModelSmol,
        Self::ModelSlow,
        Self::ModelPlan,
        Self::Prices,
        Self::ProviderConcurrency,
        Self::RetryEnabled,
        Self::RetryMaxRetries,
        Self::RetryBaseDelay,
        Self::RetryOutage,
        Self::RetryFallbackChains,
        Self::RetryFallbackRevertPolicy,
        Self::QuotaWait,
        Self::CompactionEnabled,
        Self::CompactionThresholdPercent,
        Self::CompactionThresholdTokens,
        Self::CompactionReserve,
        Self::CompactionKeepRecent,
        Self::BranchSummaryEnabled,
        Self::BranchSummaryReserve,
        Self::ImagesAutoResize,
        Self::SessionsDurable,
        Self::StreamFirstEventTimeout,
        Self::StreamIdleTimeout,
        Self::RetentionOlderThan,
        Self::RetentionKeepSize,
    ];

    /// Returns the key as text: its names in a settings file, from the top level, joined by dots.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxConcurrency => "task.maxConcurrency",
            Self::AgentModels => "task.agentModelOverrides",
            Self::DisabledAgents => "task.disabledAgents",
            Self::MaxRecursionDepth => "task.maxRecursionDepth",
            Self::IsolationMode => "task.isolation.mode",
            Self::MergeMode => "task.isolation.merge",
            Self::CommitStyle => "task.isolation.commits",
            Self::IsolationDir => "isolation.dir",
            Self::UntrackedLimit => "isolation.untrackedLimit",
            Self::IsolationSetup => "isolation.setup",
            Self::IsolationCarry => "isolation.carry",
            Self::CarryLimit => "isolation.carryLimit",
            Self::IsolationUnion => "isolation.union",
            Self::ApprovalMode => "approvals.mode",
            Self::EditMode => "edit.mode",
            Self::McpForeign => "mcp.foreign",
            Self::ApprovalsDeny => "approvals.deny",
            Self::ApprovalsAsk => "approvals.ask",
            Self::ApprovalsAllow => "approvals.allow",
            Self::Notify => "notify",
            Self::Alert => "terminal.alert",
            Self::BranchPrefix => "branch.prefix",
            Self::EnvRemove => "env.remove",
            Self::EnvKeepOnly => "env.keep_only",
            Self::EnvPass => "env.pass",
            Self::LimitWall => "limits.wall",
            Self::LimitOutput => "limits.output",
            Self::LimitTurns => "limits.turns",
            Self::LimitTokens => "limits.tokens",
            Self::LimitCost => "limits.cost",
            Self::ModelDefault => "modelRoles.default",
            Self::ModelSmol => "modelRoles.smol",
            Self::ModelSlow => "modelRoles.slow",
            Self::ModelPlan => "modelRoles.plan",
            Self::Prices => "prices",
            Self::ProviderConcurrency => "provider.maxConcurrency",
            Self::RetryEnabled => "retry.enabled",
            Self::RetryMaxRetries => "retry.maxRetries",
            Self::RetryBaseDelay => "retry.baseDelayMs",
            Self::RetryOutage => "retry.outage",
            Self::RetryFallbackChains => "retry.fallbackChains",
            Self::RetryFallbackRevertPolicy => "retry.fallbackRevertPolicy",
            Self::QuotaWait => "quota.wait",
            Self::CompactionEnabled => "compaction.enabled",
            Self::CompactionThresholdPercent => "compaction.thresholdPercent",
            Self::CompactionThresholdTokens => "compaction.thresholdTokens",
            Self::CompactionReserve => "compaction.reserveTokens",
            Self::CompactionKeepRecent => "compaction.keepRecentTokens",
            Self::BranchSummaryEnabled => "branchSummary.enabled",
            Self::BranchSummaryReserve => "branchSummary.reserveTokens",
            Self::ImagesAutoResize => "images.autoResize",
            Self::SessionsDurable => "sessions.durable",
            Self::StreamFirstEventTimeout => "stream.firstEventTimeout",
            Self::StreamIdleTimeout => "stream.idleTimeout",
            Self::RetentionOlderThan => "retention.olderThan",
            Self::RetentionKeepSize => "retention.keepSize",
        }
    }

    /// Returns the environment variable of the setting: `task.maxConcurrency` is
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

    /// Returns the other environment variables of the setting, in order of precedence.
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
            | Self::AgentModels
            | Self::DisabledAgents
            | Self::MaxRecursionDepth
            | Self::IsolationMode
            | Self::MergeMode
            | Self::CommitStyle
            | Self::IsolationDir
            | Self::UntrackedLimit
            | Self::IsolationSetup
            | Self::IsolationCarry
            | Self::CarryLimit
            | Self::IsolationUnion
            | Self::ApprovalMode
            | Self::ApprovalsDeny
            | Self::ApprovalsAsk
            | Self::ApprovalsAllow
            | Self::EditMode
            | Self::McpForeign
            | Self::Notify
            | Self::Alert
            | Self::BranchPrefix
            | Self::EnvRemove
            | Self::EnvKeepOnly
            | Self::EnvPass
            | Self::LimitWall
            | Self::LimitOutput
            | Self::LimitTurns
            | Self::LimitTokens
            | Self::LimitCost
            | Self::Prices
            | Self::ProviderConcurrency
            | Self::RetryEnabled
            | Self::RetryMaxRetries
            | Self::RetryBaseDelay
            | Self::RetryOutage
            | Self::RetryFallbackChains
            | Self::RetryFallbackRevertPolicy
            | Self::QuotaWait
            | Self::CompactionEnabled
            | Self::CompactionThresholdPercent
            | Self::CompactionThresholdTokens
            | Self::CompactionReserve
            | Self::CompactionKeepRecent
            | Self::BranchSummaryEnabled
            | Self::BranchSummaryReserve
            | Self::ImagesAutoResize
            | Self::SessionsDurable
            | Self::RetentionOlderThan
            | Self::RetentionKeepSize => &[],
        }
    }

    /// Finds the key with this text.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.as_str() == text)
    }

    /// Returns the key that `text` may be meant for, or the group of keys: the only key that ends
    /// with `text`, or the most similar one, or the only key with the same last part.
    #[must_use]
    pub fn nearest(text: &str) -> Option<&'static str> {
        let is_synonym = |(other, _): &(&str, _)| other.eq_ignore_ascii_case(text);
        if let Some((_, key)) = SYNONYMS.into_iter().find(is_synonym) {
            return Some(key);
        }
        let keys = || Self::ALL.map(Self::as_str);
        let groups = || {
            let ends = |key: &'static str| key.match_indices('.').map(move |(end, _)| &key[..end]);
            keys().into_iter().flat_map(ends)
        };
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_lowercase();
        let namesake = || {
            let mut same = keys().into_iter().filter(|key| last(key) == last(text));
            same.next().filter(|_| same.next().is_none())
        };
        let end = format!(".{text}");
        let mut longer = keys().into_iter().filter(|key| key.ends_with(&end));
        let longer = longer.next().filter(|_| longer.next().is_none());
        let similar = || nearest(text, keys()).or_else(|| nearest(text, groups()));
        longer.or_else(similar).or_else(namesake)
    }

    /// Returns whether `path` is the key of a group of settings, such as `task.isolation`.
    pub(crate) fn is_group(path: &str) -> bool {
        let below = |key: Self| key.as_str().strip_prefix(path).is_some_and(|k| k.starts_with('.'));
        Self::ALL.into_iter().any(below)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests;
