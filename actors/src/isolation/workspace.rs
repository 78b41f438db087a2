//! The workspace actor: owns one workspace from its creation to its removal.

use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{
    Baseline, IsolationError, Reuse, Workspace as Place, WorkspaceRequest, WorkspaceView,
};
use protocol::{Captured, TaskName};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::job::Job;
use crate::jobs::{Jobs, Panicked};
use crate::messaging::Notifier;

pub(crate) struct Workspace;

pub(crate) struct WorkspaceArguments {
    pub(crate) baseline: Arc<dyn Baseline>,
    pub(crate) request: WorkspaceRequest,
    /// Reports the path of the workspace to the repository actor, which takes it over after a crash.
    pub(crate) made: Notifier<(ActorId, Place)>,
    pub(crate) faults: Faults,
}

pub(crate) enum WorkspaceMessage {
    /// Creates the workspace. The first message, sent once.
    Prepare(RpcReplyPort<Result<Lease, IsolationError>>),
    /// Makes the contents of the workspace its start, after its set-up.
    AcceptSetup(RpcReplyPort<Result<(), IsolationError>>),
    /// Captures the changes in the workspace.
    Capture(RpcReplyPort<Result<Option<Captured>, IsolationError>>),
    /// Gives up the captured workspace, then answers. A workspace that cannot be removed is left for
    /// the next recovery.
    Discard(Reuse, RpcReplyPort<()>),
    /// Stops the actor. A workspace that was not discarded is kept for the next recovery. Sent by
    /// [`Lease::settle`] only.
    Keep(Writers),
    /// Captures and removes the workspace of a dead task. Sent by a dropped [`Lease`] only.
    Return,
    /// Result of the actor's own job.
    Prepared(Result<Place, IsolationError>, RpcReplyPort<Result<Lease, IsolationError>>),
    /// Result of the actor's own job.
    SetupAccepted(Result<(), IsolationError>, RpcReplyPort<Result<(), IsolationError>>),
    /// Result of the actor's own job.
    Captured(
        Result<Option<Captured>, IsolationError>,
        RpcReplyPort<Result<Option<Captured>, IsolationError>>,
    ),
    /// Result of the actor's own job.
    Discarded(RpcReplyPort<()>),
    /// Result of the job that captures and removes the workspace of a dead task.
    Gone(Option<Captured>),
}

/// Whether a process may still write into a kept workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// All processes were stopped.
    Stopped,
    /// A process could not be stopped.
    MayRemain,
}

/// The right to use a workspace. Dropping the lease, as a dying task does, returns the workspace to
/// its actor, which captures its changes and then removes it.
pub(crate) struct Lease {
    pub(crate) place: Place,
    baseline: Arc<dyn Baseline>,
    owner: ActorRef<WorkspaceMessage>,
    settled: bool,
}

impl Lease {
    pub(crate) fn owner(&self) -> &ActorRef<WorkspaceMessage> {
        &self.owner
    }

    /// Returns how tools see the workspace. A workspace in which processes are started without being
    /// asked for by a tool has no view: what was written through views is taken for all that changed.
    pub(crate) fn view(&self) -> Arc<dyn WorkspaceView> {
        self.baseline.view(&self.place)
    }

    /// Ends the lease. The workspace was discarded before, or is kept as it is.
    pub(crate) fn settle(mut self, writers: Writers) {
        self.settled = true;
        // After a discard, the workspace actor has stopped already.
        let _gone = self.owner.cast(WorkspaceMessage::Keep(writers));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.settled {
            // If the workspace actor is gone, the repository actor owns the workspace already.
            let _gone = self.owner.cast(WorkspaceMessage::Return);
        }
    }
}

/// The state of a workspace actor. Its supervisor reads it when the actor has stopped.
pub(crate) struct WorkspaceState {
    arguments: WorkspaceArguments,
    place: Option<Place>,
    /// The capture made after the task died.
    late: Option<Captured>,
    writers: Writers,
    jobs: Jobs,
}

impl WorkspaceState {
    /// Returns whether a process may still write into the workspace.
    pub(super) fn writers(&self) -> Writers {
        self.writers
    }

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
        Ok(WorkspaceState {
            jobs: Jobs::new(&arguments.faults),
            arguments,
            place: None,
            late: None,
            writers: Writers::Stopped,
        })
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
                let job = async move { baseline.prepare(request).await };
                state.jobs.run(Job::WorkspacePrepare, &myself, job, |prepared| {
                    WorkspaceMessage::Prepared(ended("prepare a workspace", prepared), reply)
                });
            }
            (WorkspaceMessage::Prepared(Ok(place), reply), _) => {
                state.place = Some(place.clone());
                state.arguments.made.notify((myself.get_id(), place.clone()));
                let lease = Lease { place, baseline, owner: myself, settled: false };
                // If the task is gone, the lease comes back in the error and is dropped here.
                let _gone = reply.send(Ok(lease));
            }
            (WorkspaceMessage::Prepared(Err(error), reply), _) => {
                let _gone = reply.send(Err(error));
                myself.stop(None);
            }
            (WorkspaceMessage::AcceptSetup(reply), Some(place)) => {
                let job = async move { baseline.accept_setup(&place).await };
                state.jobs.run(Job::WorkspaceAccept, &myself, job, |accepted| {
                    let accepted = ended("record what the set-up has left", accepted);
                    WorkspaceMessage::SetupAccepted(accepted, reply)
                });
            }
            (WorkspaceMessage::SetupAccepted(accepted, reply), _) => {
                let _gone = reply.send(accepted);
            }
            (WorkspaceMessage::Capture(reply), Some(place)) => {
                let job = async move { baseline.capture(&place).await };
                state.jobs.run(Job::WorkspaceCapture, &myself, job, |captured| {
                    WorkspaceMessage::Captured(ended("capture its workspace", captured), reply)
                });
            }
            (WorkspaceMessage::Discard(reuse, reply), Some(place)) => {
                // After a panic, as after an error, the next start removes the workspace.
                let job = async move { discard(baseline.as_ref(), &place, reuse).await };
                let then = |_| WorkspaceMessage::Discarded(reply);
                state.jobs.run(Job::WorkspaceDiscard, &myself, job, then);
            }
            (WorkspaceMessage::Captured(captured, reply), _) => {
                let _gone = reply.send(captured);
            }
            (WorkspaceMessage::Discarded(reply), _) => {
                let _gone = reply.send(());
                myself.stop(None);
            }
            (WorkspaceMessage::Return, Some(place)) => {
                let job = async move { take_back(baseline.as_ref(), &place).await };
                // If the job panics, the workspace is kept: a failed capture never deletes work.
                let then = |late: Result<_, _>| WorkspaceMessage::Gone(late.unwrap_or(None));
                state.jobs.run(Job::WorkspaceTakeBack, &myself, job, then);
            }
            (WorkspaceMessage::Keep(writers), _) => {
                state.writers = writers;
                myself.stop(None);
            }
            (WorkspaceMessage::Gone(late), _) => {
                state.late = late;
                myself.stop(None);
            }
            (
                WorkspaceMessage::AcceptSetup(_)
                | WorkspaceMessage::Capture(_)
                | WorkspaceMessage::Discard(..)
                | WorkspaceMessage::Return,
                None,
            ) => {} // unreachable: a lease sends these, and it exists only with a workspace
        }
        Ok(())
    }
}

/// Returns the result of a job; a panic is a failure of `what`.
pub(super) fn ended<T>(
    what: &str,
    ended: Result<Result<T, IsolationError>, Panicked>,
) -> Result<T, IsolationError> {
    let panicked =
        |panicked| IsolationError::Failed { what: what.to_owned(), source: Box::new(panicked) };
    ended.map_err(panicked)?
}

/// Captures the workspace of a dead task, then removes it. A workspace that cannot be captured
/// completely is kept.
pub(super) async fn take_back(baseline: &dyn Baseline, place: &Place) -> Option<Captured> {
    match baseline.capture(place).await {
        Ok(captured) => {
            if !captured.as_ref().is_some_and(Captured::holds_uncaptured_files) {
                discard(baseline, place, Reuse::Refused).await;
            }
            captured
        }
        Err(error @ IsolationError::Vanished { .. }) => {
            tracing::warn!(%error, "nothing to capture");
            discard(baseline, place, Reuse::Refused).await;
            None
        }
        Err(error) => {
            tracing::error!(%error, workspace = %place.root.display(), "not captured, so kept");
            None
        }
    }
}

async fn discard(baseline: &dyn Baseline, place: &Place, reuse: Reuse) {
    if let Err(error) = baseline.discard(place, reuse).await {
        tracing::error!(%error, workspace = %place.root.display(), "left for the next start");
    }
}
