//! Owns one workspace from its making to its removal.

use std::sync::Arc;

use engine::ports::{Baseline, IsolationError, Workspace as Place, WorkspaceRequest};
use protocol::{Captured, TaskName};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::task::JoinSet;

use crate::ask::Teller;

pub(crate) struct Workspace;

pub(crate) struct WorkspaceArguments {
    pub(crate) baseline: Arc<dyn Baseline>,
    pub(crate) request: WorkspaceRequest,
    /// Is told where the workspace is, so that someone knows should we crash.
    pub(crate) made: Teller<(ActorId, Place)>,
}

pub(crate) enum WorkspaceMessage {
    /// Makes it. Comes first, and once.
    Prepare(RpcReplyPort<Result<Lease, IsolationError>>),
    /// Captures what changed in it.
    Capture(RpcReplyPort<Result<Option<Captured>, IsolationError>>),
    /// It has been captured and may go; answers when it is gone.
    Discard(RpcReplyPort<()>),
    /// It stays as it is, for the next start. Sent by [`Lease::settle`]; nobody else sends it.
    Keep,
    /// Its holder died. Sent by [`Lease`] when it is dropped; nobody else sends it.
    Return,
    /// Sent by the work itself; nobody else sends it.
    Prepared(Result<Place, IsolationError>, RpcReplyPort<Result<Lease, IsolationError>>),
    /// Sent by the work itself; nobody else sends it.
    Gone(Option<Captured>),
}

/// The right to use a workspace. Dropping it, as a dying task does, gives the workspace back with
/// all that is in it: it is captured before it goes.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) place: Place,
    owner: ActorRef<WorkspaceMessage>,
    settled: bool,
}

impl Lease {
    pub(crate) fn owner(&self) -> &ActorRef<WorkspaceMessage> {
        &self.owner
    }

    /// Ends the lease of a workspace that was discarded, or that is kept as it is.
    pub(crate) fn settle(mut self) {
        self.settled = true;
        let _gone = self.owner.cast(WorkspaceMessage::Keep); // it is, if it was discarded
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.settled {
            // If the owner is gone, its supervisor has taken the workspace back already.
            let _gone = self.owner.cast(WorkspaceMessage::Return);
        }
    }
}

/// What is left to do about the workspace when the actor is no more.
pub(crate) struct WorkspaceState {
    arguments: WorkspaceArguments,
    place: Option<Place>,
    /// What was captured after the task could no longer report it.
    late: Option<Captured>,
    work: JoinSet<()>,
}

impl WorkspaceState {
    pub(crate) fn into_late(self) -> Option<(TaskName, Captured)> {
        self.late.map(|captured| (self.arguments.request.task, captured))
    }
}

impl Actor for Workspace {
    type Msg = WorkspaceMessage;
    type State = WorkspaceState;
    type Arguments = WorkspaceArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(WorkspaceState { arguments, place: None, late: None, work: JoinSet::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let baseline = Arc::clone(&state.arguments.baseline);
        match (message, state.place.clone()) {
            (WorkspaceMessage::Prepare(reply), _) => {
                let request = state.arguments.request.clone();
                state.work.spawn(async move {
                    let prepared = baseline.prepare(request).await;
                    let _dead = myself.cast(WorkspaceMessage::Prepared(prepared, reply));
                });
            }
            (WorkspaceMessage::Prepared(Ok(place), reply), _) => {
                state.place = Some(place.clone());
                state.arguments.made.tell((myself.get_id(), place.clone()));
                let lease = Lease { place, owner: myself, settled: false };
                // If the task is gone, the lease comes back in the error and is dropped here.
                let _gone = reply.send(Ok(lease));
            }
            (WorkspaceMessage::Prepared(Err(error), reply), _) => {
                let _gone = reply.send(Err(error));
                myself.stop(None);
            }
            (WorkspaceMessage::Capture(reply), Some(place)) => {
                state.work.spawn(async move {
                    let _gone = reply.send(baseline.capture(&place).await);
                });
            }
            (WorkspaceMessage::Discard(reply), Some(place)) => {
                state.work.spawn(async move {
                    discard(baseline.as_ref(), &place).await;
                    let _gone = reply.send(());
                    let _dead = myself.cast(WorkspaceMessage::Gone(None));
                });
            }
            (WorkspaceMessage::Return, Some(place)) => {
                state.work.spawn(async move {
                    let late = take_back(baseline.as_ref(), &place).await;
                    let _dead = myself.cast(WorkspaceMessage::Gone(late));
                });
            }
            (WorkspaceMessage::Keep, _) => myself.stop(None),
            (WorkspaceMessage::Gone(late), _) => {
                state.late = late;
                myself.stop(None);
            }
            (
                WorkspaceMessage::Capture(_)
                | WorkspaceMessage::Discard(_)
                | WorkspaceMessage::Return,
                None,
            ) => {} // only a lease lets anyone ask, and there is none before the workspace
        }
        Ok(())
    }
}

/// Captures a workspace whose holder died, then removes it. What cannot be captured, or not whole,
/// is kept: an error while looking never deletes work.
pub(super) async fn take_back(baseline: &dyn Baseline, place: &Place) -> Option<Captured> {
    match baseline.capture(place).await {
        Ok(captured) => {
            if !captured.as_ref().is_some_and(Captured::holds_uncaptured_files) {
                discard(baseline, place).await;
            }
            captured
        }
        Err(error @ IsolationError::Vanished { .. }) => {
            tracing::warn!(%error, "nothing to capture");
            discard(baseline, place).await;
            None
        }
        Err(error) => {
            tracing::error!(%error, workspace = %place.root.display(), "not captured, so kept");
            None
        }
    }
}

async fn discard(baseline: &dyn Baseline, place: &Place) {
    if let Err(error) = baseline.discard(place).await {
        tracing::error!(%error, workspace = %place.root.display(), "left for the next start");
    }
}
