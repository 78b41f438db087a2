//! The workspace actor: owns one workspace from its creation to its removal.

use std::sync::Arc;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{
    AttemptEnd, Baseline, CommandOwner, IsolationError, OwnerEnd, Reuse, Workspace as Place,
    WorkspaceRequest, WorkspaceView,
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

/// The reply port of a capture.
pub(crate) type CaptureReply = RpcReplyPort<Result<Option<Captured>, IsolationError>>;

pub(crate) enum WorkspaceMessage {
    /// Creates the workspace. The first message, sent once.
    Prepare(RpcReplyPort<Result<Lease, IsolationError>>),
    /// Makes the contents of the workspace its start, after its set-up.
    AcceptSetup(RpcReplyPort<Result<(), IsolationError>>),
    /// Captures the changes in the workspace, whose attempt ended so, or goes on.
    Capture(Option<AttemptEnd>, CaptureReply),
    /// Gives up the captured workspace, and the temporary files of those that have written into it,
    /// then answers. A workspace that cannot be removed is left for the next recovery.
    Discard(Reuse, Vec<Arc<dyn CommandOwner>>, RpcReplyPort<()>),
    /// Stops the actor. A workspace that was not discarded is kept for the next recovery. Sent by
    /// [`Lease::settle`] only.
    Keep(Writers),
    /// Ends what writes into the workspace of a dead task, then captures and removes it. Sent by a
    /// dropped [`Lease`] only.
    Return(Vec<Arc<dyn CommandOwner>>),
    /// Result of the actor's own job.
    Prepared(Result<Place, IsolationError>, RpcReplyPort<Result<Lease, IsolationError>>),
    /// Result of the actor's own job.
    SetupAccepted(Result<(), IsolationError>, RpcReplyPort<Result<(), IsolationError>>),
    /// Result of the actor's own job.
    Captured(Result<Option<Captured>, IsolationError>, CaptureReply),
    /// Result of the actor's own job.
    Discarded(RpcReplyPort<()>),
    /// Result of the job that captures and removes the workspace of a dead task.
    Gone(TakenBack),
}

/// Whether a process may still write into a kept workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// All processes were stopped.
    Stopped,
    /// A process could not be stopped.
    MayRemain,
}

/// What became of the workspace of a dead task.
pub(crate) struct TakenBack {
    /// The capture of the workspace.
    captured: Option<Captured>,
    /// Whether a process may still write into it. Then it was not captured.
    writers: Writers,
}

/// The right to use a workspace. Dropping the lease, as a dying task does, returns the workspace to
/// its actor, which captures its changes and then removes it.
pub(crate) struct Lease {
    pub(crate) place: Place,
    baseline: Arc<dyn Baseline>,
    owner: ActorRef<WorkspaceMessage>,
    /// The owners of the processes that write into the workspace.
    writers: Vec<Arc<dyn CommandOwner>>,
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

    /// Adds an owner of processes that write into the workspace. They are ended before the workspace
    /// of a dead task is captured.
    pub(crate) fn add_writer(&mut self, owner: Arc<dyn CommandOwner>) {
        self.writers.push(owner);
    }

    /// Returns the owners of the processes that write into the workspace.
    pub(crate) fn writers(&self) -> &[Arc<dyn CommandOwner>] {
        &self.writers
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
            let writers = std::mem::take(&mut self.writers);
            let _gone = self.owner.cast(WorkspaceMessage::Return(writers));
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
    under_way: UnderWay,
    jobs: Jobs,
}

/// What is done with the workspace: one thing at a time, also if its task dies meanwhile.
enum UnderWay {
    Nothing,
    /// A job that the task has asked for runs.
    Step,
    /// The same, and when it has ended the workspace is taken back.
    LastStep(Vec<Arc<dyn CommandOwner>>),
}

impl WorkspaceState {
    /// Returns whether a process may still write into the workspace.
    pub(super) fn writers(&self) -> Writers {
        self.writers
    }

    pub(crate) fn into_late(self) -> Option<(TaskName, Captured)> {
        self.late.map(|captured| (self.arguments.request.task, captured))
    }

    /// A job that the task has asked for has ended.
    fn step_ended(&mut self, myself: &ActorRef<WorkspaceMessage>) {
        if let UnderWay::LastStep(writers) =
            std::mem::replace(&mut self.under_way, UnderWay::Nothing)
        {
            self.take_back(myself, writers);
        }
    }

    /// Captures and removes the workspace of a dead task when nothing writes into it any more.
    fn take_back(
        &mut self,
        myself: &ActorRef<WorkspaceMessage>,
        writers: Vec<Arc<dyn CommandOwner>>,
    ) {
        let Some(place) = self.place.clone() else { return }; // unreachable: there is a lease
        let baseline = Arc::clone(&self.arguments.baseline);
        let job = async move { end_and_take_back(baseline.as_ref(), &place, writers).await };
        // If the job panics, the workspace is kept: a failed capture never deletes work.
        let nothing = TakenBack { captured: None, writers: Writers::Stopped };
        let then = |taken: Result<_, _>| WorkspaceMessage::Gone(taken.unwrap_or(nothing));
        self.jobs.run(Job::WorkspaceTakeBack, myself, job, then);
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
            under_way: UnderWay::Nothing,
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
                failpoint!(state.arguments.faults, "workspace.lend")?;
                let lease =
                    Lease { place, baseline, owner: myself, writers: Vec::new(), settled: false };
                // If the task is gone, the lease comes back in the error and is dropped here.
                let _gone = reply.send(Ok(lease));
            }
            (WorkspaceMessage::Prepared(Err(error), reply), _) => {
                let _gone = reply.send(Err(error));
                myself.stop(None);
            }
            (WorkspaceMessage::AcceptSetup(reply), Some(place)) => {
                state.under_way = UnderWay::Step;
                let job = async move { baseline.accept_setup(&place).await };
                state.jobs.run(Job::WorkspaceAccept, &myself, job, |accepted| {
                    let accepted = ended("record what the set-up has left", accepted);
                    WorkspaceMessage::SetupAccepted(accepted, reply)
                });
            }
            (WorkspaceMessage::SetupAccepted(accepted, reply), _) => {
                let _gone = reply.send(accepted);
                state.step_ended(&myself);
            }
            (WorkspaceMessage::Capture(end, reply), Some(place)) => {
                state.under_way = UnderWay::Step;
                let job = async move { capture(baseline.as_ref(), &place, end).await };
                state.jobs.run(Job::WorkspaceCapture, &myself, job, |captured| {
                    WorkspaceMessage::Captured(ended("capture its workspace", captured), reply)
                });
            }
            (WorkspaceMessage::Discard(reuse, writers, reply), Some(place)) => {
                state.under_way = UnderWay::Step;
                // After a panic, as after an error, the next start removes the workspace.
                let job = async move { give_up(baseline.as_ref(), &place, reuse, writers).await };
                let then = |_| WorkspaceMessage::Discarded(reply);
                state.jobs.run(Job::WorkspaceDiscard, &myself, job, then);
            }
            (WorkspaceMessage::Captured(captured, reply), _) => {
                let _gone = reply.send(captured);
                state.step_ended(&myself);
            }
            (WorkspaceMessage::Discarded(reply), _) => {
                let _gone = reply.send(());
                myself.stop(None);
            }
            (WorkspaceMessage::Return(writers), Some(_)) => match state.under_way {
                UnderWay::Nothing => state.take_back(&myself, writers),
                UnderWay::Step | UnderWay::LastStep(_) => {
                    state.under_way = UnderWay::LastStep(writers)
                }
            },
            (WorkspaceMessage::Keep(writers), _) => {
                state.writers = writers;
                myself.stop(None);
            }
            (WorkspaceMessage::Gone(TakenBack { captured, writers }), _) => {
                (state.late, state.writers) = (captured, writers);
                myself.stop(None);
            }
            (
                WorkspaceMessage::AcceptSetup(_)
                | WorkspaceMessage::Capture(..)
                | WorkspaceMessage::Discard(..)
                | WorkspaceMessage::Return(_),
                None,
            ) => {} // unreachable: a lease sends these, and it exists only with a workspace
        }
        Ok(())
    }
}

/// Captures a workspace at the end of its attempt, or while the attempt goes on.
async fn capture(
    baseline: &dyn Baseline,
    place: &Place,
    end: Option<AttemptEnd>,
) -> Result<Option<Captured>, IsolationError> {
    match end {
        Some(end) => baseline.capture(place, &end).await,
        None => baseline.checkpoint(place).await,
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

/// Ends everything that writes into the workspace of a dead task, and then takes it back.
async fn end_and_take_back(
    baseline: &dyn Baseline,
    place: &Place,
    writers: Vec<Arc<dyn CommandOwner>>,
) -> TakenBack {
    for owner in &writers {
        let end = owner.end_for_good().await;
        if end != OwnerEnd::Childless {
            let workspace = place.root.display();
            tracing::error!(?end, %workspace, "processes may still write, so it is kept as it is");
            return TakenBack { captured: None, writers: Writers::MayRemain };
        }
    }
    let captured = take_back(baseline, place).await;
    remove_temporary(&writers).await;
    TakenBack { captured, writers: Writers::Stopped }
}

/// Discards a captured workspace, and the temporary files of those that have written into it.
async fn give_up(
    baseline: &dyn Baseline,
    place: &Place,
    reuse: Reuse,
    writers: Vec<Arc<dyn CommandOwner>>,
) {
    remove_temporary(&writers).await;
    discard(baseline, place, reuse).await;
}

/// Removes the temporary files of those that have written into a captured workspace.
async fn remove_temporary(writers: &[Arc<dyn CommandOwner>]) {
    for owner in writers {
        owner.remove_temporary().await;
    }
}

/// Captures the workspace of a dead task, then removes it. A workspace that cannot be captured
/// completely is kept. A capture that was made before is kept beside, if it has other changes.
pub(super) async fn take_back(baseline: &dyn Baseline, place: &Place) -> Option<Captured> {
    match baseline.recapture(place).await {
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

#[cfg(test)]
mod tests;
