//! The single writer of the ledger: gathers what arrives while a write is under way and writes it
//! with one sync.

use std::sync::Arc;

use engine::ports::{Clock, LedgerError, LedgerStore, LockRun, RunLock};
use protocol::{LedgerEntry, RunName, RunSpec, Timestamp};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::task::JoinSet;

pub(crate) struct Ledger;

pub(crate) struct LedgerArguments {
    pub(crate) store: Arc<dyn LedgerStore>,
    pub(crate) clock: Arc<dyn Clock>,
}

pub(crate) enum LedgerMessage {
    /// Records a run, gives it its name and locks it.
    OpenRun(RunSpec, LockRun, RpcReplyPort<Result<(RunName, RunLock), LedgerError>>),
    /// Answers when the entry is durable.
    Record(LedgerEntry, RpcReplyPort<()>),
    /// Sent by the write itself; nobody else sends it.
    Written(Result<Vec<RpcReplyPort<()>>, LedgerError>),
}

pub(crate) struct LedgerState {
    arguments: LedgerArguments,
    waiting: Vec<(Timestamp, LedgerEntry, RpcReplyPort<()>)>,
    write: JoinSet<()>,
    /// Names are given one at a time, beside the writes.
    openings: JoinSet<()>,
    writing: bool,
}

impl Actor for Ledger {
    type Msg = LedgerMessage;
    type State = LedgerState;
    type Arguments = LedgerArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let (write, openings) = (JoinSet::new(), JoinSet::new());
        Ok(LedgerState { arguments, waiting: Vec::new(), write, openings, writing: false })
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
                while state.openings.try_join_next().is_some() {}
                state.openings.spawn(async move {
                    let _gone = reply.send(store.open_run(&run, at, lock).await);
                });
            }
            LedgerMessage::Record(entry, reply) => {
                state.waiting.push((state.arguments.clock.now(), entry, reply));
            }
            LedgerMessage::Written(written) => {
                state.writing = false;
                // A house whose ledger cannot be written must not go on: this is our death.
                for reply in written? {
                    let _gone = reply.send(());
                }
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
        while state.openings.join_next().await.is_some() {}
        while state.write.join_next().await.is_some() {}
        let rest = std::mem::take(&mut state.waiting);
        let entries = rest.into_iter().map(|(at, entry, _reply)| (at, entry)).collect::<Vec<_>>();
        if !entries.is_empty() {
            state.arguments.store.append(entries).await?;
        }
        Ok(())
    }
}

impl LedgerState {
    fn write_what_waits(&mut self, myself: &ActorRef<LedgerMessage>) {
        if self.writing || self.waiting.is_empty() {
            return;
        }
        self.writing = true;
        let mut entries = Vec::with_capacity(self.waiting.len());
        let mut replies = Vec::with_capacity(self.waiting.len());
        for (at, entry, reply) in self.waiting.drain(..) {
            entries.push((at, entry));
            replies.push(reply);
        }
        let (store, myself) = (Arc::clone(&self.arguments.store), myself.clone());
        while self.write.try_join_next().is_some() {}
        self.write.spawn(async move {
            let written = store.append(entries).await.map(|()| replies);
            let _gone = myself.cast(LedgerMessage::Written(written));
        });
    }
}
