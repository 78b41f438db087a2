//! Captures in the task store: a commit without parents whose tree has the touched paths twice,
//! below `base/` as the task found them and below `task/` as it left them.

use std::collections::BTreeMap;

use git2::ErrorCode;
use protocol::{CaptureRef, RepoPath, RunName, TaskName};

use crate::entry::{Change, Entry};
use crate::error::{OrCannot, Result};
use crate::store::{Durability, TaskStore, trees};

impl TaskStore {
    /// Puts a capture into the store, durably. One of the same name is replaced.
    pub(crate) fn put_capture(
        &self,
        capture: &CaptureRef,
        changes: &[Change],
        message: &str,
    ) -> Result<()> {
        let side = |folder: &'static str, change: &Change, entry: Option<Entry>| {
            entry.map(|entry| ([folder.as_bytes(), change.path.as_bytes()].concat(), entry))
        };
        let entries: Vec<_> = changes
            .iter()
            .flat_map(|change| {
                [side("base/", change, change.base), side("task/", change, change.task)]
            })
            .flatten()
            .collect();
        self.point(capture.as_str(), &entries, message, Durability::Synced)
    }

    /// Returns what a capture holds, sorted by path.
    pub(crate) fn changes(&self, capture: &CaptureRef) -> Result<Vec<Change>> {
        let what = || format!("read {capture} from the task store {}", self.path.display());
        let entries = self
            .git
            .find_reference(capture.as_str())
            .and_then(|reference| reference.peel_to_tree())
            .and_then(|tree| trees::read(&self.git, tree.id()))
            .or_cannot(what)?;
        let mut changes = BTreeMap::new();
        for (path, entry) in entries {
            let (side, path) = path.split_at(path.len().min("base/".len()));
            let path = RepoPath::new(path).ok_or("a path in it is none").or_cannot(what)?;
            let change = changes.entry(path.clone());
            let change = change.or_insert(Change { path, base: None, task: None });
            match side {
                b"base/" => change.base = Some(entry),
                b"task/" => change.task = Some(entry),
                _ => return Err("it is not one of ours").or_cannot(what),
            }
        }
        Ok(changes.into_values().collect())
    }

    /// Returns whether there is a capture of this name.
    pub(crate) fn has_capture(&self, capture: &CaptureRef) -> Result<bool> {
        match self.git.find_reference(capture.as_str()) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error).or_cannot(|| format!("look for {capture}")),
        }
    }

    /// Returns the captures of a run, sorted by task and attempt.
    pub(crate) fn captures(&self, run: &RunName) -> Result<Vec<CaptureRef>> {
        let what = || format!("list the task store {}", self.path.display());
        let found = self.git.references_glob(&format!("refs/tasks/{run}/*")).or_cannot(what)?;
        let mut captures = Vec::new();
        for reference in found {
            let reference = reference.or_cannot(what)?;
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            // Whatever is not named as ours is not ours.
            captures.extend(parse(run, &name));
        }
        captures.sort();
        Ok(captures
            .into_iter()
            .map(|(task, attempt)| CaptureRef::of(run, &task, attempt))
            .collect())
    }

    /// Removes a capture. Succeeds if it is already gone.
    pub(crate) fn remove(&self, capture: &CaptureRef) -> Result<()> {
        self.release(capture.as_str())
    }
}

fn parse(run: &RunName, name: &str) -> Option<(TaskName, u32)> {
    let rest = name.strip_prefix(&format!("refs/tasks/{run}/"))?;
    let (task, attempt) = rest.split_once('/')?;
    Some((task.parse().ok()?, attempt.parse().ok()?))
}
