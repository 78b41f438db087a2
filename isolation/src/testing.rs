//! Real repositories for the tests of this crate, made and judged by the git program.

use std::ffi::OsStr;
use std::io::Write as _;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use engine::fault::{FaultHooks, Faults};
use engine::ports::{
    AttemptEnd, CancelToken, CarryRequest, FreezeRequest, LandingNotice, OpenRun, Workspace,
    WorkspaceRequest, WorkspaceStart,
};
use protocol::{CaptureRef, Captured, IsolationMode, RepoPath, RunName, TaskName};

use crate::IsolationPaths;
use crate::backends::{Backends, FrozenRun, LandingWait, RunContext};
use crate::baseline::{Snapshot, now_ns};
use crate::error::Result;
use crate::paths::RepoPaths;
use crate::recovery::{self, Findings};
use crate::repository::Repo;
use crate::run_lock::NewRunLock;
use crate::store::TaskStore;
use crate::workspace::{self, Manifest};
use crate::{capture, initialise};

/// A repository of a test's own, and the places of an engine.
pub(crate) struct Sample {
    home: tempfile::TempDir,
    /// The root of the working tree.
    pub(crate) root: PathBuf,
}

impl Sample {
    /// Makes an empty repository.
    pub(crate) fn empty() -> Self {
        initialise();
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap().join("app");
        std::fs::create_dir(&root).unwrap();
        let sample = Self { home, root };
        sample.git(&["init", "-q", "-b", "main"]);
        let config = sample.root.join(".git/config");
        let mut config = std::fs::File::options().append(true).open(config).unwrap();
        config.write_all(b"[user]\n\tname = Ada\n\temail = ada@localhost\n").unwrap();
        sample
    }

    /// Makes a repository with these files committed.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let sample = Self::empty();
        for (path, text) in files {
            sample.write(path, text);
        }
        sample.commit();
        sample
    }

    /// Commits everything that is not ignored.
    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "Work"]);
    }

    /// Lets a file be of yesterday, so that any index that is written from now on is younger.
    pub(crate) fn of_yesterday(&self, path: impl AsRef<OsStr>) {
        let file = self.root.join(Path::new(path.as_ref()));
        let yesterday = SystemTime::now() - Duration::from_secs(86_400);
        std::fs::File::open(file).unwrap().set_modified(yesterday).unwrap();
    }

    /// Writes a file of the user's.
    pub(crate) fn write(&self, path: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) {
        write(&self.root, path.as_ref(), bytes.as_ref());
    }

    /// Runs git in the user's tree and returns what it says.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments)
    }

    /// Opens the repository.
    pub(crate) fn repo(&self) -> Repo {
        Repo::open(&self.root).unwrap()
    }

    /// Where its things are.
    pub(crate) fn paths(&self) -> RepoPaths {
        self.all_places().of(&self.root)
    }

    /// Where everything is.
    pub(crate) fn all_places(&self) -> IsolationPaths {
        let data = self.home.path().join("data");
        IsolationPaths {
            workspaces: data.join("workspaces"),
            stores: data.join("stores"),
            landings: data.join("landings"),
        }
    }

    /// Opens the task store.
    pub(crate) fn store(&self) -> TaskStore {
        TaskStore::open(&self.paths().store).unwrap()
    }

    /// Freezes the tree for a run.
    pub(crate) fn freeze(&self, run: &str) -> FrozenRun<Snapshot> {
        self.try_freeze(run, 1 << 28, &Faults::default()).unwrap()
    }

    /// Freezes the tree tomorrow: what is in it has stood still for so long that its stats tell
    /// everything.
    pub(crate) fn freeze_tomorrow(&self, run: &str) -> FrozenRun<Snapshot> {
        self.freeze_with(run, |context| RunContext { now_ns: tomorrow_ns, ..context })
    }

    /// Freezes the tree in a changed context.
    pub(crate) fn freeze_with(
        &self,
        run: &str,
        change: impl FnOnce(RunContext) -> RunContext,
    ) -> FrozenRun<Snapshot> {
        let request = request(run, 1 << 28);
        let (repo, paths) = (self.repo(), self.paths());
        let context = RunContext::of(&repo, &paths, &Faults::default(), &request.run);
        let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
        freeze_in(change(context), &request, landings).unwrap()
    }

    /// Freezes the tree with a limit of untracked bytes and faults.
    pub(crate) fn try_freeze(
        &self,
        run: &str,
        limit: u64,
        faults: &Faults,
    ) -> Result<FrozenRun<Snapshot>> {
        self.freeze_unless(&CancelToken::default(), &|_| {}, run, limit, faults)
    }

    /// The same, as long as it is not withdrawn while it waits for a landing.
    pub(crate) fn freeze_unless(
        &self,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
        run: &str,
        limit: u64,
        faults: &Faults,
    ) -> Result<FrozenRun<Snapshot>> {
        let landings = LandingWait { cancel, notify };
        freeze_at(&self.repo(), &self.paths(), faults, &request(run, limit), landings)
    }
}

/// A request to freeze a tree with a limit of untracked bytes.
pub(crate) fn request(run: &str, limit: u64) -> FreezeRequest {
    FreezeRequest {
        run: run.parse().unwrap(),
        mode: IsolationMode::Worktree,
        untracked_limit: limit,
        branches: None,
        carry: CarryRequest::default(),
        union: Vec::new(),
    }
}

/// What the clock says tomorrow at this time.
pub(crate) fn tomorrow_ns() -> i64 {
    now_ns() + 86_400_000_000_000
}

/// Begins a run, so that its landings know the files with which it began.
pub(crate) fn begin(repo: &Repo, paths: &RepoPaths, run: &RunName) -> FrozenRun<Snapshot> {
    let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
    freeze_at(repo, paths, &Faults::default(), &request(run.as_str(), 1 << 28), landings).unwrap()
}

/// Freezes a tree for a run, as the mode `worktree` does.
pub(crate) fn freeze_at(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    request: &FreezeRequest,
    landings: LandingWait<'_>,
) -> Result<FrozenRun<Snapshot>> {
    freeze_in(
        RunContext::of(repo, paths, faults, &request.run).joining(&request.union),
        request,
        landings,
    )
}

fn freeze_in(
    context: RunContext,
    request: &FreezeRequest,
    landings: LandingWait<'_>,
) -> Result<FrozenRun<Snapshot>> {
    let claim = NewRunLock::acquire(&context.folder)?;
    let freeze = |context: &RunContext| Snapshot::freeze(context, request);
    FrozenRun::freeze(context, request, claim, landings, freeze)
}

impl Deref for FrozenRun<Snapshot> {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.tree
    }
}

/// Looks for what dead engines left.
pub(crate) fn find(sample: &Sample, faults: &Faults, open: &[OpenRun]) -> Option<Findings> {
    let (repo, paths) = (sample.repo(), sample.paths());
    recovery::recover(&repo, &paths, faults, &Backends::default(), open).unwrap()
}

/// Reads a plan of faults that waits and kills as nothing does.
pub(crate) fn faults(plan: &str) -> Faults {
    Faults::read(plan, FaultHooks::default()).unwrap()
}

/// Makes the workspace of a task.
pub(crate) fn prepare(snapshot: &Snapshot, task: &str) -> Workspace {
    prepare_after(snapshot, task, &[]).unwrap()
}

/// Makes the workspace of a task that builds on these.
pub(crate) fn prepare_after(
    snapshot: &Snapshot,
    task: &str,
    predecessors: &[(&str, &CaptureRef)],
) -> Result<Workspace> {
    let predecessors = predecessors.iter();
    let request = WorkspaceRequest {
        task: task.parse().unwrap(),
        attempt: 1,
        predecessors: predecessors
            .map(|(task, capture)| (task.parse::<TaskName>().unwrap(), (*capture).clone()))
            .collect(),
        start: WorkspaceStart::AtOnce,
        carry: None,
    };
    workspace::prepare(snapshot, &request)
}

/// Captures a workspace.
pub(crate) fn captured(snapshot: &Snapshot, workspace: &Workspace) -> Captured {
    try_capture(snapshot, workspace).unwrap()
}

/// Captures a workspace.
pub(crate) fn try_capture(snapshot: &Snapshot, workspace: &Workspace) -> Result<Captured> {
    let manifest = Manifest::read(&snapshot.context.folder, &workspace.task).unwrap();
    let known = (capture::Known::Nothing, &AttemptEnd::default());
    capture::capture(snapshot, &workspace.folder, &manifest, known)
}

/// Writes a file below `root` and the folders it needs.
pub(crate) fn write(root: &Path, path: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) {
    let file = root.join(Path::new(path.as_ref()));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

/// Runs git in a folder and returns what it says, which must be that all is well.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A path of a repository.
pub(crate) fn path(bytes: impl AsRef<[u8]>) -> RepoPath {
    RepoPath::new(bytes.as_ref()).unwrap()
}

/// The name of a run.
pub(crate) fn run(name: &str) -> RunName {
    name.parse().unwrap()
}

/// A name that is not text.
pub(crate) fn raw(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Makes a FIFO without a reader or writer.
pub(crate) fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success(), "{}", path.display());
}

/// Returns what `work` returns, and fails if it takes longer than anything that ends.
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    end.recv_timeout(Duration::from_secs(30)).expect("it ends")
}
