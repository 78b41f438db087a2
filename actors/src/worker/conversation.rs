//! A conversation as the worker of a task. Its session is opened beside the run, in the workspace of the
//! task; the worker only keeps the workspace until the task gets the message that the conversation has ended.

use async_trait::async_trait;
use engine::ports::{CancelLevel, CancelToken, ReportSink, Worker, WorkerReport};
use engine::task::Reminder;
use protocol::AgentEnd;

pub(super) struct ConversationWorker {
    reports: ReportSink,
    stop: CancelToken,
}

impl ConversationWorker {
    pub(super) fn new(reports: ReportSink) -> Self {
        Self { reports, stop: CancelToken::default() }
    }
}

#[async_trait]
impl Worker for ConversationWorker {
    async fn work(&self, _reminder: Option<Reminder>) -> AgentEnd {
        // The caller that opens the conversation waits for this: the workspace is set up.
        (self.reports)(WorkerReport::Line("a conversation".to_owned()));
        self.stop.cancelled().await;
        AgentEnd::Aborted
    }

    fn stop(&self, level: CancelLevel) {
        self.stop.cancel(level);
    }
}
