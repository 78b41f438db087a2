//! Fake captures that record their calls, for the tests of the commands.

use std::path::Path;
use std::sync::Mutex;

use engine::ports::IsolationError;
use isolation::{CapturedFiles, CapturedWork, PatchNeeds, WorkInTree};
use protocol::{CaptureRef, Conflict, ConflictHunk, RepoPath, RunName, TaskName};

/// Captures whose patch is their name.
#[derive(Default)]
pub(super) struct FakeCaptures {
    /// The captures that were removed.
    pub(super) removed: Mutex<Vec<CaptureRef>>,
    /// The captures that are not in the working tree.
    pub(super) gone: Mutex<Vec<CaptureRef>>,
    /// Whether the versions of conflicts cannot be read.
    pub(super) are_damaged: bool,
    /// Whether files are in an encoding of which git has another text.
    pub(super) are_encoded: bool,
}

impl CapturedWork for FakeCaptures {
    fn patch(&self, capture: &CaptureRef) -> Result<Vec<u8>, IsolationError> {
        Ok(format!("patch of {capture}\n\u{1b}[2J").into_bytes())
    }

    fn in_tree(
        &self,
        _root: &Path,
        captures: &[CaptureRef],
    ) -> Result<Vec<WorkInTree>, IsolationError> {
        let gone = self.gone.lock().unwrap();
        let compare = |capture| match gone.contains(capture) {
            true => WorkInTree::Missing(RepoPath::new("a.txt").into_iter().collect()),
            false => WorkInTree::Whole,
        };
        Ok(captures.iter().map(compare).collect())
    }

    fn has_branch(&self, _root: &Path, _branch: &str) -> Result<bool, IsolationError> {
        Ok(true)
    }

    fn content(&self, oid: &str) -> Result<Vec<u8>, IsolationError> {
        Ok(oid.as_bytes().to_vec())
    }

    fn conflict_hunks(&self, _conflict: &Conflict) -> Result<Vec<ConflictHunk>, IsolationError> {
        match self.are_damaged {
            true => Err(IsolationError::Failed {
                what: "read a version".to_owned(),
                source: "it is damaged".into(),
            }),
            false => Ok(Vec::new()),
        }
    }

    fn text(&self, _path: &RepoPath, bytes: Vec<u8>) -> Vec<u8> {
        if self.are_encoded { b"decoded\n".to_vec() } else { bytes }
    }

    fn encoding_fault(&self, _path: &RepoPath) -> Option<String> {
        Some("git converts it from SHIFT-JIS".to_owned())
    }

    fn marked_text(
        &self,
        _root: &Path,
        _conflict: &Conflict,
    ) -> Result<Option<Vec<u8>>, IsolationError> {
        Ok(None)
    }

    fn check_can_stage(
        &self,
        _root: &Path,
        _capture: &CaptureRef,
        _conflicts: &[Conflict],
    ) -> Result<(), IsolationError> {
        Ok(())
    }

    fn stage_merge(
        &self,
        _root: &Path,
        _capture: &CaptureRef,
        _conflicts: &[Conflict],
    ) -> Result<(), IsolationError> {
        unreachable!("the tests stage nothing")
    }

    fn check_in_one_repository(&self, _capture: &CaptureRef) -> Result<(), IsolationError> {
        Ok(())
    }

    fn keep_sides(&self, _root: &Path, _conflicts: &[Conflict]) -> Result<(), IsolationError> {
        Ok(())
    }

    fn keep_resolution(
        &self,
        _work: (&RunName, &TaskName),
        _written: &[(&Conflict, &[u8])],
    ) -> Result<CaptureRef, IsolationError> {
        unreachable!("the tests resolve nothing")
    }

    fn resolutions(
        &self,
        _run: &RunName,
        _task: &TaskName,
    ) -> Result<Vec<CaptureRef>, IsolationError> {
        Ok(Vec::new())
    }

    fn files(&self, _capture: &CaptureRef) -> Result<CapturedFiles, IsolationError> {
        unreachable!("the tests resolve nothing")
    }

    fn patch_needs(
        &self,
        _root: &Path,
        _capture: &CaptureRef,
    ) -> Result<PatchNeeds, IsolationError> {
        Ok(PatchNeeds::default())
    }

    fn store(&self) -> &Path {
        Path::new("/store.git")
    }

    fn make_branch(
        &self,
        _root: &Path,
        _work: (&RunName, &CaptureRef),
        _branch: (&str, &str),
    ) -> Result<String, IsolationError> {
        unreachable!("the tests make no branch")
    }

    fn remove(&self, _run: &RunName, capture: &CaptureRef) -> Result<(), IsolationError> {
        self.removed.lock().unwrap().push(capture.clone());
        Ok(())
    }
}
