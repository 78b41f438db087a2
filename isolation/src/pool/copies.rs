//! The copies of a run that no task uses, and what is known about those in use.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};

use engine::ports::Workspace;
use protocol::{RepoPath, TaskName};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::copy_stats::{CopyStats, Seen};
use super::git_folder::GitFolder;
use super::look::{Differences, Look, look};
use super::restore::restore;
use crate::baseline::Snapshot;
use crate::error::{OrCannot, Result, is_exhausted};
use crate::tree::Tree;
use crate::workspace::{
    self, COPY_THREADS, FileCopier, Manifest, keep_carried, remove_entry, set_aside, tree_of,
};

/// The prefix of the folders of copies that no task uses. The name is also the mark that the work of
/// the last task is durable in the task store: only then a workspace gets it.
const POOLED: &str = ".pool-";

/// Returns whether an entry of a run's folder is a copy that no task uses. There is no work in it
/// that is not captured.
pub(crate) fn is_in_pool(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(POOLED.as_bytes())
}

/// The copies of a run. They are known to the process that made them only: a copy of which nothing
/// is known is removed after its task.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Notified when a copy comes back, or is made.
    changed: Condvar,
    /// The run's copy of the carried files, once it is made; `None` in it if no file is carried.
    carried: Mutex<Option<Option<PathBuf>>>,
    copier: Mutex<Option<Arc<FileCopier>>>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<PooledCopy>,
    lent: BTreeMap<TaskName, Lent>,
    /// How many copies are being made.
    making: usize,
}

/// What a new workspace is made of.
pub(crate) enum Source<'a> {
    /// A copy that no task uses any more.
    Pooled(Box<PooledCopy>),
    /// A new copy, which may be made until this is dropped.
    New(Turn<'a>),
}

/// The turn of one thread to make a copy.
pub(crate) struct Turn<'a>(&'a Pool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().making -= 1;
        self.0.changed.notify_all();
    }
}

/// Returns how many copies are made at the same time: each takes as many threads as copy best. More
/// would let all tasks wait for the last copy.
fn turns() -> usize {
    // The system is asked once: the answer is in several files.
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    CORES.div_ceil(COPY_THREADS)
}

/// What is known about a copy that a task uses.
#[derive(Debug)]
pub(crate) struct Lent {
    stats: CopyStats,
    marker_ns: i64,
    /// The paths to which the work of predecessors was written, and the folders above them.
    overwritten: BTreeSet<Vec<u8>>,
    /// How the copy differed when it was captured.
    differences: Option<Differences>,
    /// Its git folder when that was new; `None` if it is made anew for the next task.
    git: Option<GitFolder>,
}

impl Lent {
    /// Returns what is known about a copy that was complete at `marker_ns`, with the new git folder
    /// `git`. The work of predecessors was written to the paths in `changes`.
    pub(crate) fn new<'a>(
        stats: CopyStats,
        git: Option<GitFolder>,
        marker_ns: i64,
        changes: impl Iterator<Item = &'a RepoPath>,
    ) -> Self {
        let mut overwritten = BTreeSet::new();
        for path in changes {
            overwritten.insert(path.as_bytes().to_vec());
            overwritten.insert(Vec::new());
            overwritten.extend(path.folders().map(|folder| folder.as_bytes().to_vec()));
        }
        Self { stats, marker_ns, overwritten, differences: None, git }
    }

    fn look(&self, snapshot: &Snapshot, tree: &Tree) -> Result<Differences> {
        let Self { stats, marker_ns, overwritten, .. } = self;
        look(&Look { snapshot, stats, tree, marker_ns: *marker_ns, overwritten })
    }
}

/// A copy that no task uses.
#[derive(Debug)]
pub(crate) struct PooledCopy {
    folder: PathBuf,
    lent: Lent,
}

/// A restored copy, except for its link to the git folder.
pub(crate) struct Restored {
    stats: CopyStats,
    git: Option<GitFolder>,
}

impl Pool {
    /// Returns a copy that no task uses, or the turn to make one. Waits for one or the other. Who
    /// waits while a short task ends gets its copy, so that no more copies are made than are needed.
    pub(crate) fn take(&self) -> Source<'_> {
        let (mut state, turns) = (self.state(), turns());
        loop {
            if let Some(pooled) = state.idle.pop() {
                return Source::Pooled(Box::new(pooled));
            }
            if state.making < turns {
                state.making += 1;
                return Source::New(Turn(self));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Keeps what is known about the copy of a task.
    pub(crate) fn lend(&self, task: &TaskName, lent: Lent) {
        self.state().lent.insert(task.clone(), lent);
    }

    /// Returns the copier of the run. `probe` is a folder of the file system of its workspaces.
    pub(crate) fn copier(&self, probe: &OwnedFd) -> std::result::Result<Arc<FileCopier>, Errno> {
        let mut copier = self.copier.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copier) = copier.as_ref() {
            return Ok(Arc::clone(copier));
        }
        let found = Arc::new(FileCopier::find(probe)?);
        *copier = Some(Arc::clone(&found));
        Ok(found)
    }

    /// Returns the run's copy of the carried files, which is made at the first call; `None` if no
    /// file is carried.
    pub(crate) fn carried_files(&self, snapshot: &Snapshot) -> Result<Option<PathBuf>> {
        let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(carried) = carried.as_ref() {
            return Ok(carried.clone());
        }
        let kept = keep_carried(snapshot)?;
        *carried = Some(kept.clone());
        Ok(kept)
    }

    /// Returns how the copy of a task differs from a new one now; `None` if that is not known. A copy
    /// that cannot be looked at is not used again.
    pub(crate) fn differences(
        &self,
        snapshot: &Snapshot,
        workspace: &Workspace,
    ) -> Option<Differences> {
        let lent = self.state().lent.remove(&workspace.task)?;
        let tree = Tree::open_at(&workspace.root).ok()?;
        match lent.look(snapshot, &tree) {
            Ok(differences) => {
                self.state().lent.insert(workspace.task.clone(), lent);
                Some(differences)
            }
            Err(error) => {
                tracing::info!(%error, "a copy is not used again");
                None
            }
        }
    }

    /// Keeps how the copy of a task differed when it was captured.
    pub(crate) fn keep_differences(&self, task: &TaskName, differences: Differences) {
        if let Some(lent) = self.state().lent.get_mut(task) {
            lent.differences = Some(differences);
        }
    }

    /// Takes back the workspace of a task, whose work is captured, and in which nothing has run since.
    /// Returns whether it is in the pool now; if not, it is as before.
    pub(crate) fn take_back(&self, snapshot: &Snapshot, workspace: &Workspace) -> Result<bool> {
        let Some(lent) = self.state().lent.remove(&workspace.task) else { return Ok(false) };
        let (folder, context) = (&workspace.folder, &snapshot.context);
        let what = || format!("put the workspace {} back", folder.display());
        context.faults.failpoint("capture.discard").or_cannot(what)?;
        let named = |number: u32| [POOLED, &number.to_string()].concat().into();
        let pooled = match set_aside(folder, &context.folder, named) {
            Ok(Some(pooled)) => pooled,
            Ok(None) => return Ok(false),
            Err(error) if is_exhausted(&error) => return Ok(false),
            Err(error) => return Err(error).or_cannot(what),
        };
        context.faults.failpoint("capture.discarded").or_cannot(what)?;
        Manifest::remove(&context.folder, workspace.task.as_str())?;
        self.state().idle.push(PooledCopy { folder: pooled, lent });
        self.changed.notify_one();
        Ok(true)
    }

    /// Forgets what is known about the copy of a task.
    pub(crate) fn forget(&self, task: &TaskName) {
        self.state().lent.remove(task);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledCopy {
    /// Restores the copy, and returns its folder. A copy that cannot be restored is removed; then
    /// `None` is returned.
    pub(crate) fn restore(self, snapshot: &Snapshot) -> Option<(PathBuf, Restored)> {
        let folder = self.folder.clone();
        match self.try_restore(snapshot) {
            Ok(restored) => Some((folder, restored)),
            Err(error) => {
                tracing::info!(%error, "a copy is not used again");
                if let Err(error) = workspace::remove_tree(&folder) {
                    tracing::warn!(%error, "a copy stays until the next start");
                }
                None
            }
        }
    }

    fn try_restore(self, snapshot: &Snapshot) -> Result<Restored> {
        let Self { folder, mut lent } = self;
        let what = || format!("restore the copy {}", folder.display());
        snapshot.context.faults.failpoint("pool.restore").or_cannot(what)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = openat(CWD, &folder, flags, Mode::empty()).or_cannot(what)?;
        let tree = Tree::open_at(&tree_of(&folder))?;
        lent.stats.check_top(&top)?;
        let git = lent.git.take().filter(|git| git.is_untouched(&top, lent.marker_ns));
        clear_top(&folder, &top, git.as_ref()).or_cannot(what)?;
        let differences = match lent.differences.take() {
            Some(differences) => differences,
            None => lent.look(snapshot, &tree)?,
        };
        let carried = snapshot.pool.carried_files(snapshot)?;
        restore(snapshot, &tree, &mut lent.stats, &differences, carried.as_deref())?;
        // An untouched link is written to in place: then nothing about the folder changes.
        let is_linked = |git: &GitFolder| git.has_untouched_link(&tree, lent.marker_ns);
        if !git.as_ref().is_some_and(is_linked) {
            let root = tree.open(b"").or_cannot(what)?;
            remove_entry(&root, OsStr::new(".git")).or_cannot(what)?;
        }
        Ok(Restored { stats: lent.stats, git })
    }
}

/// Removes everything in the folder of a workspace but the tree itself, and a git folder that is used
/// again.
fn clear_top(folder: &Path, top: &OwnedFd, git: Option<&GitFolder>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let is_git = git.is_some_and(|git| *git.name() == name);
        if !is_git && folder.join(&name) != tree_of(folder) {
            remove_entry(top, &name)?;
        }
    }
    Ok(())
}

impl Restored {
    /// Takes the git folder of the copy if it is used again.
    pub(crate) fn take_git(&mut self) -> Option<GitFolder> {
        self.git.take()
    }

    /// Returns the stats of the copy at `tree`, now that it is linked to its git folder.
    pub(crate) fn finish(mut self, tree: &Tree) -> Result<CopyStats> {
        let what = || format!("record the copy {}", tree.root().display());
        if let Some(root) = self.stats.folders.first_mut() {
            root.stat = Seen::open(tree.fd()).or_cannot(what)?.folder_stat();
        }
        Ok(self.stats)
    }
}
