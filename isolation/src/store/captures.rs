//! Captures in the task store. A capture is a commit without parents whose tree has the changed
//! paths twice: below `base/` as the task found them and below `task/` as it left them. The last
//! lines of its message give the version of the format, the renames, the message of the commit that
//! the task made itself, the paths whose base is what the set-up of the task has left, all commits
//! that the task made, whose files are below `series/`, and what it did in nested repositories, the
//! files of whose commits are below `nested/`. Trailers for people follow: the attempt and how it ended.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Commit, ErrorCode, Oid};
use protocol::{CaptureRef, RepoPath, RunName, TaskName};

use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Rename};
use crate::nested::NestedWork;
use crate::store::nested_lines;
use crate::store::own_series::{self, Series};
use crate::store::{TaskStore, trees};

/// The version of the format. Captures of version 1 do not name their version.
const VERSION: u32 = 4;

/// The version of captures with commits of the task, and without nested repositories.
const SERIES_VERSION: u32 = 3;

/// The version of captures without commits of the task.
const PLAIN_VERSION: u32 = 2;

/// The prefix of the line with the version.
const VERSION_KEY: &str = "Capture-Version: ";

/// The prefix of each line with a rename, in JSON.
const RENAME_KEY: &str = "Capture-Rename: ";

/// The prefix of the line with the message of the task's own commit, in JSON.
const MESSAGE_KEY: &str = "Capture-Message: ";

/// The prefix of each line with a path whose base is what the set-up has left, in JSON.
const SETUP_KEY: &str = "Capture-Setup: ";

/// The changes in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The changed paths, sorted. A rename is two of them, a removed and an added path; the added
    /// one names the other if git recorded the rename.
    pub(crate) changes: Vec<Change>,
    /// The message of the only commit that the task made itself.
    pub(crate) message: Option<String>,
    /// The paths on which the task has changed the same lines as its set-up.
    pub(crate) setup: BTreeSet<RepoPath>,
    /// The commits that the task made itself.
    pub(crate) series: Series,
    /// What the task did in nested repositories in which it changed something, sorted by folder.
    pub(crate) nested: Vec<NestedWork>,
    /// The commit of the user's that the task has checked out, in the part of a nested repository.
    pub(crate) start: Option<Oid>,
}

impl TaskStore {
    /// Writes a capture durably. Replaces an existing capture of the same name.
    pub(crate) fn put_capture(
        &self,
        capture: &CaptureRef,
        contents: &Contents,
        title: &str,
    ) -> Result<()> {
        self.put_attempt(capture, contents, (title, ""))
    }

    /// Writes a capture like [`Self::put_capture`], with the last lines of its message.
    pub(crate) fn put_attempt(
        &self,
        capture: &CaptureRef,
        contents: &Contents,
        (title, trailers): (&str, &str),
    ) -> Result<()> {
        let side = |folder: &'static str, change: &Change, entry: Option<Entry>| {
            entry.map(|entry| ([folder.as_bytes(), change.path.as_bytes()].concat(), entry))
        };
        let entries: Vec<_> = contents
            .changes
            .iter()
            .flat_map(|change| {
                [side("base/", change, change.base), side("task/", change, change.task)]
            })
            .flatten()
            .chain(contents.series.entries())
            .chain(nested_lines::entries(&contents.nested))
            .collect();
        let version = match (contents.series.is_empty(), contents.nested.is_empty()) {
            (true, true) => PLAIN_VERSION,
            (false, true) => SERIES_VERSION,
            (_, false) => VERSION,
        };
        let mut message = format!("{title}\n\n{VERSION_KEY}{version}\n");
        for rename in contents.changes.iter().filter_map(Rename::of) {
            let rename = serde_json::to_string(&rename).or_cannot(|| format!("write {capture}"))?;
            message.push_str(&format!("{RENAME_KEY}{rename}\n"));
        }
        if let Some(own) = &contents.message {
            let own = serde_json::to_string(own).or_cannot(|| format!("write {capture}"))?;
            message.push_str(&format!("{MESSAGE_KEY}{own}\n"));
        }
        for path in &contents.setup {
            let path = serde_json::to_string(path).or_cannot(|| format!("write {capture}"))?;
            message.push_str(&format!("{SETUP_KEY}{path}\n"));
        }
        let nested = nested_lines::lines(&contents.nested);
        message.push_str(&nested.or_cannot(|| format!("write {capture}"))?);
        message.push_str(&contents.series.lines().or_cannot(|| format!("write {capture}"))?);
        message.push_str(trailers);
        self.write_capture(capture.as_str(), &entries, &message)
    }

    /// Returns the content of a capture.
    pub(crate) fn contents(&self, capture: &CaptureRef) -> Result<Contents> {
        let what = || format!("read {capture} from the task store {}", self.path.display());
        self.make_readable()?;
        let commit = self.commit_of(capture.as_str()).or_cannot(what)?;
        let entries = trees::read(self.reader(), commit.tree_id()).or_cannot(what)?;
        let mut changes = BTreeMap::new();
        let mut of_series = Vec::new();
        let mut of_nested = Vec::new();
        for (path, entry) in entries {
            if let Some(below) = path.strip_prefix(own_series::FOLDER.as_bytes()) {
                of_series.push((below.to_vec(), entry));
                continue;
            }
            if let Some(below) = path.strip_prefix(nested_lines::FOLDER.as_bytes()) {
                of_nested.push((below.to_vec(), entry));
                continue;
            }
            let (side, path) = path.split_at(path.len().min("base/".len()));
            let path = RepoPath::new(path).ok_or("a path in it is none").or_cannot(what)?;
            let change = changes.entry(path.clone());
            let change = change.or_insert(Change::new(path, None, None));
            match side {
                b"base/" => change.base = Some(entry),
                b"task/" => change.task = Some(entry),
                _ => return Err("it is not a capture").or_cannot(what),
            }
        }
        let renames = renames(&commit).or_cannot(what)?;
        let message = own_message(&commit);
        for Rename { from, to } in renames {
            let is_gone = changes.get(&from).is_some_and(|change| change.task.is_none());
            let new = changes.get_mut(&to).filter(|change| change.base.is_none());
            let Some(new) = new.filter(|_| is_gone) else {
                let because = format!("{from} and {to} are not what is gone and what is new");
                return Err(because).or_cannot(what);
            };
            new.from = Some(from);
        }
        let setup = setup_paths(&commit);
        let series = Series::read(&commit, of_series);
        let nested = nested_lines::read(&commit, &of_nested).or_cannot(what)?;
        let changes = changes.into_values().collect();
        Ok(Contents { changes, message, setup, series, nested, start: None })
    }

    /// Returns the changes of a capture, sorted by path.
    pub(crate) fn changes(&self, capture: &CaptureRef) -> Result<Vec<Change>> {
        Ok(self.contents(capture)?.changes)
    }

    /// Returns whether there is a capture of this name.
    pub(crate) fn has_capture(&self, capture: &CaptureRef) -> Result<bool> {
        self.make_readable()?;
        match self.commit_of(capture.as_str()) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error).or_cannot(|| format!("look for {capture}")),
        }
    }

    /// Returns the captures of a run, sorted by task and attempt.
    pub(crate) fn captures(&self, run: &RunName) -> Result<Vec<CaptureRef>> {
        let what = || format!("list the task store {}", self.path.display());
        self.settle()?;
        let found = self.git.references_glob(&format!("refs/tasks/{run}/*")).or_cannot(what)?;
        let mut captures = Vec::new();
        for reference in found {
            let reference = reference.or_cannot(what)?;
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            // References with other names are not captures.
            captures.extend(parse(run, &name));
        }
        captures.sort();
        Ok(captures
            .into_iter()
            .map(|(task, attempt)| CaptureRef::of(run, &task, attempt))
            .collect())
    }

    /// Removes the checkpoints of a run.
    pub(crate) fn remove_checkpoints(&self, run: &RunName) -> Result<()> {
        let what = || format!("list the task store {}", self.path.display());
        self.settle()?;
        let found =
            self.git.references_glob(&format!("refs/checkpoints/{run}/*")).or_cannot(what)?;
        for reference in found {
            let reference = reference.or_cannot(what)?;
            self.release(&String::from_utf8_lossy(reference.name_bytes()))?;
        }
        Ok(())
    }

    /// Removes a capture. Succeeds if it is already gone.
    pub(crate) fn remove(&self, capture: &CaptureRef) -> Result<()> {
        self.settle()?;
        self.release(capture.as_str())
    }
}

/// Returns the renames in the message of a capture.
///
/// # Errors
/// Fails if the capture has a later version of the format, or if a line cannot be parsed.
fn renames(commit: &Commit<'_>) -> std::result::Result<Vec<Rename>, String> {
    let message = String::from_utf8_lossy(commit.message_bytes());
    let mut renames = Vec::new();
    for line in message.lines() {
        if let Some(version) = line.strip_prefix(VERSION_KEY) {
            let known = version.parse::<u32>().is_ok_and(|version| version <= VERSION);
            if !known {
                return Err(format!("version {version} of its format is not known here"));
            }
        } else if let Some(rename) = line.strip_prefix(RENAME_KEY) {
            renames.push(serde_json::from_str(rename).map_err(|error| error.to_string())?);
        }
    }
    Ok(renames)
}

/// Returns the message of the task's own commit in the message of a capture.
fn own_message(commit: &Commit<'_>) -> Option<String> {
    let message = String::from_utf8_lossy(commit.message_bytes());
    let line = message.lines().find_map(|line| line.strip_prefix(MESSAGE_KEY))?;
    serde_json::from_str(line).ok()
}

/// Returns the paths in the message of a capture whose base is what the set-up has left.
fn setup_paths(commit: &Commit<'_>) -> BTreeSet<RepoPath> {
    let message = String::from_utf8_lossy(commit.message_bytes());
    let paths = message.lines().filter_map(|line| line.strip_prefix(SETUP_KEY));
    paths.filter_map(|path| serde_json::from_str(path).ok()).collect()
}

fn parse(run: &RunName, name: &str) -> Option<(TaskName, u32)> {
    let rest = name.strip_prefix(&format!("refs/tasks/{run}/"))?;
    let (task, attempt) = rest.split_once('/')?;
    Some((task.parse().ok()?, attempt.parse().ok()?))
}
