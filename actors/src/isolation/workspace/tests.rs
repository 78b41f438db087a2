//! What becomes of a workspace whose task dies.

use std::path::Path;
use std::sync::Mutex;

use async_trait::async_trait;
use engine::ports::{
    AttemptEnd, CancelToken, CommandEnd, CommandError, CommandRequest, FileStat, Found, LineSink,
    Listing, Notice, Replace, ViewError, ViewFile, ViewPath, WorkspaceStart,
};
use protocol::{CaptureRef, ChangeSummary, RunName};
use ractor::concurrency::{JoinHandle, oneshot};
use tokio::sync::Semaphore;

use super::*;

/// Notes the steps that use the workspace, each of which ends when it may.
struct Steps {
    noted: Mutex<Vec<&'static str>>,
    running: Mutex<usize>,
    may_end: Semaphore,
}

impl Steps {
    async fn step(&self, name: &'static str) {
        self.noted.lock().unwrap().push(name);
        *self.running.lock().unwrap() += 1;
        assert_eq!(*self.running.lock().unwrap(), 1, "{name} runs beside another step");
        self.may_end.acquire().await.unwrap().forget();
        *self.running.lock().unwrap() -= 1;
    }

    fn captured() -> Option<Captured> {
        let run: RunName = "raaaa".parse().unwrap();
        let capture = CaptureRef::of(&run, &TaskName::nearest("one"), 1);
        Some(Captured::whole(capture, ChangeSummary::default()))
    }
}

#[async_trait]
impl Baseline for Steps {
    fn notices(&self) -> &[Notice] {
        &[]
    }

    async fn prepare(&self, request: WorkspaceRequest) -> Result<Place, IsolationError> {
        let (folder, root) = ("/w".into(), "/w/tree".into());
        Ok(Place { task: request.task, attempt: request.attempt, folder, root })
    }

    fn view(&self, _: &Place) -> Arc<dyn WorkspaceView> {
        Arc::new(NoView)
    }

    async fn accept_setup(&self, _: &Place) -> Result<(), IsolationError> {
        self.step("accept").await;
        Ok(())
    }

    async fn capture(&self, _: &Place, _: &AttemptEnd) -> Result<Option<Captured>, IsolationError> {
        self.step("capture").await;
        Ok(Self::captured())
    }

    async fn recapture(&self, _: &Place) -> Result<Option<Captured>, IsolationError> {
        self.step("recapture").await;
        Ok(Self::captured())
    }

    async fn checkpoint(&self, _: &Place) -> Result<Option<Captured>, IsolationError> {
        unreachable!("nobody makes checkpoints")
    }

    async fn discard(&self, _: &Place, _: Reuse) -> Result<(), IsolationError> {
        self.step("discard").await;
        Ok(())
    }

    async fn close(&self) -> Result<(), IsolationError> {
        Ok(())
    }
}

/// An owner of processes that ends as it is told.
struct Owner(Arc<Steps>, OwnerEnd);

#[async_trait]
impl CommandOwner for Owner {
    async fn run(
        &self,
        _: CommandRequest,
        _: LineSink,
        _: CancelToken,
    ) -> Result<CommandEnd, CommandError> {
        unreachable!("nothing is run")
    }

    async fn end(&self) -> OwnerEnd {
        self.0.step("end").await;
        self.1
    }

    async fn end_for_good(&self) -> OwnerEnd {
        self.end().await
    }

    async fn remove_temporary(&self) {}
}

/// Starts a workspace actor, and returns the lease of its workspace.
async fn leased() -> (Arc<Steps>, Lease, JoinHandle<()>) {
    let steps = Arc::new(Steps {
        noted: Mutex::default(),
        running: Mutex::default(),
        may_end: Semaphore::new(0),
    });
    let request = WorkspaceRequest {
        task: TaskName::nearest("one"),
        attempt: 1,
        predecessors: Vec::new(),
        start: WorkspaceStart::AtOnce,
        carry: None,
    };
    let baseline: Arc<dyn Baseline> = Arc::clone(&steps) as _;
    let (made, faults) = (Notifier::new(|_made| {}), Faults::default());
    let arguments = WorkspaceArguments { baseline, request, made, faults };
    #[expect(clippy::disallowed_methods, reason = "a test has no supervisor")]
    let (actor, ended) = Actor::spawn(None, Workspace, arguments).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "the actor lives")]
    let (reply, lease) = oneshot();
    actor.cast(WorkspaceMessage::Prepare(reply.into())).unwrap();
    (steps, lease.await.unwrap().unwrap(), ended)
}

/// Asks for a step, whose answer nobody reads, and waits until nothing more happens.
async fn ask<T: Send + 'static>(
    lease: &Lease,
    question: impl FnOnce(RpcReplyPort<T>) -> WorkspaceMessage,
) {
    #[expect(clippy::disallowed_methods, reason = "the actor lives")]
    let (reply, _answer) = oneshot();
    lease.owner().cast(question(reply.into())).unwrap();
    settle().await;
}

/// Lets everything go on until all of it waits for a step to end.
async fn settle() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

/// Ends all steps, and returns those that there were when the actor has ended.
async fn finish(steps: &Steps, ended: JoinHandle<()>) -> Vec<&'static str> {
    steps.may_end.add_permits(100);
    ended.await.unwrap();
    steps.noted.lock().unwrap().clone()
}

#[test]
async fn a_task_that_dies_during_its_capture_is_captured_again_only_when_that_has_ended() {
    let (steps, lease, ended) = leased().await;
    let capture = |reply| WorkspaceMessage::Capture(Some(AttemptEnd::default()), reply);
    ask(&lease, capture).await;
    drop(lease);
    settle().await;
    assert_eq!(*steps.noted.lock().unwrap(), ["capture"]);
    assert_eq!(finish(&steps, ended).await, ["capture", "recapture", "discard"]);
}

#[test]
async fn what_a_setup_has_left_is_recorded_before_the_workspace_of_its_dead_task_is_captured() {
    let (steps, lease, ended) = leased().await;
    ask(&lease, WorkspaceMessage::AcceptSetup).await;
    drop(lease);
    settle().await;
    assert_eq!(finish(&steps, ended).await, ["accept", "recapture", "discard"]);
}

#[test]
async fn a_workspace_that_is_being_discarded_when_its_task_dies_is_not_captured_again() {
    let (steps, lease, ended) = leased().await;
    ask(&lease, |reply| WorkspaceMessage::Discard(Reuse::Allowed, Vec::new(), reply)).await;
    drop(lease);
    settle().await;
    assert_eq!(finish(&steps, ended).await, ["discard"]);
}

#[test]
async fn what_writes_into_the_workspace_of_a_dead_task_is_ended_before_its_capture() {
    let (steps, mut lease, ended) = leased().await;
    lease.add_writer(Arc::new(Owner(Arc::clone(&steps), OwnerEnd::Childless)));
    drop(lease);
    settle().await;
    assert_eq!(*steps.noted.lock().unwrap(), ["end"]);
    assert_eq!(finish(&steps, ended).await, ["end", "recapture", "discard"]);
}

#[test]
async fn the_workspace_of_a_dead_task_is_kept_as_it_is_while_something_may_write_into_it() {
    for end in [OwnerEnd::Left(1), OwnerEnd::Unknown] {
        let (steps, mut lease, ended) = leased().await;
        lease.add_writer(Arc::new(Owner(Arc::clone(&steps), end)));
        drop(lease);
        assert_eq!(finish(&steps, ended).await, ["end"]);
    }
}

/// A view that nobody uses.
struct NoView;

#[async_trait]
impl WorkspaceView for NoView {
    fn process_root(&self) -> &Path {
        Path::new("/w/tree")
    }

    async fn find(&self, _: &Path) -> Result<Found, ViewError> {
        unreachable!("nobody uses it")
    }

    async fn stat(&self, _: &ViewPath) -> Result<FileStat, ViewError> {
        unreachable!("nobody uses it")
    }

    async fn open(&self, _: &ViewPath) -> Result<Box<dyn ViewFile>, ViewError> {
        unreachable!("nobody uses it")
    }

    async fn read_dir(&self, _: &ViewPath, _: usize) -> Result<Listing, ViewError> {
        unreachable!("nobody uses it")
    }

    async fn make_folders(&self, _: &ViewPath) -> Result<(), ViewError> {
        unreachable!("nobody uses it")
    }

    async fn write(&self, _: &ViewPath, _: Vec<u8>, _: Replace) -> Result<(), ViewError> {
        unreachable!("nobody uses it")
    }

    async fn remove(&self, _: &ViewPath) -> Result<(), ViewError> {
        unreachable!("nobody uses it")
    }
}
