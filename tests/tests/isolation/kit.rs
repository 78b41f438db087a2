//! A repository of the user's, an engine's places, and the ways to isolate that are looked at.

use std::collections::BTreeSet;
use std::future::Future;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{
    AttemptEnd, Baseline, CancelToken, CarryRequest, FreezeRequest, Isolation as _, IsolationError,
    LandingRequest, LandingTarget, LandingTask, Recovered, Repository, SettleRequest, Workspace,
    WorkspaceRequest, WorkspaceStart,
};
use isolation::{Backends, Captures, IsolationPaths, Repositories};
use protocol::{
    Capabilities, CaptureRef, Captured, IsolationMode, LandingId, LandingReport, RunName,
};
use tests::sandbox::{Fingerprint, Repository as UserRepository};

use super::plain_copy::PlainCopy;

/// A way to isolate.
#[derive(Clone, Copy)]
struct Subject {
    name: &'static str,
    mode: IsolationMode,
    backends: fn() -> Backends,
}

const SUBJECTS: [Subject; 3] = [
    Subject { name: "worktree", mode: IsolationMode::Worktree, backends: Backends::default },
    Subject { name: "plain copy", mode: IsolationMode::Worktree, backends: plain_copy },
    Subject { name: "none", mode: IsolationMode::None, backends: Backends::default },
];

fn plain_copy() -> Backends {
    Backends::default().with(Arc::new(PlainCopy))
}

/// Runs a test over every way to isolate that has what it `needs`, each in a place of its own.
pub(super) async fn over_all<F>(needs: fn(&Capabilities) -> bool, test: fn(Fixture) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let fit = SUBJECTS.iter().filter(|subject| needs(&subject.mode.capabilities()));
    let mut names = Vec::new();
    for subject in fit {
        let end = tokio::spawn(test(Fixture::new(*subject))).await;
        assert!(end.is_ok(), "over {}: {}", subject.name, end.expect_err("it is none"));
        names.push(subject.name);
    }
    assert!(!names.is_empty(), "a test that nothing is fit for");
}

/// Runs a test over the mode `worktree`.
pub(super) async fn over_worktree<F>(test: fn(Fixture) -> F)
where
    F: Future<Output = ()>,
{
    test(Fixture::new(SUBJECTS[0])).await;
}

/// The name of the run in each test.
pub(super) const RUN: &str = "raaaa";

/// A repository of the user's and one way to isolate tasks in it.
pub(super) struct Fixture {
    home: tempfile::TempDir,
    /// The user's repository.
    pub(super) user: UserRepository,
    /// What the way to isolate can do.
    pub(super) capabilities: Capabilities,
    subject: Subject,
}

impl Fixture {
    /// Makes a repository with every kind of file, as it is in the middle of a user's work.
    fn new(subject: Subject) -> Self {
        isolation::initialise();
        let home = tempfile::tempdir().expect("a folder can be made");
        let user = UserRepository::init(&home.path().join("app"));
        for path in ["clean", "staged", "unstaged", "gone", "sub/deep/file", " -odd \n\"name"] {
            user.write(path, format!("{path}\n"));
        }
        user.write(raw(b"not-text-\xff"), "one\n");
        user.write("binary", b"\0\x01\xff\n");
        user.write("empty", "");
        user.write("run.sh", "#!/bin/sh\n");
        user.make_executable("run.sh");
        user.write(".gitignore", "*.log\nbuild/\n");
        link("clean", &user.path("link"));
        link("nowhere", &user.path("dangling"));
        user.commit("everything");
        user.write("staged", "staged\nand changed\n");
        user.git(&["add", "staged"]);
        user.write("unstaged", "unstaged\nand changed\n");
        user.write("untracked", "never added\n");
        user.write("new folder/untracked", "never added\n");
        user.write("debug.log", "ignored\n");
        user.write("build/output", "ignored\n");
        std::fs::remove_file(user.path("gone")).expect("it is there");
        let capabilities = subject.mode.capabilities();
        Self { home, user, capabilities, subject }
    }

    /// Opens the user's repository.
    pub(super) async fn repository(&self) -> Arc<dyn Repository> {
        let backends = (self.subject.backends)();
        let engine = Repositories::with_backends(self.places(), Faults::default(), backends);
        engine.open(self.user.root()).await.expect("it can be worked on")
    }

    /// Freezes the user's tree as it is now.
    pub(super) async fn freeze(&self) -> Arc<dyn Baseline> {
        let repository = self.repository().await;
        let lock = repository.lock_run(&run()).expect("nobody else has it");
        let request = FreezeRequest {
            run: run(),
            mode: self.subject.mode,
            untracked_limit: 1 << 20,
            branches: None,
            carry: CarryRequest::default(),
            union: Vec::new(),
        };
        let frozen = repository.freeze(request, lock, CancelToken::default(), Arc::new(|_| {}));
        frozen.await.expect("the tree can be frozen")
    }

    /// Lands captures in the user's tree.
    pub(super) async fn land(&self, captures: &[(&str, &Captured)]) -> LandingReport {
        let task = |(task, captured): &(&str, &Captured)| LandingTask {
            task: task.parse().expect("a name"),
            capture: captured.capture.clone(),
            depends_on: Vec::new(),
            message: String::new(),
            settle: SettleRequest::default(),
        };
        let tasks = captures.iter().map(task).collect();
        let (target, landed, union) = (LandingTarget::Tree, Vec::new(), Vec::new());
        let request = LandingRequest { run: run(), target, tasks, landed, union };
        let repository = self.repository().await;
        let landing = LandingId::generate();
        let landed = repository.land(landing, request, CancelToken::default(), Arc::new(|_| {}));
        landed.await.expect("it can land")
    }

    /// Does what an engine does at its start, and returns what it found.
    pub(super) async fn recover(&self) -> Recovered {
        let recovery = self.repository().await.recover(Vec::new()).await.expect("it can look");
        let found = recovery.found().clone();
        recovery.finish(BTreeSet::new()).await.expect("it can finish");
        found
    }

    /// Takes down what of the user's tree a workspace is to hold.
    pub(super) fn users_tree(&self) -> Fingerprint {
        Fingerprint::without(self.user.root(), &[".git", "debug.log", "build"])
    }

    /// Returns the paths in a capture.
    pub(super) fn paths(&self, captured: &Captured) -> Vec<String> {
        let captures = Captures::of(self.user.root(), &self.places());
        let paths = captures.paths(&captured.capture).expect("it can be read");
        paths.iter().map(ToString::to_string).collect()
    }

    /// Returns the names of all that the task store keeps, as git lists them.
    pub(super) fn references(&self) -> Vec<String> {
        // A reader moves into git's format what is only in the journal of the store.
        let captures = Captures::of(self.user.root(), &self.places());
        let _moved = captures.list(&run()).expect("captures can be listed");
        let stores = std::fs::read_dir(self.places().stores).expect("there is a task store");
        let store = stores.flatten().next().expect("of the one repository");
        let store = UserRepository::at(&store.path());
        let names = store.git(&["for-each-ref", "--format=%(refname)"]);
        names.lines().map(str::to_owned).collect()
    }

    /// Returns the folder of the run.
    pub(super) fn run_folder(&self) -> PathBuf {
        self.places().of_run(self.user.root(), &run())
    }

    fn places(&self) -> IsolationPaths {
        let data = self.home.path().join("data");
        IsolationPaths {
            workspaces: data.join("workspaces"),
            stores: data.join("stores"),
            landings: data.join("landings"),
        }
    }
}

/// Makes the workspace of a task.
pub(super) async fn prepare(baseline: &Arc<dyn Baseline>, task: &str) -> Workspace {
    prepare_after(baseline, task, &[]).await.expect("a workspace can be made")
}

/// Makes the workspace of a task that builds on others' work.
pub(super) async fn prepare_after(
    baseline: &Arc<dyn Baseline>,
    task: &str,
    predecessors: &[(&str, &CaptureRef)],
) -> Result<Workspace, IsolationError> {
    let named =
        |(task, capture): &(&str, &CaptureRef)| (task.parse().expect("a name"), (*capture).clone());
    let predecessors = predecessors.iter().map(named).collect();
    let task = task.parse().expect("a name");
    let start = WorkspaceStart::AtOnce;
    let request = WorkspaceRequest { task, attempt: 1, predecessors, start, carry: None };
    baseline.prepare(request).await
}

/// Makes the workspace of a task that begins after a set-up.
pub(super) async fn prepare_for_setup(baseline: &Arc<dyn Baseline>, task: &str) -> Workspace {
    let request = WorkspaceRequest {
        task: task.parse().expect("a name"),
        attempt: 1,
        predecessors: Vec::new(),
        start: WorkspaceStart::AfterSetup,
        carry: None,
    };
    baseline.prepare(request).await.expect("a workspace can be made")
}

/// Captures a workspace.
pub(super) async fn capture(baseline: &Arc<dyn Baseline>, workspace: &Workspace) -> Captured {
    let captured =
        baseline.capture(workspace, &AttemptEnd::default()).await.expect("it can be captured");
    captured.expect("what can capture does")
}

/// Takes down a workspace without its git directory.
pub(super) fn tree_of(workspace: &Workspace) -> Fingerprint {
    Fingerprint::without(&workspace.root, &[".git"])
}

/// Writes a file of a workspace, with its folders.
pub(super) fn write(workspace: &Workspace, path: &str, bytes: impl AsRef<[u8]>) {
    let file = workspace.root.join(path);
    let folder = file.parent().expect("a file is in a folder");
    std::fs::create_dir_all(folder).expect("a folder can be made");
    std::fs::write(file, bytes).expect("a file can be written");
}

/// Makes a symlink.
pub(super) fn link(target: &str, at: &Path) {
    symlink(target, at).expect("a symlink can be made");
}

/// A name that need not be text.
pub(super) fn raw(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// The run of each test.
pub(super) fn run() -> RunName {
    RUN.parse().expect("a name")
}
