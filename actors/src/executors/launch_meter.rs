//! Measures how long the commands of one executor took to start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use engine::ports::{
    CancelToken, CommandEnd, CommandError, CommandOwner, CommandRequest, LineSink, OwnerEnd,
};

/// The sum of the times that commands took to start, shared with the executor that starts them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchMeter(Arc<AtomicU64>);

impl LaunchMeter {
    /// Returns the sum in microseconds.
    pub(crate) fn micros(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns `commands`, measured.
    pub(super) fn over(&self, commands: Arc<dyn CommandOwner>) -> Arc<dyn CommandOwner> {
        Arc::new(Metered { commands, meter: self.clone() })
    }
}

struct Metered {
    commands: Arc<dyn CommandOwner>,
    meter: LaunchMeter,
}

#[async_trait]
impl CommandOwner for Metered {
    async fn run(
        &self,
        request: CommandRequest,
        line: LineSink,
        stop: CancelToken,
    ) -> Result<CommandEnd, CommandError> {
        let end = self.commands.run(request, line, stop).await?;
        let launch = u64::try_from(end.launch.as_micros()).unwrap_or(u64::MAX);
        self.meter.0.fetch_add(launch, Ordering::Relaxed);
        Ok(end)
    }

    async fn end(&self) -> OwnerEnd {
        self.commands.end().await
    }

    async fn end_for_good(&self) -> OwnerEnd {
        self.commands.end_for_good().await
    }

    async fn remove_temporary(&self) {
        self.commands.remove_temporary().await;
    }
}
