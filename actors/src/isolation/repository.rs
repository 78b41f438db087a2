//! The repository actor: owns the frozen trees of the runs in one repository, their workspaces, and
//! the queue of landings.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{
    Baseline, IsolationError, Notice, Repository as Port, Workspace as Place, WorkspaceRequest,
};
use protocol::{Captured, LandingReport, RunName, TaskName};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};

use crate::child::start_child;
use crate::job::Job;
use crate::jobs::Jobs;
use crate::messaging::Notifier;
use crate::shutdown_limits::ActivityCounter;

use super::requests::{Freezing, Landing, LandingReply, SettledRun};
use super::workspace::{
    Lease, Workspace, WorkspaceArguments, WorkspaceMessage, WorkspaceState, Writers, ended,
    take_back,
};

pub(crate) struct Repository;

pub(crate) struct RepositoryArguments {
    pub(crate) port: Arc<dyn Port>,
    /// Counts every step, so that a shutdown can tell progress from a hang.
    pub(crate) activity: ActivityCounter,
    pub(crate) faults: Faults,
}

type FreezeResult = Result<Arc<dyn Baseline>, IsolationError>;

pub(crate) enum RepositoryMessage {
    /// Freezes the working tree for one run. Answers with notices for the user.
    Freeze(Freezing, RpcReplyPort<Result<Vec<Notice>, IsolationError>>),
    /// Makes a workspace for a task of a run.
    Prepare(RunName, WorkspaceRequest, RpcReplyPort<Result<Lease, IsolationError>>),
    /// Returns the snapshot of a run that is not ending.
    Baseline(RunName, RpcReplyPort<Arc<dyn Baseline>>),
    /// Lands captures when all earlier landings are done, unless the request is cancelled first.
    Land(Landing),
    /// Answers when no workspace of the run is in use. The run gets no new workspaces.
    SettleRun(RunName, RpcReplyPort<SettledRun>),
    /// Releases the lock on the workspaces of a settled run.
    CloseRun(RunName, RpcReplyPort<()>),
    /// Closes every run that is left, then stops.
    Close,
    /// Result of the actor's own job.
    Froze(RunName, FreezeResult, RpcReplyPort<Result<Vec<Notice>, IsolationError>>),
    /// Sent by a workspace actor: the path of its workspace.
    Made(ActorId, Place),
    /// A workspace actor crashed, and this actor owns its workspace now.
    TakeOver(ActorId),
    /// Result of the actor's own job.
    Landed(Result<LandingReport, IsolationError>, LandingReply),
    /// Result of the actor's own job.
    TakenBack(ActorId, Option<Captured>),
    /// Result of the actor's own job.
    ClosedBaseline(Vec<RpcReplyPort<()>>),
}

#[derive(Default)]
struct Run {
    baseline: Option<Arc<dyn Baseline>>,
    workspaces: BTreeMap<u64, InUse>,
    settled: SettledRun,
    /// Whether a process may still write into a workspace of the run.
    unsealed: bool,
    /// Whether a landing of the run has begun.
    has_landed: bool,
    settling: Vec<RpcReplyPort<SettledRun>>,
    closing: Vec<RpcReplyPort<()>>,
}

impl Run {
    /// Whether the run gets no new workspaces.
    fn is_ending(&self) -> bool {
        !self.settling.is_empty() || !self.closing.is_empty()
    }
}

struct InUse {
    task: TaskName,
    /// The workspace, once it is created.
    place: Option<Place>,
}

pub(crate) struct RepositoryState {
    port: Arc<dyn Port>,
    activity: ActivityCounter,
    runs: BTreeMap<RunName, Run>,
    landings: VecDeque<Landing>,
    landing: bool,
    closing: bool,
    unclosed: usize,
    jobs: Jobs,
    faults: Faults,
}

impl Actor for Repository {
    type Msg = RepositoryMessage;
    type State = RepositoryState;
    type Arguments = RepositoryArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let RepositoryArguments { port, activity, faults } = arguments;
        Ok(RepositoryState {
            port,
            activity,
            runs: BTreeMap::new(),
            landings: VecDeque::new(),
            landing: false,
            closing: false,
            unclosed: 0,
            jobs: Jobs::new(&faults),
            faults,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RepositoryMessage::Freeze(freezing, reply) => state.freeze(&myself, freezing, reply),
            RepositoryMessage::Froze(run, frozen, reply) => state.frozen(run, frozen, reply),
            RepositoryMessage::Prepare(run, request, reply) => {
                state.prepare(&myself, &run, request, reply).await?;
            }
            RepositoryMessage::Baseline(run, reply) => {
                let open = state.runs.get(&run).filter(|open| !open.is_ending());
                if let Some(baseline) = open.and_then(|open| open.baseline.clone()) {
                    let _gone = reply.send(baseline);
                }
            }
            RepositoryMessage::Land(landing) => state.landings.push_back(landing),
            RepositoryMessage::Made(owner, place) => state.made(owner, place),
            RepositoryMessage::TakeOver(owner) => state.take_over(&myself, owner),
            RepositoryMessage::Landed(landed, reply) => {
                state.landing = false;
                let _gone = reply.send(landed);
            }
            RepositoryMessage::SettleRun(run, reply) => match state.runs.get_mut(&run) {
                Some(open) => open.settling.push(reply),
                None => {
                    let _gone = reply.send(SettledRun::default());
                }
            },
            RepositoryMessage::CloseRun(run, reply) => match state.runs.get_mut(&run) {
                Some(open) => open.closing.push(reply),
                None => {
                    let _gone = reply.send(());
                }
            },
            RepositoryMessage::Close => state.closing = true,
            RepositoryMessage::TakenBack(workspace, late) => {
                state.workspace_gone(workspace, |task| late.map(|captured| (task, captured)));
            }
            RepositoryMessage::ClosedBaseline(replies) => {
                state.unclosed -= 1;
                for reply in replies {
                    let _gone = reply.send(());
                }
            }
        }
        state.settle(&myself);
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(child, last_state, _) => {
                let last = last_state.and_then(|mut boxed| boxed.take::<WorkspaceState>().ok());
                if last.as_ref().is_some_and(|last| last.writers() == Writers::MayRemain) {
                    state.unsealed(child.get_id());
                }
                let late = last.and_then(WorkspaceState::into_late);
                state.workspace_gone(child.get_id(), |_| late);
            }
            SupervisionEvent::ActorFailed(child, error) => {
                tracing::error!(%error, "the owner of a workspace crashed");
                // The crashed actor's `Made` message may still be in the mailbox of this actor. As
                // a message, `TakeOver` is handled after it.
                let _dying = myself.cast(RepositoryMessage::TakeOver(child.get_id()));
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        state.settle(&myself);
        Ok(())
    }
}

impl RepositoryState {
    fn freeze(
        &mut self,
        myself: &ActorRef<RepositoryMessage>,
        freezing: Freezing,
        reply: RpcReplyPort<Result<Vec<Notice>, IsolationError>>,
    ) {
        let Freezing { request, lock, cancel, notify } = freezing;
        let (port, run) = (Arc::clone(&self.port), request.run.clone());
        let job = async move { port.freeze(request, lock, cancel, notify).await };
        self.jobs.run(Job::RepositoryFreeze, myself, job, |frozen| {
            RepositoryMessage::Froze(run, ended("freeze the working tree", frozen), reply)
        });
    }

    fn frozen(
        &mut self,
        run: RunName,
        frozen: FreezeResult,
        reply: RpcReplyPort<Result<Vec<Notice>, IsolationError>>,
    ) {
        let notices = frozen.map(|baseline| {
            let mut notices = self.port.facts().notices.clone();
            notices.extend_from_slice(baseline.notices());
            self.runs.insert(run, Run { baseline: Some(baseline), ..Run::default() });
            notices
        });
        let _gone = reply.send(notices);
    }

    async fn prepare(
        &mut self,
        myself: &ActorRef<RepositoryMessage>,
        run: &RunName,
        request: WorkspaceRequest,
        reply: RpcReplyPort<Result<Lease, IsolationError>>,
    ) -> Result<(), ActorProcessingErr> {
        let open = self.runs.get_mut(run).filter(|open| !open.is_ending());
        let Some((open, baseline)) =
            open.and_then(|open| open.baseline.clone().map(|baseline| (open, baseline)))
        else {
            return Ok(()); // the dropped reply port refuses the workspace
        };
        let in_use = InUse { task: request.task.clone(), place: None };
        let made = Notifier::to(myself, |(owner, place)| RepositoryMessage::Made(owner, place));
        let arguments = WorkspaceArguments { baseline, request, made, faults: self.faults.clone() };
        let actor = start_child(Workspace, arguments, myself.get_cell()).await?;
        open.workspaces.insert(actor.get_id().pid(), in_use);
        actor.cast(WorkspaceMessage::Prepare(reply))?;
        Ok(())
    }

    fn made(&mut self, owner: ActorId, place: Place) {
        let mut runs = self.runs.values_mut();
        if let Some(in_use) = runs.find_map(|run| run.workspaces.get_mut(&owner.pid())) {
            in_use.place = Some(place);
        }
    }

    fn unsealed(&mut self, workspace: ActorId) {
        let mut runs = self.runs.values_mut();
        if let Some(run) = runs.find(|run| run.workspaces.contains_key(&workspace.pid())) {
            run.unsealed = true;
        }
    }

    fn workspace_gone(
        &mut self,
        workspace: ActorId,
        late: impl FnOnce(TaskName) -> Option<(TaskName, Captured)>,
    ) {
        for run in self.runs.values_mut() {
            if let Some(in_use) = run.workspaces.remove(&workspace.pid()) {
                run.settled.late.extend(late(in_use.task));
                return;
            }
        }
    }

    /// Captures and removes the workspace of a crashed workspace actor.
    fn take_over(&mut self, myself: &ActorRef<RepositoryMessage>, owner: ActorId) {
        let found = self.runs.values().find_map(|run| {
            let in_use = run.workspaces.get(&owner.pid())?;
            Some((run.baseline.clone()?, in_use.place.clone()))
        });
        let Some((baseline, place)) = found else { return };
        let job = async move {
            match place {
                Some(place) => take_back(baseline.as_ref(), &place).await,
                None => None,
            }
        };
        // If the job panics, the workspace is kept but no longer counts as in use.
        self.jobs.run(Job::RepositoryTakeBack, myself, job, move |late| {
            RepositoryMessage::TakenBack(owner, late.unwrap_or(None))
        });
    }

    /// Starts the next landing, and closes the runs and the repository where that is possible.
    fn settle(&mut self, myself: &ActorRef<RepositoryMessage>) {
        self.activity.note();
        if !self.landing
            && let Some(landing) = self.next_landing()
        {
            self.landing = true;
            let Landing { landing, request, cancel, notify, reply } = landing;
            let port = Arc::clone(&self.port);
            let run = self.runs.get_mut(&request.run);
            let again = run.is_some_and(|run| std::mem::replace(&mut run.has_landed, true));
            let job = async move {
                if again {
                    // The ledger has the report of the landing before, or it would not be over.
                    port.acknowledge(&request.run).await?;
                }
                port.land(landing, request, cancel, notify).await
            };
            self.jobs.run(Job::RepositoryLand, myself, job, |landed| {
                RepositoryMessage::Landed(ended("finish the landing", landed), reply)
            });
        }
        for run in self.runs.values_mut().filter(|run| run.workspaces.is_empty()) {
            for reply in run.settling.drain(..) {
                let _gone = reply.send(std::mem::take(&mut run.settled));
            }
        }
        self.close_runs(myself);
        let idle = !self.landing && self.runs.is_empty() && self.unclosed == 0;
        if self.closing && idle {
            myself.stop(None);
        }
    }

    /// Returns the next landing that was not cancelled.
    fn next_landing(&mut self) -> Option<Landing> {
        while let Some(landing) = self.landings.pop_front() {
            if !landing.cancel.is_cancelled() {
                return Some(landing);
            }
            let _gone = landing.reply.send(Err(IsolationError::Withdrawn));
        }
        None
    }

    /// Closes the settled runs that use no workspace.
    fn close_runs(&mut self, myself: &ActorRef<RepositoryMessage>) {
        let over =
            |run: &Run| run.workspaces.is_empty() && (self.closing || !run.closing.is_empty());
        let names: Vec<_> =
            self.runs.iter().filter(|(_, run)| over(run)).map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(run) = self.runs.remove(&name) else { continue };
            let Run { mut baseline, closing, unsealed, .. } = run;
            if unsealed {
                // The forgotten baseline claims the workspaces until this process ends, and with it
                // every process that may still write into them. Until then no other engine may
                // capture and remove them.
                tracing::error!(run = %name, "its workspaces stay claimed as long as this engine lives");
                std::mem::forget(baseline.take());
            }
            self.unclosed += 1;
            let job = async move {
                if let Some(baseline) = baseline
                    && let Err(error) = baseline.close().await
                {
                    tracing::error!(%error, run = %name, "left for the next start");
                }
            };
            let then = |_| RepositoryMessage::ClosedBaseline(closing);
            self.jobs.run(Job::RepositoryClose, myself, job, then);
        }
    }
}
