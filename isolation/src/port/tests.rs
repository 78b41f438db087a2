//! The port as the engine uses it.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use engine::ports::{
    AttemptEnd, Baseline, CancelToken, CarryRequest, Completion, FreezeRequest, Isolation as _,
    IsolationError, LandingRequest, LandingTarget, LandingTask, Recovered, RecoveredLanding,
    Repository, Reuse, SettleRequest, Workspace, WorkspaceRequest, WorkspaceStart,
};
use protocol::{CaptureRef, IsolationMode, Landed, LandingId, RunName, TaskName};

use crate::Repositories;
use crate::testing::{Sample, write};

fn repositories(sample: &Sample) -> Repositories {
    Repositories::new(sample.all_places(), crate::testing::faults(""))
}

fn freeze(mode: IsolationMode) -> FreezeRequest {
    FreezeRequest {
        run: "raaaa".parse().unwrap(),
        mode,
        untracked_limit: 1 << 20,
        branches: None,
        carry: CarryRequest::default(),
        union: Vec::new(),
    }
}

async fn frozen(repository: &dyn Repository, mode: IsolationMode) -> Arc<dyn Baseline> {
    let request = freeze(mode);
    let lock = repository.lock_run(&request.run).unwrap();
    let (wanted, nobody) = (CancelToken::default(), Arc::new(|_| {}));
    repository.freeze(request, lock, wanted, nobody).await.unwrap()
}

/// Recovers, and returns what was found when it is finished.
async fn recover(repository: &dyn Repository) -> Recovered {
    let recovery = repository.recover(Vec::new()).await.unwrap();
    let found = recovery.found().clone();
    recovery.finish(BTreeSet::new()).await.unwrap();
    found
}

async fn prepare(
    baseline: &Arc<dyn Baseline>,
    task: &str,
    predecessors: Vec<(TaskName, CaptureRef)>,
) -> Result<Workspace, IsolationError> {
    let task = task.parse().unwrap();
    let start = WorkspaceStart::AtOnce;
    let request = WorkspaceRequest { task, attempt: 1, predecessors, start, carry: None };
    baseline.prepare(request).await
}

#[test]
async fn a_task_goes_from_a_subfolder_to_the_users_tree() {
    let sample = Sample::with(&[("sub/file", "one\n"), ("other", "one\n")]);
    sample.write("other", "users\n");
    let repositories = repositories(&sample);
    let repository = repositories.open(&sample.root.join("sub")).await.unwrap();
    assert_eq!(repository.facts().root, sample.root);
    assert_eq!(repository.facts().subfolder.to_str(), Some("sub"));
    let baseline = frozen(repository.as_ref(), IsolationMode::Worktree).await;
    let workspace = prepare(&baseline, "a", vec![]).await.unwrap();
    write(&workspace.root, "sub/file", "two\n");
    let captured = baseline.capture(&workspace, &AttemptEnd::default()).await.unwrap().unwrap();
    baseline.discard(&workspace, Reuse::Allowed).await.unwrap();
    baseline.discard(&workspace, Reuse::Allowed).await.unwrap();
    baseline.close().await.unwrap();
    let request = LandingRequest {
        run: "raaaa".parse().unwrap(),
        target: LandingTarget::Tree,
        tasks: vec![LandingTask {
            task: "a".parse().unwrap(),
            capture: captured.capture,
            depends_on: vec![],
            message: String::new(),
            settle: SettleRequest::default(),
        }],
        landed: Vec::new(),
        union: Vec::new(),
    };
    let report = repository
        .land(LandingId::generate(), request, CancelToken::default(), Arc::new(|_| {}))
        .await
        .unwrap();
    assert_eq!(report.tasks[0].landed, Landed::Landed { branch: None, joined: Vec::new() });
    assert_eq!(sample.git(&["status", "--porcelain"]), " M other\n M sub/file\n");
    assert_eq!(fs::read(sample.root.join("sub/file")).unwrap(), b"two\n");
    assert!(!sample.paths().workspaces.exists());
}

#[test]
async fn without_isolation_tasks_work_in_place_and_nothing_is_captured_or_discarded() {
    let sample = Sample::with(&[("file", "one\n")]);
    let repositories = repositories(&sample);
    let repository = repositories.open(&sample.root).await.unwrap();
    let baseline = frozen(repository.as_ref(), IsolationMode::None).await;
    assert_eq!(baseline.notices().len(), 1);
    let workspace = prepare(&baseline, "a", vec![]).await.unwrap();
    assert_eq!(workspace.root, sample.root);
    write(&workspace.root, "file", "two\n");
    assert_eq!(baseline.capture(&workspace, &AttemptEnd::default()).await.unwrap(), None);
    baseline.discard(&workspace, Reuse::Allowed).await.unwrap();
    assert_eq!(fs::read(sample.root.join("file")).unwrap(), b"two\n");
    baseline.close().await.unwrap();
    assert!(!sample.paths().workspaces.exists());
    assert!(!sample.paths().store.exists());
}

#[test]
async fn recovering_captures_what_a_dropped_baseline_left_and_does_so_once() {
    let sample = Sample::with(&[("file", "one\n")]);
    let repositories = repositories(&sample);
    let repository = repositories.open(&sample.root).await.unwrap();
    let nothing = recover(repository.as_ref()).await;
    assert_eq!(nothing, engine::ports::Recovered::default());
    let baseline = frozen(repository.as_ref(), IsolationMode::Worktree).await;
    let workspace = prepare(&baseline, "a", vec![]).await.unwrap();
    write(&workspace.root, "new", "new\n");
    assert_eq!(recover(repository.as_ref()).await, nothing);
    drop(baseline);
    let recovered = recover(repository.as_ref()).await;
    assert_eq!(recovered.dead, ["raaaa".parse().unwrap()]);
    assert_eq!(recovered.tasks[0].captured.as_ref().unwrap().changes.files, 1);
    assert_eq!(recover(repository.as_ref()).await, nothing);
}

#[test]
async fn a_landing_whose_engine_died_before_it_could_tell_of_it_is_told_at_the_next_start() {
    let sample = Sample::with(&[("file", "one\n")]);
    let repository = repositories(&sample).open(&sample.root).await.unwrap();
    let baseline = frozen(repository.as_ref(), IsolationMode::Worktree).await;
    let workspace = prepare(&baseline, "a", vec![]).await.unwrap();
    write(&workspace.root, "file", "two\n");
    let capture =
        baseline.capture(&workspace, &AttemptEnd::default()).await.unwrap().unwrap().capture;
    baseline.discard(&workspace, Reuse::Allowed).await.unwrap();
    let (run, task): (RunName, TaskName) = ("raaaa".parse().unwrap(), "a".parse().unwrap());
    let work = LandingTask {
        task,
        capture,
        depends_on: vec![],
        message: String::new(),
        settle: SettleRequest::default(),
    };
    let request = LandingRequest {
        run: run.clone(),
        target: LandingTarget::Tree,
        tasks: vec![work],
        landed: Vec::new(),
        union: Vec::new(),
    };
    let id = LandingId::generate();
    let report =
        repository.land(id, request, CancelToken::default(), Arc::new(|_| {})).await.unwrap();
    // The run is never closed.
    drop(baseline);
    let recovered = recover(repository.as_ref()).await;
    let completion = Completion::Earlier;
    let landing = RecoveredLanding { run: run.clone(), landing: Some(id), report, completion };
    assert_eq!((recovered.landings, recovered.dead), (vec![landing], vec![run]));
    assert_eq!(recover(repository.as_ref()).await, engine::ports::Recovered::default());
}
