//! Waits until the calls of an executor have ended.

use std::time::Duration;

use engine::ports::CancelLevel;
use ractor::ActorRef;

use super::executor::ToolExecutorMessage;
use crate::messaging::answer;

/// How long to wait until killed calls have ended. Calls that are cancelled gently get this time in
/// addition to their grace period.
const ENDING_TIME: Duration = Duration::from_secs(5);

/// Stops the calls that still run, and waits until they and their processes have ended.
pub(crate) async fn settle(
    executor: &ActorRef<ToolExecutorMessage>,
    level: CancelLevel,
    grace: Duration,
) {
    let levels = [(level, grace + ENDING_TIME), (CancelLevel::AtOnce, ENDING_TIME)];
    for (level, limit) in levels {
        let _dead = executor.cast(ToolExecutorMessage::Interrupt(level));
        let settled = answer(executor, ToolExecutorMessage::Settle);
        // If the executor has crashed, its calls and processes have ended with it.
        if tokio::time::timeout(limit, settled).await.is_ok() {
            return;
        }
    }
    tracing::error!("tool calls still run after they were killed");
}
