//! The port to the captured work of a repository, for those who show, land and remove it.

use std::collections::BTreeMap;
use std::path::Path;

use engine::ports::IsolationError;
use protocol::{CaptureRef, Conflict, ConflictHunk, RepoPath, RunName, TaskName};

use crate::captures::CapturedFile;
use crate::landing::WorkInTree;
use crate::store::PatchNeeds;

/// The files that the work in a capture changed.
pub type CapturedFiles = BTreeMap<RepoPath, CapturedFile>;

/// The port to captured work: reads it as a patch, and removes it.
pub trait CapturedWork: Send + Sync {
    /// Returns the work as a patch that `git apply` takes.
    ///
    /// # Errors
    /// The capture does not exist, or cannot be read.
    fn patch(&self, capture: &CaptureRef) -> Result<Vec<u8>, IsolationError>;

    /// Returns, for each capture, whether its work is in the working tree at `root` now. The captures
    /// are given in the order of their landing.
    ///
    /// # Errors
    /// A capture does not exist, or the tree cannot be read.
    fn in_tree(
        &self,
        root: &Path,
        captures: &[CaptureRef],
    ) -> Result<Vec<WorkInTree>, IsolationError>;

    /// Returns whether the repository at `root` has this branch.
    ///
    /// # Errors
    /// The repository cannot be read.
    fn has_branch(&self, root: &Path, branch: &str) -> Result<bool, IsolationError>;

    /// Returns the content with this id, which is one side of a conflict.
    ///
    /// # Errors
    /// The task store has no such content, or cannot be read.
    fn content(&self, oid: &str) -> Result<Vec<u8>, IsolationError>;

    /// Returns the places at which both sides of a conflict changed the same lines.
    ///
    /// # Errors
    /// The task store lacks a version, or cannot be read.
    fn conflict_hunks(&self, conflict: &Conflict) -> Result<Vec<ConflictHunk>, IsolationError>;

    /// Returns the bytes of a version of a file as git has them, in UTF-8.
    fn text(&self, path: &RepoPath, bytes: Vec<u8>) -> Vec<u8>;

    /// Returns why a file cannot be converted from its encoding, which it names; `None` if it has none.
    fn encoding_fault(&self, path: &RepoPath) -> Option<String>;

    /// Returns the text of a conflict with git's markers; `None` if a version has no lines.
    ///
    /// # Errors
    /// The task store lacks a version, or cannot be read.
    fn marked_text(
        &self,
        root: &Path,
        conflict: &Conflict,
    ) -> Result<Option<Vec<u8>>, IsolationError>;

    /// Checks that the paths of a capture and of conflicts can be staged as git would.
    ///
    /// # Errors
    /// The user has staged something there, a file needs a filter program, or the index cannot be
    /// read.
    fn check_can_stage(
        &self,
        root: &Path,
        capture: &CaptureRef,
        conflicts: &[Conflict],
    ) -> Result<(), IsolationError>;

    /// Leaves the user's index as `git merge` would with these conflicts.
    ///
    /// # Errors
    /// The index cannot be written.
    fn stage_merge(
        &self,
        root: &Path,
        capture: &CaptureRef,
        conflicts: &[Conflict],
    ) -> Result<(), IsolationError>;

    /// Checks that all of the work in a capture is in the user's own repository, so that its conflicts
    /// can be settled on a branch.
    ///
    /// # Errors
    /// A part of it is in a nested repository.
    fn check_in_one_repository(&self, capture: &CaptureRef) -> Result<(), IsolationError>;

    /// Writes to the task store the sides of conflicts that it lacks.
    ///
    /// # Errors
    /// The repository cannot be read, or the task store cannot be written.
    fn keep_sides(&self, root: &Path, conflicts: &[Conflict]) -> Result<(), IsolationError>;

    /// Captures what a resolver wrote for conflicts of a task.
    ///
    /// # Errors
    /// The task store cannot be written.
    fn keep_resolution(
        &self,
        work: (&RunName, &TaskName),
        written: &[(&Conflict, &[u8])],
    ) -> Result<CaptureRef, IsolationError>;

    /// Returns the captures of what resolvers wrote for conflicts of a task.
    ///
    /// # Errors
    /// The task store cannot be read.
    fn resolutions(
        &self,
        run: &RunName,
        task: &TaskName,
    ) -> Result<Vec<CaptureRef>, IsolationError>;

    /// Returns both versions of each file that the work in a capture changed.
    ///
    /// # Errors
    /// The capture does not exist, or cannot be read.
    fn files(&self, capture: &CaptureRef) -> Result<CapturedFiles, IsolationError>;

    /// Returns which versions `git apply --3way` would lack for the patch of a capture.
    ///
    /// # Errors
    /// The capture does not exist, or the repository cannot be read.
    fn patch_needs(&self, root: &Path, capture: &CaptureRef) -> Result<PatchNeeds, IsolationError>;

    /// Returns the path of the task store.
    fn store(&self) -> &Path;

    /// Makes a branch, by its name and the message of its commit, of the work in a capture. Returns
    /// the id of its commit.
    ///
    /// # Errors
    /// The branch cannot be made.
    fn make_branch(
        &self,
        root: &Path,
        work: (&RunName, &CaptureRef),
        branch: (&str, &str),
    ) -> Result<String, IsolationError>;

    /// Removes the work. Succeeds if it is already gone.
    ///
    /// # Errors
    /// The capture cannot be removed.
    fn remove(&self, run: &RunName, capture: &CaptureRef) -> Result<(), IsolationError>;
}
