//! The arguments of `regatta gc`.

use std::time::Duration;

use clap::{ArgAction, Args};

use super::Execution;

/// The arguments of `regatta gc`.
#[derive(Args, Clone, Debug, Default)]
pub struct GcArgs {
    /// Remove work older than this, such as `30d` or `12h` [default: retention.olderThan, 30d]
    #[arg(long, value_name = "AGE", value_parser = config::parse_age)]
    pub older_than: Option<Duration>,

    /// Remove younger work too, the oldest first, until stores, logs and outputs are at most this
    /// large together: `2 GB` [default: retention.keepSize, no limit]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_store_size)]
    pub keep_size: Option<u64>,

    /// Print what would be removed, and change nothing
    #[arg(long, action = ArgAction::SetTrue)]
    dry_run: bool,
}

impl GcArgs {
    /// Returns whether the command does its work, or only prints what it would do.
    #[must_use]
    pub fn execution(&self) -> Execution {
        if self.dry_run { Execution::DryRun } else { Execution::Real }
    }
}
