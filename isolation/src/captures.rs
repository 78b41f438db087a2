//! The captures of a repository, for commands: diffs, contents, lists and removal.

use std::path::{Path, PathBuf};

use engine::fault::Faults;
use engine::ports::{CancelToken, IsolationError};
use git2::Oid;
use protocol::{CaptureRef, Conflict, ConflictHunk, RepoPath, RunName, TaskName};

use crate::baseline::{ContentLocation, encoding_fault, read_file_list, remove_file_list};
use crate::branch;
use crate::captured_work::{CapturedFiles, CapturedWork};
use crate::error::{OrCannot, Result, cannot};
use crate::file_entry::Entry;
use crate::git_texts::{GitTexts, TextBlobs};
use crate::landing::{LandingLock, WorkInTree, work_in_tree};
use crate::merge::MergeRules;
use crate::paths::{IsolationPaths, RepoPaths};
use crate::repository::Repo;
use crate::settle::{check_can_stage, conflict_hunks, keep_sides, marked_text, stage_merge};
use crate::store::{PatchNeeds, TaskStore};
use crate::tree::join;

/// The captures of one repository. They can be read even if the repository was deleted.
#[derive(Clone, Debug)]
pub struct Captures {
    root: PathBuf,
    paths: RepoPaths,
}

/// One file or symlink of the tree that a run began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenFile {
    /// Its path.
    pub path: RepoPath,
    /// Its git mode: 100644, 100755 or 120000.
    pub mode: u32,
    /// The id of its content as a blob, in the user's repository or, if it was not committed, in
    /// the task store.
    pub oid: String,
}

/// A file that a task changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFile {
    /// What it was when the task began. Where the task changed the same lines as its set-up, this is
    /// what the set-up left.
    pub base: Option<Vec<u8>>,
    /// What the task left; `None` if it removed the file.
    pub task: Option<Vec<u8>>,
}

/// The part of a capture that a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathFilter {
    /// The whole capture.
    Everything,
    /// This path and everything below it.
    Below(RepoPath),
}

impl Captures {
    /// Returns the captures of the repository whose working tree has this canonical root.
    #[must_use]
    pub fn of(root: &Path, paths: &IsolationPaths) -> Self {
        Self { root: root.to_owned(), paths: paths.of(root) }
    }

    /// Returns what a task changed as a patch that `git apply` accepts, binary files included. Files are
    /// in it as git has them, in UTF-8.
    ///
    /// # Errors
    /// If there is no such capture, or it cannot be read.
    pub fn diff(&self, capture: &CaptureRef, filter: &PathFilter) -> Result<Vec<u8>> {
        let store = self.existing(|| format!("show {capture}"))?;
        store.patch(capture, filter, &GitTexts::of(&self.root))
    }

    /// Returns the paths that a task changed, sorted.
    ///
    /// # Errors
    /// If there is no such capture, or it cannot be read.
    pub fn paths(&self, capture: &CaptureRef) -> Result<Vec<RepoPath>> {
        let changes = self.existing(|| format!("read {capture}"))?.changes(capture)?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    }

    /// Returns the captures of a run, sorted by task and attempt.
    ///
    /// # Errors
    /// If the task store cannot be read.
    pub fn list(&self, run: &RunName) -> Result<Vec<CaptureRef>> {
        match TaskStore::open_existing(&self.paths.store)? {
            Some(store) => store.captures(run),
            None => Ok(Vec::new()),
        }
    }

    /// Returns every file and symlink of the tree that a run started from, sorted by path. Returns
    /// `None` until the run has ended, and after its last capture was removed.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn frozen(&self, run: &RunName) -> Result<Option<Vec<FrozenFile>>> {
        let what = || format!("read the list of the files that run {run} began with");
        let Some(table) = read_file_list(&self.paths, run)? else { return Ok(None) };
        let mut files = Vec::new();
        for (folder, found) in &table.folders {
            for (name, frozen) in &found.files {
                let path = RepoPath::new(join(folder, name)).ok_or("a path in it is none");
                let (ContentLocation::Blob(oid)
                | ContentLocation::Crlf(oid)
                | ContentLocation::Pin(oid)) = frozen.source;
                let (mode, oid) = (frozen.mode.to_git(), oid.to_string());
                files.push(FrozenFile { path: path.or_cannot(what)?, mode, oid });
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Some(files))
    }

    fn existing(&self, what: impl FnOnce() -> String) -> Result<TaskStore> {
        let because = || format!("there is no task store at {}", self.paths.store.display());
        let store = TaskStore::open_existing(&self.paths.store)?;
        let store = store.ok_or_else(|| cannot(what(), because()))?;
        store.settle()?;
        Ok(store)
    }
}

impl CapturedWork for Captures {
    fn patch(&self, capture: &CaptureRef) -> Result<Vec<u8>> {
        self.diff(capture, &PathFilter::Everything)
    }

    fn text(&self, path: &RepoPath, bytes: Vec<u8>) -> Vec<u8> {
        GitTexts::of(&self.root).text(path, &bytes).into_owned()
    }

    fn encoding_fault(&self, path: &RepoPath) -> Option<String> {
        encoding_fault(&Repo::open(&self.root).and_then(|repo| repo.git()).ok()?, path)
    }

    fn in_tree(&self, root: &Path, captures: &[CaptureRef]) -> Result<Vec<WorkInTree>> {
        if captures.is_empty() {
            return Ok(Vec::new());
        }
        let store = self.existing(|| "compare landed work with the working tree".to_owned())?;
        // The versions that are compared are only held in memory.
        let odb = store.odb()?;
        let _memory = branch::keep_in_memory(&odb)?;
        work_in_tree(root, &self.paths, &store, captures)
    }

    fn has_branch(&self, root: &Path, branch: &str) -> Result<bool> {
        let git = Repo::open(root)?.git()?;
        match git.find_branch(branch, git2::BranchType::Local) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error).or_cannot(|| format!("look for the branch {branch}")),
        }
    }

    fn files(&self, capture: &CaptureRef) -> Result<CapturedFiles> {
        let store = self.existing(|| format!("read {capture}"))?;
        let changes = store.changes(capture)?.into_iter();
        let files = changes.map(|change| {
            let read = |entry: Option<Entry>| entry.map(|entry| store.read(entry.oid)).transpose();
            let (base, task) = (read(change.base)?, read(change.task)?);
            Ok((change.path, CapturedFile { base, task }))
        });
        files.collect()
    }

    fn content(&self, oid: &str) -> Result<Vec<u8>> {
        let what = || format!("read {oid} from the task store");
        let oid = Oid::from_str(oid).or_cannot(what)?;
        self.existing(what)?.read(oid)
    }

    fn conflict_hunks(&self, conflict: &Conflict) -> Result<Vec<ConflictHunk>> {
        let store = self.existing(|| format!("read the versions of {}", conflict.path))?;
        let texts = GitTexts::of(&self.root);
        let blobs = TextBlobs { blobs: &store, texts: &texts, path: &conflict.path };
        conflict_hunks(&blobs, conflict)
    }

    fn patch_needs(&self, root: &Path, capture: &CaptureRef) -> Result<PatchNeeds> {
        self.existing(|| format!("read {capture}"))?.patch_needs(&Repo::open(root)?, capture)
    }

    fn store(&self) -> &Path {
        &self.paths.store
    }

    fn make_branch(
        &self,
        root: &Path,
        work: (&RunName, &CaptureRef),
        branch: (&str, &str),
    ) -> Result<String> {
        let store = self.existing(|| format!("make the branch {}", branch.0))?;
        not_nested(&store, work.1, ("no branch can be made of this work alone", PLAIN))?;
        let (repo, faults) = (Repo::open(root)?, Faults::default());
        let folders = || Ok(vec![repo.common_dir.clone()]);
        let _lock = LandingLock::acquire(&folders, &faults, &CancelToken::default(), &|_| {})?;
        branch::make_branch(&repo, &store, work, branch).map(|id| id.to_string())
    }

    fn marked_text(&self, root: &Path, conflict: &Conflict) -> Result<Option<Vec<u8>>> {
        let store = self.existing(|| format!("read the versions of {}", conflict.path))?;
        let texts = GitTexts::of(root);
        let blobs = TextBlobs { blobs: &store, texts: &texts, path: &conflict.path };
        marked_text(&blobs, &MergeRules::of(&Repo::open(root)?, &[])?, conflict)
    }

    fn check_can_stage(
        &self,
        root: &Path,
        capture: &CaptureRef,
        conflicts: &[Conflict],
    ) -> Result<()> {
        let store = self.existing(|| format!("read {capture}"))?;
        not_nested(&store, capture, ("cannot leave the index as git merge would", PLAIN))?;
        check_can_stage(&Repo::open(root)?, &store, &store.changes(capture)?, conflicts)
    }

    fn stage_merge(&self, root: &Path, capture: &CaptureRef, conflicts: &[Conflict]) -> Result<()> {
        let store = self.existing(|| "write the index".to_owned())?;
        let (repo, faults) = (Repo::open(root)?, Faults::default());
        let folders = || Ok(vec![repo.common_dir.clone()]);
        let _lock = LandingLock::acquire(&folders, &faults, &CancelToken::default(), &|_| {})?;
        stage_merge(&repo, &store, capture, conflicts)
    }

    fn check_in_one_repository(&self, capture: &CaptureRef) -> Result<()> {
        let store = self.existing(|| format!("read {capture}"))?;
        let hint = "regatta diff RUN/TASK | git apply --3way";
        not_nested(&store, capture, ("its conflicts cannot be settled on a branch", hint))
    }

    fn keep_sides(&self, root: &Path, conflicts: &[Conflict]) -> Result<()> {
        let store = self.existing(|| "keep the sides of conflicts".to_owned())?;
        keep_sides(&store, &Repo::open(root)?, conflicts)
    }

    fn keep_resolution(
        &self,
        work: (&RunName, &TaskName),
        written: &[(&Conflict, &[u8])],
    ) -> Result<CaptureRef> {
        self.existing(|| "capture a resolution".to_owned())?.put_resolution(work, written)
    }

    fn resolutions(&self, run: &RunName, task: &TaskName) -> Result<Vec<CaptureRef>> {
        let begin = format!("refs/tasks/{run}/{task}.resolve/");
        let mut found = self.list(run)?;
        found.retain(|capture| capture.as_str().starts_with(&begin));
        Ok(found)
    }

    fn remove(&self, run: &RunName, capture: &CaptureRef) -> Result<()> {
        let Some(store) = TaskStore::open_existing(&self.paths.store)? else { return Ok(()) };
        store.remove(capture)?;
        if store.captures(run)?.is_empty() { remove_file_list(&self.paths, run) } else { Ok(()) }
    }
}

/// What lands work in nested repositories.
const PLAIN: &str = "regatta apply RUN/TASK, without --branch and --index";

/// Refuses work in nested repositories, each of which has its own index and branches.
fn not_nested(store: &TaskStore, capture: &CaptureRef, (what, hint): (&str, &str)) -> Result<()> {
    match store.nested_roots(capture)?.first() {
        None => Ok(()),
        Some(root) => Err(IsolationError::Refused {
            what: what.to_owned(),
            because: format!("a part of it is in {root}, which is a repository of its own"),
            hint: hint.to_owned(),
        }),
    }
}

/// Returns the beginning of a capture as a patch, at most `limit` bytes and one character more; `None`
/// if the task has made commits of it itself.
pub(crate) fn change_text(
    (root, paths): (&Path, &RepoPaths),
    capture: &CaptureRef,
    limit: usize,
) -> Result<Option<String>> {
    let store = TaskStore::open(&paths.store)?;
    let contents = store.contents(capture)?;
    if contents.message.is_some() || !contents.series.is_empty() || contents.changes.is_empty() {
        return Ok(None);
    }
    let patch = store.patch(capture, &PathFilter::Everything, &GitTexts::of(root))?;
    // One more, so that it can be seen that something is left out.
    let kept = &patch[..patch.len().min(limit.saturating_add(1))];
    Ok(Some(String::from_utf8_lossy(kept).into_owned()))
}
