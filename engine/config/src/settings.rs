//! Every setting, with its type and its origin.

mod load;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{
    ApprovalMode, ApprovalRule, Approvals, CommitStyle, Cost, EditMode, IsolationMode, MergeMode,
    TaskLimits,
};

pub(crate) use self::load::{DEFAULTS, Values, check_layer};
pub use self::load::{Flag, LoadedSettings, Sources};
use crate::agent_models::AgentModels;
use crate::alert::Alert;
use crate::error::{Origin, Setting, SettingsError};
use crate::fallback_chains::{FallbackChains, RevertPolicy};
use crate::key::Key;
use crate::prices::ModelPrice;
use crate::value::{Expected, RawValue};

/// Every setting, with the origin of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many tasks run at the same time; `None` for a number that suits the work.
    pub max_concurrency: Setting<Option<NonZeroUsize>>,
    /// The models of agents, which take precedence over those of their files.
    pub agent_models: Setting<AgentModels>,
    /// The agents that get no tasks.
    pub disabled_agents: Setting<Vec<String>>,
    /// How deep calls for subagents may be below each other; at 0 there are none.
    pub max_recursion_depth: Setting<u32>,
    /// How tasks are isolated.
    pub isolation_mode: Setting<IsolationMode>,
    /// How the work of tasks is merged.
    pub merge_mode: Setting<MergeMode>,
    /// Who writes the subjects of commits.
    pub commit_style: Setting<CommitStyle>,
    /// The folder of the workspaces; `None` for the default.
    pub isolation_dir: Setting<Option<PathBuf>>,
    /// How many bytes of untracked files may be copied into each workspace.
    pub untracked_limit: Setting<u64>,
    /// The commands that set up each workspace.
    pub isolation_setup: Setting<Vec<String>>,
    /// The globs of ignored files that are copied into each workspace.
    pub isolation_carry: Setting<Vec<String>>,
    /// How many bytes of these files may be copied into each workspace.
    pub carry_limit: Setting<u64>,
    /// The globs of files in which the lines of both sides are kept.
    pub isolation_union: Setting<Vec<String>>,
    /// Which calls of tools are asked about; `None` for what is usual where the work is done.
    pub approval_mode: Setting<Option<ApprovalMode>>,
    /// The rules for calls that are refused.
    pub approvals_deny: Vec<Setting<ApprovalRule>>,
    /// The rules for calls that are asked about.
    pub approvals_ask: Vec<Setting<ApprovalRule>>,
    /// The rules for calls that are not asked about.
    pub approvals_allow: Vec<Setting<ApprovalRule>>,
    /// Which tool a model changes parts of files with.
    pub edit_mode: Setting<EditMode>,
    /// Whether MCP servers of other programs' files start.
    pub mcp_foreign: Setting<bool>,
    /// The commands that get notices of questions, and of the ends of runs and turns.
    pub notify: Setting<Vec<String>>,
    /// How the terminal alerts the user of the same.
    pub alert: Setting<Alert>,
    /// The prefix of branch names.
    pub branch_prefix: Setting<String>,
    /// The environment variables removed from tasks.
    pub env_remove: Setting<Vec<String>>,
    /// The only environment variables tasks get; `None` for all but the removed ones.
    pub env_keep_only: Setting<Option<Vec<String>>>,
    /// The environment variables tasks get although they would be removed.
    pub env_pass: Setting<Vec<String>>,
    /// How long a task may run.
    pub limit_wall: Setting<Duration>,
    /// How many bytes of a task's output are kept.
    pub limit_output: Setting<u64>,
    /// The maximum number of answers of a model in a task.
    pub limit_turns: Setting<NonZeroU32>,
    /// The maximum number of tokens a model may use; `None` for no limit.
    pub limit_tokens: Setting<Option<NonZeroU64>>,
    /// The maximum cost of a task; `None` for no limit.
    pub limit_cost: Setting<Option<Cost>>,
    /// The default model.
    pub model_default: Setting<Option<String>>,
    /// The model for small tasks.
    pub model_smol: Setting<Option<String>>,
    /// The model for hard tasks.
    pub model_slow: Setting<Option<String>>,
    /// The model for planning.
    pub model_plan: Setting<Option<String>>,
    /// The prices of models, by `PROVIDER/ID`.
    pub prices: Setting<BTreeMap<String, ModelPrice>>,
    /// How many requests of one account run at the same time; `None` for no limit.
    pub provider_concurrency: Setting<Option<NonZeroUsize>>,
    /// Whether failed requests to a provider are retried.
    pub retry_enabled: Setting<bool>,
    /// The maximum number of retries.
    pub retry_max_retries: Setting<u32>,
    /// The delay before the first retry; it doubles with each further one.
    pub retry_base_delay: Setting<Duration>,
    /// How long a provider may answer nothing at all; zero for no limit.
    pub retry_outage: Setting<Duration>,
    /// The models that answer where another cannot be had.
    pub retry_fallback_chains: Setting<FallbackChains>,
    /// When a model that could not be had is asked again.
    pub retry_fallback_revert_policy: Setting<RevertPolicy>,
    /// How long a quota that is used up is waited for.
    pub quota_wait: Setting<Duration>,
    /// Whether conversations are compacted.
    pub compaction_enabled: Setting<bool>,
    /// The part of the window from which they are, in percent; `None` for what the reserve leaves.
    pub compaction_threshold_percent: Setting<Option<u8>>,
    /// The number of tokens from which they are; it goes before the part of the window.
    pub compaction_threshold_tokens: Setting<Option<NonZeroU64>>,
    /// The tokens of the window that stay free.
    pub compaction_reserve: Setting<NonZeroU64>,
    /// The tokens of the newest messages that are kept.
    pub compaction_keep_recent: Setting<NonZeroU64>,
    /// Whether a branch that a session leaves is summed up.
    pub branch_summary_enabled: Setting<bool>,
    /// How many tokens of the window stay free when a branch is summed up.
    pub branch_summary_reserve: Setting<NonZeroU64>,
    /// Whether images of prompts are made smaller that are too large.
    pub images_auto_resize: Setting<bool>,
    /// Whether each message of a session is durable before the session goes on.
    pub sessions_durable: Setting<bool>,
    /// How long a provider may take until it begins to answer; zero for no limit.
    pub stream_first_event_timeout: Setting<Duration>,
    /// How long a provider may pause in an answer; zero for no limit.
    pub stream_idle_timeout: Setting<Duration>,
    /// The age from which `regatta gc` removes work that needs not be kept.
    pub retention_older_than: Setting<Duration>,
    /// The size down to which `regatta gc` removes such work; `None` for no limit.
    pub retention_keep_size: Setting<Option<u64>>,
}

impl Settings {
    /// Returns the limits of a task that sets no limits itself.
    #[must_use]
    pub fn task_limits(&self) -> TaskLimits {
        TaskLimits {
            wall: self.limit_wall.value,
            output: self.limit_output.value,
            turns: self.limit_turns.value,
            tokens: self.limit_tokens.value.map(NonZeroU64::get),
            cost: self.limit_cost.value,
        }
    }

    /// Returns which calls of tools are asked about, refused or allowed; `mode` of the command line takes
    /// precedence. Where no mode is set, it depends on where the work is done.
    #[must_use]
    pub fn approvals(&self, mode: Option<ApprovalMode>) -> Approvals {
        let values =
            |rules: &[Setting<ApprovalRule>]| rules.iter().map(|rule| rule.value.clone()).collect();
        Approvals {
            mode: mode.or(self.approval_mode.value),
            deny: values(&self.approvals_deny),
            ask: values(&self.approvals_ask),
            allow: values(&self.approvals_allow),
        }
    }

    fn from_values(values: &Values, home: Option<&Path>) -> Result<Self, SettingsError> {
        Ok(Self {
            max_concurrency: optional(values, Key::MaxConcurrency, RawValue::count)?,
            agent_models: required(values, Key::AgentModels, RawValue::agent_models)?,
            disabled_agents: required(values, Key::DisabledAgents, RawValue::agent_names)?,
            max_recursion_depth: required(values, Key::MaxRecursionDepth, RawValue::depth)?,
            isolation_mode: required(values, Key::IsolationMode, RawValue::isolation)?,
            merge_mode: required(values, Key::MergeMode, RawValue::merge)?,
            commit_style: required(values, Key::CommitStyle, RawValue::commit_style)?,
            isolation_dir: optional(values, Key::IsolationDir, |given| given.folder(home))?,
            untracked_limit: required(values, Key::UntrackedLimit, RawValue::size)?,
            isolation_setup: required(values, Key::IsolationSetup, RawValue::commands)?,
            isolation_carry: required(values, Key::IsolationCarry, RawValue::globs)?,
            carry_limit: required(values, Key::CarryLimit, RawValue::size)?,
            isolation_union: required(values, Key::IsolationUnion, RawValue::globs)?,
            approval_mode: optional(values, Key::ApprovalMode, RawValue::approval_mode)?,
            approvals_deny: rules(values, Key::ApprovalsDeny)?,
            approvals_ask: rules(values, Key::ApprovalsAsk)?,
            approvals_allow: rules(values, Key::ApprovalsAllow)?,
            edit_mode: required(values, Key::EditMode, RawValue::edit_mode)?,
            mcp_foreign: required(values, Key::McpForeign, RawValue::switch)?,
            notify: required(values, Key::Notify, RawValue::commands)?,
            alert: required(values, Key::Alert, RawValue::alert)?,
            branch_prefix: required(values, Key::BranchPrefix, RawValue::prefix)?,
            env_remove: required(values, Key::EnvRemove, RawValue::variables)?,
            env_keep_only: optional(values, Key::EnvKeepOnly, RawValue::some_variables)?,
            env_pass: required(values, Key::EnvPass, RawValue::variables)?,
            limit_wall: required(values, Key::LimitWall, RawValue::duration)?,
            limit_output: required(values, Key::LimitOutput, RawValue::size)?,
            limit_turns: required(values, Key::LimitTurns, RawValue::turns)?,
            limit_tokens: optional(values, Key::LimitTokens, RawValue::tokens)?,
            limit_cost: optional(values, Key::LimitCost, RawValue::cost)?,
            model_default: optional(values, Key::ModelDefault, RawValue::model)?,
            model_smol: optional(values, Key::ModelSmol, RawValue::model)?,
            model_slow: optional(values, Key::ModelSlow, RawValue::model)?,
            model_plan: optional(values, Key::ModelPlan, RawValue::model)?,
            prices: required(values, Key::Prices, RawValue::prices)?,
            provider_concurrency: optional(values, Key::ProviderConcurrency, RawValue::count)?,
            retry_enabled: required(values, Key::RetryEnabled, RawValue::boolean)?,
            retry_max_retries: required(values, Key::RetryMaxRetries, RawValue::retries)?,
            retry_base_delay: required(values, Key::RetryBaseDelay, RawValue::milliseconds)?,
            retry_outage: required(values, Key::RetryOutage, RawValue::timeout)?,
            retry_fallback_chains: required(
                values,
                Key::RetryFallbackChains,
                RawValue::fallback_chains,
            )?,
            retry_fallback_revert_policy: required(
                values,
                Key::RetryFallbackRevertPolicy,
                RawValue::revert_policy,
            )?,
            quota_wait: required(values, Key::QuotaWait, RawValue::duration)?,
            compaction_enabled: required(values, Key::CompactionEnabled, RawValue::boolean)?,
            compaction_threshold_percent: optional(
                values,
                Key::CompactionThresholdPercent,
                RawValue::percent,
            )?,
            compaction_threshold_tokens: optional(
                values,
                Key::CompactionThresholdTokens,
                RawValue::tokens,
            )?,
            compaction_reserve: required(values, Key::CompactionReserve, RawValue::tokens)?,
            compaction_keep_recent: required(values, Key::CompactionKeepRecent, RawValue::tokens)?,
            branch_summary_enabled: required(values, Key::BranchSummaryEnabled, RawValue::boolean)?,
            images_auto_resize: required(values, Key::ImagesAutoResize, RawValue::boolean)?,
            sessions_durable: required(values, Key::SessionsDurable, RawValue::boolean)?,
            branch_summary_reserve: required(values, Key::BranchSummaryReserve, RawValue::tokens)?,
            stream_first_event_timeout: required(
                values,
                Key::StreamFirstEventTimeout,
                RawValue::timeout,
            )?,
            stream_idle_timeout: required(values, Key::StreamIdleTimeout, RawValue::timeout)?,
            retention_older_than: required(values, Key::RetentionOlderThan, RawValue::age)?,
            retention_keep_size: optional(values, Key::RetentionKeepSize, RawValue::store_size)?,
        })
    }
}

impl Settings {
    /// Gives the first rules of the lists to which a project adds the origin that they have below it.
    fn name_rules_below(&mut self, below: [Option<RulesBelow>; 3]) {
        let lists = [&mut self.approvals_deny, &mut self.approvals_ask, &mut self.approvals_allow];
        for (rules, below) in lists.into_iter().zip(below) {
            let Some(RulesBelow { count, origin }) = below else { continue };
            for rule in rules.iter_mut().take(count) {
                // The environment replaces the whole list.
                if let Origin::Project { .. } = rule.origin {
                    rule.origin.clone_from(&origin);
                }
            }
        }
    }
}

/// How many rules a list has below those of a project, and where they were set.
struct RulesBelow {
    count: usize,
    origin: Origin,
}

impl RulesBelow {
    fn of(values: &Values, key: Key) -> Option<Self> {
        let (given, origin) = values.get(&key)?;
        Some(Self { count: given.rules().ok()?.len(), origin: origin.clone() })
    }
}

/// Parses a list of rules, all of one origin.
fn rules(values: &Values, key: Key) -> Result<Vec<Setting<ApprovalRule>>, SettingsError> {
    let Setting { value, origin } = required(values, key, RawValue::rules)?;
    Ok(value.into_iter().map(|value| Setting { value, origin: origin.clone() }).collect())
}

/// Parses a setting that may be unset.
fn optional<T>(
    values: &Values,
    key: Key,
    read: impl Fn(&RawValue) -> Result<T, Expected>,
) -> Result<Setting<Option<T>>, SettingsError> {
    let Some((given, origin)) = values.get(&key) else {
        return Ok(Setting { value: None, origin: Origin::BuiltIn });
    };
    let value = read(given).map_err(|expected| wrong(key, given, origin, expected))?;
    Ok(Setting { value: Some(value), origin: origin.clone() })
}

/// Parses a setting that has a default.
fn required<T>(
    values: &Values,
    key: Key,
    read: impl Fn(&RawValue) -> Result<T, Expected>,
) -> Result<Setting<T>, SettingsError> {
    let Setting { value, origin } = optional(values, key, read)?;
    let value = value.expect("the defaults file gives every setting that is never unset");
    Ok(Setting { value, origin })
}

fn wrong(key: Key, given: &RawValue, origin: &Origin, expected: Expected) -> SettingsError {
    // If only an element of a list is invalid, "must be a list, not a list" would be unhelpful.
    let found = given.describe();
    let found = if expected.starts_with(&found) { "this one".to_owned() } else { found };
    let origin = origin.clone();
    SettingsError::Value { origin, key, expected: expected.to_owned(), found }
}

#[cfg(test)]
mod tests;
