//! The settings of which an engine has one value for all its runs and sessions.

use std::time::Duration;

use config::{Key, Origin, RevertPolicy, Settings};
use engine::compaction::{
    BranchSummaries, BranchSummaryPolicy, CompactionPolicy, Threshold, Trigger,
};
use engine::request::{FallbackRevert, RequestPolicy, RetryPolicy, Watchdog};

/// Returns whether a key is of these settings: what [`crate::AppContext::build`] and
/// [`crate::AppContext::open_engine`] read, and what tells of the work of an engine.
pub(crate) fn is_engine_wide(key: Key) -> bool {
    match key {
        Key::IsolationDir
        | Key::EditMode
        | Key::Notify
        | Key::Alert
        | Key::EnvRemove
        | Key::EnvKeepOnly
        | Key::Prices
        | Key::ProviderConcurrency
        | Key::RetryEnabled
        | Key::RetryMaxRetries
        | Key::RetryBaseDelay
        | Key::RetryOutage
        | Key::RetryFallbackRevertPolicy
        | Key::QuotaWait
        | Key::CompactionEnabled
        | Key::CompactionThresholdPercent
        | Key::CompactionThresholdTokens
        | Key::CompactionReserve
        | Key::CompactionKeepRecent
        | Key::BranchSummaryEnabled
        | Key::BranchSummaryReserve
        | Key::ImagesAutoResize
        | Key::SessionsDurable
        | Key::StreamFirstEventTimeout
        | Key::StreamIdleTimeout => true,
        Key::McpForeign
        | Key::MaxConcurrency
        | Key::AgentModels
        | Key::DisabledAgents
        | Key::MaxRecursionDepth
        | Key::IsolationMode
        | Key::MergeMode
        | Key::CommitStyle
        | Key::UntrackedLimit
        | Key::IsolationSetup
        | Key::IsolationCarry
        | Key::CarryLimit
        | Key::IsolationUnion
        | Key::ApprovalMode
        | Key::ApprovalsDeny
        | Key::ApprovalsAsk
        | Key::ApprovalsAllow
        | Key::BranchPrefix
        | Key::EnvPass
        | Key::LimitWall
        | Key::LimitOutput
        | Key::LimitTurns
        | Key::LimitTokens
        | Key::LimitCost
        | Key::ModelDefault
        | Key::ModelSmol
        | Key::ModelSlow
        | Key::ModelPlan
        | Key::RetryFallbackChains
        | Key::RetentionOlderThan
        | Key::RetentionKeepSize => false,
    }
}

/// Returns the retries, timeouts and concurrency of requests to models.
pub(crate) fn request_policy(settings: &Settings) -> RequestPolicy {
    let max_retries =
        if settings.retry_enabled.value { settings.retry_max_retries.value } else { 0 };
    let (first_event, idle) =
        (&settings.stream_first_event_timeout, settings.stream_idle_timeout.value);
    RequestPolicy {
        retry: RetryPolicy {
            max_retries,
            base_delay: settings.retry_base_delay.value,
            quota_wait: match settings.retry_enabled.value {
                true => settings.quota_wait.value,
                false => Duration::ZERO,
            },
            ..RetryPolicy::default()
        },
        watchdog: Watchdog { first_event: first_event.value, idle },
        local_watchdog: Watchdog {
            first_event: match first_event.origin {
                Origin::BuiltIn => Watchdog::LOCAL_FIRST_EVENT,
                Origin::User { .. }
                | Origin::Project { .. }
                | Origin::Environment { .. }
                | Origin::CommandLine { .. } => first_event.value,
            },
            idle,
        },
        concurrency: settings.provider_concurrency.value,
        outage: Some(settings.retry_outage.value)
            .filter(|outage| settings.retry_enabled.value && !outage.is_zero()),
        revert: match settings.retry_fallback_revert_policy.value {
            RevertPolicy::CooldownExpiry => FallbackRevert::CooldownExpiry,
            RevertPolicy::Never => FallbackRevert::Never,
        },
    }
}

/// Returns when conversations are compacted.
pub(crate) fn compaction_policy(settings: &Settings) -> CompactionPolicy {
    let tokens = settings.compaction_threshold_tokens.value;
    let percent = settings.compaction_threshold_percent.value;
    CompactionPolicy {
        trigger: match settings.compaction_enabled.value {
            true => Trigger::Automatic,
            false => Trigger::Manual,
        },
        threshold: match (tokens, percent) {
            (Some(tokens), _) => Threshold::Tokens(tokens.get()),
            (None, Some(percent)) => Threshold::Percent(percent),
            (None, None) => Threshold::Reserve,
        },
        reserve: settings.compaction_reserve.value.get(),
        keep_recent: settings.compaction_keep_recent.value.get(),
    }
}

/// Returns whether branches that sessions leave are summed up.
pub(crate) fn branch_summary_policy(settings: &Settings) -> BranchSummaryPolicy {
    BranchSummaryPolicy {
        usual: match settings.branch_summary_enabled.value {
            true => BranchSummaries::On,
            false => BranchSummaries::Off,
        },
        reserve: settings.branch_summary_reserve.value.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_the_settings_that_do_not_count_in_several_repositories() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/files.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, list) = page.split_once("of a project do not count there:").unwrap();
        let list = list.split("\n\n").next().unwrap();
        let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
        let keys = Key::ALL.into_iter().filter(|key| is_engine_wide(*key));
        assert_eq!(listed, keys.map(Key::as_str).collect::<Vec<_>>());
    }
}
