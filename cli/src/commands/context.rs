//! The context of the commands that read runs and captured work, and how they write results.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{Clock, IsolationError, LedgerStore};
use isolation::{CapturedFile, PatchNeeds, WorkInTree};
use protocol::{
    CaptureRef, Conflict, ConflictHunk, LedgerEntry, RepoPath, RunName, RunSpec, TaskName,
};
use serde::Serialize;
use store::Reader;

use super::run::RunResult;
use crate::render::{CommandHints, OutputWidth, Terminal, View, printable_json, wrapped};
use crate::resolve::Defaults;
use regatta::app_context::{AppContext, isolation_places};
use regatta::error::{Error, ErrorKind};

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

impl CapturedWork for isolation::Captures {
    fn patch(&self, capture: &CaptureRef) -> Result<Vec<u8>, IsolationError> {
        self.diff(capture, &isolation::PathFilter::Everything)
    }

    fn in_tree(
        &self,
        root: &Path,
        captures: &[CaptureRef],
    ) -> Result<Vec<WorkInTree>, IsolationError> {
        self.in_tree(root, captures)
    }

    fn has_branch(&self, root: &Path, branch: &str) -> Result<bool, IsolationError> {
        Self::has_branch(root, branch)
    }

    fn content(&self, oid: &str) -> Result<Vec<u8>, IsolationError> {
        self.read(oid)
    }

    fn conflict_hunks(&self, conflict: &Conflict) -> Result<Vec<ConflictHunk>, IsolationError> {
        self.conflict_hunks(conflict)
    }

    fn text(&self, path: &RepoPath, bytes: Vec<u8>) -> Vec<u8> {
        Self::text(self, path, &bytes)
    }

    fn encoding_fault(&self, path: &RepoPath) -> Option<String> {
        self.encoding_fault(path)
    }

    fn marked_text(
        &self,
        root: &Path,
        conflict: &Conflict,
    ) -> Result<Option<Vec<u8>>, IsolationError> {
        self.marked_text(root, conflict)
    }

    fn check_can_stage(
        &self,
        root: &Path,
        capture: &CaptureRef,
        conflicts: &[Conflict],
    ) -> Result<(), IsolationError> {
        self.check_can_stage(root, capture, conflicts)
    }

    fn stage_merge(
        &self,
        root: &Path,
        capture: &CaptureRef,
        conflicts: &[Conflict],
    ) -> Result<(), IsolationError> {
        self.stage_merge(root, capture, conflicts)
    }

    fn keep_sides(&self, root: &Path, conflicts: &[Conflict]) -> Result<(), IsolationError> {
        self.keep_sides(root, conflicts)
    }

    fn check_in_one_repository(&self, capture: &CaptureRef) -> Result<(), IsolationError> {
        self.check_in_one_repository(capture)
    }

    fn keep_resolution(
        &self,
        work: (&RunName, &TaskName),
        written: &[(&Conflict, &[u8])],
    ) -> Result<CaptureRef, IsolationError> {
        self.keep_resolution(work, written)
    }

    fn resolutions(
        &self,
        run: &RunName,
        task: &TaskName,
    ) -> Result<Vec<CaptureRef>, IsolationError> {
        self.resolutions(run, task)
    }

    fn files(&self, capture: &CaptureRef) -> Result<CapturedFiles, IsolationError> {
        self.files(capture)
    }

    fn patch_needs(&self, root: &Path, capture: &CaptureRef) -> Result<PatchNeeds, IsolationError> {
        self.patch_needs(root, capture)
    }

    fn store(&self) -> &Path {
        self.store()
    }

    fn make_branch(
        &self,
        root: &Path,
        work: (&RunName, &CaptureRef),
        branch: (&str, &str),
    ) -> Result<String, IsolationError> {
        self.make_branch(root, work, branch)
    }

    fn remove(&self, run: &RunName, capture: &CaptureRef) -> Result<(), IsolationError> {
        self.remove(run, capture)
    }
}

/// The files that the work in a capture changed.
pub type CapturedFiles = BTreeMap<RepoPath, CapturedFile>;

/// The port to agents that resolve conflicts: does one run of its own.
#[async_trait(?Send)]
pub trait ResolverRuns: Send + Sync {
    /// The models and limits of the settings.
    async fn defaults(&self) -> Defaults;

    /// Does a run in the repository, and returns its name when it has ended.
    ///
    /// # Errors
    /// The run could not be started, or was stopped.
    async fn run(&self, spec: RunSpec) -> Result<RunResult, Error>;
}

/// A repository with its ledger, its captured work and the output options.
#[derive(Clone)]
pub struct CommandContext {
    /// The canonical root of the repository.
    pub root: PathBuf,
    /// Writes the ledger.
    pub ledger: Arc<dyn LedgerStore>,
    /// Reads the ledger.
    pub reader: Arc<Reader>,
    /// The work in the repository's task store.
    pub captured: Arc<dyn CapturedWork>,
    /// Where the logs and outputs of tasks are kept.
    pub artifacts: PathBuf,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// The format, verbosity and colours of the output.
    pub view: View,
    /// Formats the commands that are suggested to the user.
    pub hints: CommandHints,
    /// Does the runs of agents that resolve conflicts, for commands that may have some.
    pub resolvers: Option<Arc<dyn ResolverRuns>>,
}

impl CommandContext {
    /// Returns the context of the repository at `root`.
    #[must_use]
    pub fn of(app: &AppContext, root: PathBuf, view: View, hints: CommandHints) -> Self {
        let places = isolation_places(&app.places);
        let captured = isolation::Captures::of(&root, &places);
        Self {
            root,
            ledger: Arc::clone(&app.ledger) as Arc<_>,
            reader: Arc::new(app.ledger.reader()),
            captured: Arc::new(captured),
            artifacts: app.places.all_artifacts(),
            clock: Arc::clone(&app.clock),
            view,
            hints,
            resolvers: None,
        }
    }

    /// Records entries in the ledger, durably.
    pub(super) async fn record(&self, entries: Vec<LedgerEntry>) -> Result<(), Error> {
        let now = self.clock.now();
        let entries = entries.into_iter().map(|entry| (now, entry)).collect();
        Ok(self.ledger.append(entries).await?)
    }
}

/// How to see the lines that are folded where `--verbose` unfolds them.
pub(super) const ALL: &str = "-v lists all";

/// Where a command writes its result.
pub trait Output: Write {
    /// Returns the maximum length of a line.
    fn room(&self) -> OutputWidth;
}

impl Output for io::Stdout {
    fn room(&self) -> OutputWidth {
        Terminal::here().stdout_room()
    }
}

impl Output for Vec<u8> {
    fn room(&self) -> OutputWidth {
        OutputWidth::Pipe
    }
}

/// The output of a command.
pub type Out<'a> = &'a mut (dyn Output + Send);

/// Writes lines of a result. On a terminal, long ones are wrapped.
pub(super) fn say(out: Out<'_>, text: &str) -> Result<(), Error> {
    let text = wrapped(text, out.room());
    write_text(out, &text)
}

/// Writes lines that were not written by this program, or that a program reads. They are not wrapped.
pub(super) fn write_text(out: Out<'_>, text: &str) -> Result<(), Error> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| Error::output(&error))
}

/// Writes a result as one JSON document.
pub(super) fn print_json(out: Out<'_>, value: &impl Serialize) -> Result<(), Error> {
    let document = serde_json::to_string_pretty(value).map_err(|error| {
        Error::new(ErrorKind::Bug, "cannot write the result as JSON").caused_by(&error)
    })?;
    write_text(out, &printable_json(document))
}
