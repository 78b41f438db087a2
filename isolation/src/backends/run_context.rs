//! The context of one run for a backend: its paths, and the operations that all backends share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::fault::Faults;
use engine::ports::{Workspace, WorkspaceRequest};
use protocol::{CaptureRef, RepoPath, RunName, TaskName};

use crate::backends::CaptureWriter;
use crate::baseline::{MOST_NESTED, TreeListing, list_tree, now_ns};
use crate::error::Result;
use crate::file_entry::Entry;
use crate::landing::WorkingTree;
use crate::merge::MergeRules;
use crate::paths::RepoPaths;
use crate::repository::Repo;
use crate::run_folder::BACKEND;
use crate::store::TaskStore;
use crate::tree::Tree;
use crate::workspace::{self, NewWorkspace, Removals, tree_of};

/// The context of one run in one repository.
#[derive(Clone)]
pub struct RunContext {
    pub(crate) repo: Repo,
    pub(crate) paths: RepoPaths,
    pub(crate) faults: Faults,
    pub(crate) run: RunName,
    /// The folder that contains the workspaces of the run.
    pub(crate) folder: PathBuf,
    /// The globs of files of which both sides' lines are kept.
    pub(crate) union: Vec<String>,
    /// What is removed in the background.
    pub(crate) removals: Removals,
    /// The clock: the time of day in nanoseconds since 1970.
    pub(crate) now_ns: fn() -> i64,
    /// How many nested repositories are used at most.
    pub(crate) most_nested: usize,
}

impl RunContext {
    pub(crate) fn of(repo: &Repo, paths: &RepoPaths, faults: &Faults, run: &RunName) -> Self {
        Self {
            repo: repo.clone(),
            paths: paths.clone(),
            faults: faults.clone(),
            run: run.clone(),
            folder: paths.workspaces.join(run.as_str()),
            union: Vec::new(),
            removals: Removals::default(),
            now_ns,
            most_nested: MOST_NESTED,
        }
    }

    /// Returns the context of a run that joins the files that these globs match.
    pub(crate) fn joining(self, union: &[String]) -> Self {
        Self { union: union.to_vec(), ..self }
    }

    /// Returns how files are merged in this run.
    pub(crate) fn merge_rules(&self) -> Result<MergeRules> {
        MergeRules::of(&self.repo, &self.union)
    }

    /// Returns the canonical path of the root of the user's working tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.repo.root
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &RunName {
        &self.run
    }

    /// Returns the path of the folder for the backend's own data. The backend creates the folder if
    /// it needs it. The folder is removed with the run's folder, when no workspace is left.
    #[must_use]
    pub fn backend_folder(&self) -> PathBuf {
        self.folder.join(BACKEND)
    }

    /// Lists the files and folders that are tracked or not ignored in `tree`, which is
    /// [`Self::root`] or a copy of it. Folders of this program inside the tree are not listed.
    ///
    /// # Errors
    /// The tree cannot be read.
    pub fn list(&self, tree: &Path) -> Result<TreeListing> {
        list_tree(self, &Tree::open_at(tree)?)
    }

    /// Returns the workspace that [`Self::make_workspace`] makes for an attempt at a task. Does not
    /// check that it exists.
    #[must_use]
    pub fn workspace(&self, task: &TaskName, attempt: u32) -> Workspace {
        let folder = self.folder.join(task.as_str());
        let root = tree_of(&folder);
        Workspace { task: task.clone(), attempt, folder, root }
    }

    /// Makes a workspace. `fill` gets a folder with a temporary name, and in it an empty folder for
    /// the tree. If `fill` succeeds, the folder is renamed to the name of the task; otherwise it is
    /// removed.
    ///
    /// # Errors
    /// The workspace exists already, or `fill` failed.
    pub fn make_workspace(
        &self,
        request: &WorkspaceRequest,
        fill: impl FnOnce(&NewWorkspace) -> Result<()>,
    ) -> Result<Workspace> {
        workspace::make(self, request, fill)
    }

    /// Writes the work of predecessors over the copy of the snapshot at `tree`. No process may use
    /// the copy yet.
    ///
    /// # Errors
    /// [`engine::ports::IsolationError::Predecessors`] if the work cannot be merged.
    pub fn apply_predecessors(
        &self,
        tree: &Path,
        predecessors: &[(TaskName, CaptureRef)],
    ) -> Result<()> {
        if predecessors.is_empty() {
            return Ok(());
        }
        let store = TaskStore::open(&self.paths.store)?;
        let copy = Tree::open_at(tree)?;
        let target = WorkingTree::of(&copy, &store);
        let rules = self.merge_rules()?;
        let _what_differs: BTreeMap<RepoPath, Option<Entry>> =
            workspace::apply_predecessors(tree, &target, (&store, &rules), predecessors)?;
        Ok(())
    }

    /// Begins a capture.
    ///
    /// # Errors
    /// The task store cannot be opened.
    pub fn capture(&self) -> Result<CaptureWriter<'_>> {
        CaptureWriter::open(self)
    }

    /// Fails with [`engine::ports::IsolationError::Vanished`] if the tree of a workspace certainly
    /// does not exist any more and the workspace's folder holds nothing but the entries named in
    /// `own`, which the backend keeps there.
    ///
    /// # Errors
    /// The workspace has vanished.
    pub fn must_be_there(&self, workspace: &Workspace, own: &[&str]) -> Result<()> {
        workspace::must_be_there_beside(&workspace.folder, own)
    }

    /// Removes a workspace. The workspace is renamed first, so that recovery never takes a partly
    /// removed workspace for one with work in it. `forget` is called after the rename. Succeeds if
    /// the workspace does not exist any more.
    ///
    /// # Errors
    /// The workspace cannot be removed.
    pub fn remove_workspace(
        &self,
        workspace: &Workspace,
        forget: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        workspace::remove(&workspace.folder, &self.faults, &self.removals, forget)
    }
}
