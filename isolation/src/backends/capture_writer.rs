//! Writes the changes of a task to the task store. All backends use this writer.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use engine::failpoint;
use engine::ports::AttemptEnd;
use protocol::{CaptureRef, Captured, ChangeSummary, LeftOut, RepoPath, RunName, TaskName};

use crate::backends::RunContext;
use crate::capture::{count_lines, count_renames};
use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Mode};
use crate::git_texts::GitTexts;
use crate::nested::NestedWork;
use crate::store::{Contents, Series, TaskStore, attempt_lines};

/// One version of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// The mode of the path.
    pub mode: Mode,
    /// The bytes of the file as in the working tree; for a symlink, its target.
    pub bytes: Vec<u8>,
}

/// Writes the changes of a task to the task store, path by path.
pub struct CaptureWriter<'a> {
    context: &'a RunContext,
    store: TaskStore,
    list: ChangeList,
}

impl<'a> CaptureWriter<'a> {
    pub(super) fn open(context: &'a RunContext) -> Result<Self> {
        let store = TaskStore::open(&context.paths.store)?;
        store.begin_capture(&context.paths.journal);
        Ok(Self { context, store, list: ChangeList::default() })
    }

    /// Adds a path with its versions before and after the task, `None` where it does not exist. A
    /// path with equal versions is not added.
    ///
    /// # Errors
    /// The bytes cannot be written.
    pub fn add(
        &mut self,
        path: RepoPath,
        before: Option<&FileVersion>,
        after: Option<&FileVersion>,
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        let base = before.map(|version| self.write(version)).transpose()?;
        let task = after.map(|version| self.write(version)).transpose()?;
        let bytes = |version: Option<&FileVersion>| version.map_or(vec![], |it| it.bytes.clone());
        self.list.add(self.context, Change::new(path, base, task), &bytes(before), &bytes(after))
    }

    /// Sets the report of the task's files that no capture can contain.
    pub fn leave_out(&mut self, left_out: LeftOut) {
        self.list.left_out = left_out;
    }

    /// Records the added changes durably as the capture of an attempt at a task that ended so.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub fn keep(self, task: &TaskName, attempt: u32, end: &AttemptEnd) -> Result<Captured> {
        self.list.keep(self.context, &self.store, (task, attempt), end)
    }

    /// Records the added changes for a workspace that a dead engine has left. If a capture with the
    /// same changes exists, writes nothing and returns that one. If its changes differ, records a
    /// second capture under the next free attempt number.
    ///
    /// # Errors
    /// The capture cannot be written, or an existing capture cannot be read.
    pub fn keep_recovered(self, task: &TaskName, attempt: u32) -> Result<Captured> {
        self.list.keep_recovered(self.context, &self.store, task, attempt)
    }

    /// Records the added changes durably as the checkpoint of an attempt at a task, which replaces
    /// the previous one.
    ///
    /// # Errors
    /// The checkpoint cannot be written.
    pub fn keep_checkpoint(self, task: &TaskName, attempt: u32) -> Result<Captured> {
        self.list.keep_checkpoint(self.context, &self.store, task, attempt)
    }

    fn write(&self, version: &FileVersion) -> Result<Entry> {
        Ok(Entry { mode: version.mode, oid: self.store.write(&version.bytes)? })
    }
}

/// The changes of a task before they are recorded as a capture. Their bytes are in the task store,
/// but no git reference points to them yet.
#[derive(Default)]
pub(crate) struct ChangeList {
    changes: Vec<Change>,
    summary: ChangeSummary,
    /// In which the lines are counted.
    texts: OnceCell<GitTexts>,
    /// The report of the task's files that no capture can contain.
    pub(crate) left_out: LeftOut,
    /// The message of the only commit that the task made itself.
    pub(crate) message: Option<String>,
    /// The commits that the task made itself.
    pub(crate) series: Series,
    /// The paths on which the task has changed the same lines as its set-up.
    pub(crate) setup: BTreeSet<RepoPath>,
    /// What the task did in nested repositories.
    pub(crate) nested: Vec<NestedWork>,
}

impl ChangeList {
    /// Returns the changes that were added so far.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Sets the old path of each new file that git recorded as renamed, by its new path.
    pub(crate) fn set_renames(&mut self, mut from: BTreeMap<RepoPath, RepoPath>) {
        for change in &mut self.changes {
            change.from = from.remove(&change.path);
        }
    }

    /// Adds a change whose bytes are in the task store already.
    pub(crate) fn add(
        &mut self,
        context: &RunContext,
        change: Change,
        before: &[u8],
        after: &[u8],
    ) -> Result<()> {
        let what = || format!("capture {}", change.path);
        failpoint!(context.faults, "capture.blobs").or_cannot(what)?;
        let texts = self.texts.get_or_init(|| GitTexts::of(context.root()));
        let [before, after] = [before, after].map(|bytes| texts.text(&change.path, bytes));
        count_lines(&mut self.summary, &before, &after).or_cannot(what)?;
        self.changes.push(change);
        Ok(())
    }

    /// Records the list durably as the capture of an attempt at a task that ended so.
    pub(crate) fn keep(
        self,
        context: &RunContext,
        store: &TaskStore,
        (task, attempt): (&TaskName, u32),
        end: &AttemptEnd,
    ) -> Result<Captured> {
        let capture = CaptureRef::of(&context.run, task, attempt);
        self.put(context, store, capture, &CaptureTitle::of(context, (task, attempt), *end))
    }

    /// Records the list under the first attempt number, from `attempt` on, that has no capture. If
    /// one of the existing captures has the same changes, returns that one instead.
    pub(crate) fn keep_recovered(
        mut self,
        context: &RunContext,
        store: &TaskStore,
        task: &TaskName,
        attempt: u32,
    ) -> Result<Captured> {
        self.sort();
        let mut free = attempt;
        loop {
            let capture = CaptureRef::of(&context.run, task, free);
            if !store.has_capture(&capture)? {
                let title = CaptureTitle::of(context, (task, attempt), AttemptEnd::default());
                return self.put(context, store, capture, &title);
            }
            if store.changes(&capture)? == self.changes {
                self.count_renames(context, store)?;
                return Ok(self.captured(capture));
            }
            free = free.saturating_add(1);
        }
    }

    /// Records the list durably as the checkpoint of an attempt at a task.
    pub(crate) fn keep_checkpoint(
        self,
        context: &RunContext,
        store: &TaskStore,
        task: &TaskName,
        attempt: u32,
    ) -> Result<Captured> {
        let checkpoint = CaptureRef::checkpoint_of(&context.run, task, attempt);
        let line = format!("Checkpoint of {}/{task} {attempt}", context.run);
        self.put(context, store, checkpoint, &CaptureTitle { line, attempt: None })
    }

    fn put(
        mut self,
        context: &RunContext,
        store: &TaskStore,
        capture: CaptureRef,
        title: &CaptureTitle<'_>,
    ) -> Result<Captured> {
        self.sort();
        self.count_renames(context, store)?;
        failpoint!(context.faults, "capture.ref").or_cannot(|| format!("write {capture}"))?;
        // Tests plan a failure here for a capture that is reported and then cannot be found.
        if failpoint!(context.faults, "capture.lost").is_ok() {
            let changes = std::mem::take(&mut self.changes);
            let trailers = title.trailers(changes.len());
            let message = self.message.take();
            let setup = std::mem::take(&mut self.setup);
            let series = std::mem::take(&mut self.series);
            let nested = std::mem::take(&mut self.nested);
            let contents =
                Contents { changes, message, setup, series, nested, ..Contents::default() };
            store.put_attempt(&capture, &contents, (&title.line, &trailers))?;
        }
        Ok(self.captured(capture))
    }

    fn count_renames(&mut self, context: &RunContext, store: &TaskStore) -> Result<()> {
        let texts = self.texts.get_or_init(|| GitTexts::of(context.root()));
        count_renames(&mut self.summary, (store, texts), &self.changes)
    }

    fn sort(&mut self) {
        self.changes.sort_by(|left, right| left.path.cmp(&right.path));
    }

    fn captured(self, capture: CaptureRef) -> Captured {
        Captured { capture, changes: self.summary, left_out: self.left_out }
    }
}

/// What the message of a capture says besides what is in it.
struct CaptureTitle<'a> {
    line: String,
    /// The attempt and how it ended; `None` for a checkpoint, whose attempt goes on.
    attempt: Option<(&'a RunName, &'a TaskName, u32, AttemptEnd)>,
}

impl<'a> CaptureTitle<'a> {
    fn of(context: &'a RunContext, of: (&'a TaskName, u32), end: AttemptEnd) -> Self {
        let (run, (task, attempt)) = (&context.run, of);
        let line = format!("{run}/{task} {attempt}");
        Self { line, attempt: Some((run, task, attempt, end)) }
    }

    fn trailers(&self, files: usize) -> String {
        let lines = |(run, task, attempt, end): (_, _, _, AttemptEnd)| {
            attempt_lines((run, task, attempt), &end, files)
        };
        self.attempt.map(lines).unwrap_or_default()
    }
}
