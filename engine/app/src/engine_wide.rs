//! The settings of which an engine has one value for all its runs and sessions.

use std::time::Duration;

use config::{Key, Origin, RevertPolicy, Settings};
use engine::compaction::{
    BranchSummaries, BranchSummaryPolicy, CompactionPolicy, Threshold, Trigger,
};
use engine::request::{FallbackRevert, RequestPolicy, RetryPolicy, Watchdog};

/// The keys of these settings: what [`crate::AppContext::build`] and [`crate::AppContext::open_engine`] read.
pub(crate) const ENGINE_WIDE: [Key; 22] = [
    Key::IsolationDir,
    Key::EditMode,
    Key::EnvRemove,
    Key::EnvKeepOnly,
    Key::Prices,
    Key::ProviderConcurrency,
    Key::RetryEnabled,
    Key::RetryMaxRetries,
    Key::RetryBaseDelay,
    Key::RetryOutage,
    Key::RetryFallbackRevertPolicy,
    Key::QuotaWait,
    Key::CompactionEnabled,
    Key::CompactionThresholdPercent,
    Key::CompactionThresholdTokens,
    Key::CompactionReserve,
    Key::CompactionKeepRecent,
    Key::BranchSummaryEnabled,
    Key::BranchSummaryReserve,
    Key::SessionsDurable,
    Key::StreamFirstEventTimeout,
    Key::StreamIdleTimeout,
];

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
