//! The ledger actor: the single writer. Entries that arrive during a write are written together,
//! with one sync.

use std::sync::Arc;
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{Clock, LedgerError, LedgerStore, LockRun, RunLock};
use protocol::{FailureClass, LedgerEntry, RunName, RunSpec, Timestamp};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::job::Job;
use crate::jobs::{Jobs, Panicked};
use crate::messaging::Receipt;

pub(crate) struct Ledger;

pub(crate) struct LedgerArguments {
    pub(crate) store: Arc<dyn LedgerStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) faults: Faults,
}

pub(crate) enum LedgerMessage {
    /// Records a run, gives it its name and locks it.
    OpenRun(Box<RunSpec>, LockRun, RpcReplyPort<Result<(RunName, RunLock), LedgerError>>),
    /// Answers when the entry is durable. Entries are written, and answered, in their order.
    Record(LedgerEntry, Receipt),
    /// Result of the actor's own job.
    Opened(Ended<(RunName, RunLock)>, RpcReplyPort<Result<(RunName, RunLock), LedgerError>>),
    /// Result of the actor's own job.
    Written(Ended<()>, Vec<Receipt>),
}

pub(crate) struct LedgerState {
    arguments: LedgerArguments,
    waiting: Vec<(Timestamp, LedgerEntry, Receipt)>,
    jobs: Jobs,
    writing: bool,
}

/// The result of a job of the ledger.
type Ended<T> = Result<Result<T, LedgerError>, Panicked>;

/// The deadline of one write. An engine whose ledger cannot be written must stop: the ledger actor
/// fails.
const DEADLINE: Duration = Duration::from_secs(120);

impl Actor for Ledger {
    type Msg = LedgerMessage;
    type State = LedgerState;
    type Arguments = LedgerArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let jobs = Jobs::new(&arguments.faults);
        Ok(LedgerState { arguments, waiting: Vec::new(), jobs, writing: false })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            LedgerMessage::OpenRun(run, lock, reply) => {
                let store = Arc::clone(&state.arguments.store);
                let at = state.arguments.clock.now();
                let job = async move { in_time(store.open_run(&run, at, lock)).await };
                let then = |opened| LedgerMessage::Opened(opened, reply);
                state.jobs.run(Job::LedgerOpenRun, &myself, job, then);
            }
            LedgerMessage::Opened(opened, reply) => {
                let _gone = reply.send(opened?); // a panic in the job fails this actor
            }
            LedgerMessage::Record(entry, receipt) => {
                state.waiting.push((state.arguments.clock.now(), entry, receipt));
            }
            LedgerMessage::Written(written, receipts) => {
                state.writing = false;
                // An engine whose ledger cannot be written must not go on: this actor fails.
                written??;
                receipts.into_iter().for_each(Receipt::give);
            }
        }
        state.write_what_waits(&myself);
        Ok(())
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.jobs.finish().await;
        let rest = std::mem::take(&mut state.waiting);
        let entries = rest.into_iter().map(|(at, entry, _receipt)| (at, entry)).collect::<Vec<_>>();
        if !entries.is_empty() {
            let written = in_time(state.arguments.store.append(entries)).await;
            // The receipts are dropped, so a failure is reported only here, in the log.
            written.inspect_err(|error| tracing::error!(%error, "the last entries are lost"))?;
        }
        Ok(())
    }
}

/// Waits for a write, up to the deadline.
async fn in_time<T>(write: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
    tokio::time::timeout(DEADLINE, write).await.unwrap_or_else(|elapsed| {
        let what = format!("write the ledger within {} s", DEADLINE.as_secs());
        // It is the disk that does not answer.
        Err(LedgerError { what, class: FailureClass::Resources, source: Box::new(elapsed) })
    })
}

impl LedgerState {
    fn write_what_waits(&mut self, myself: &ActorRef<LedgerMessage>) {
        if self.writing || self.waiting.is_empty() {
            return;
        }
        self.writing = true;
        let mut entries = Vec::with_capacity(self.waiting.len());
        let mut receipts = Vec::with_capacity(self.waiting.len());
        for (at, entry, receipt) in self.waiting.drain(..) {
            entries.push((at, entry));
            receipts.push(receipt);
        }
        let store = Arc::clone(&self.arguments.store);
        let job = async move { in_time(store.append(entries)).await };
        let then = |written| LedgerMessage::Written(written, receipts);
        self.jobs.run(Job::LedgerAppend, myself, job, then);
    }
}
