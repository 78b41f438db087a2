//! Removes old work from the task store of one repository: references of captures, and what only
//! they lead to. The caller decides what may go. What is not known to belong to it stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use engine::failpoint;
use engine::fault::Faults;
use git2::Oid;
use protocol::{CaptureRef, RunName, TaskName};

use crate::baseline::{ContentLocation, read_file_list, remove_file_list};
use crate::error::{OrCannot, Result};
use crate::landing::is_any_open;
use crate::paths::{IsolationPaths, RepoPaths};
use crate::run_lock::RunLock;
use crate::store::{
    ExclusiveStore, NewPack, Reachable, StoreInUse, StoreReference, size_of_objects,
};
use crate::workspace::remove_set_aside;

/// The prefix of the references to the versions of landings.
const LANDINGS: &str = "refs/landings/";

/// The task store of one repository, opened to remove old work from it.
pub struct StoreRetention {
    paths: RepoPaths,
    store: ExclusiveStore,
    faults: Faults,
    references: Vec<StoreReference>,
}

/// The result of opening a store.
pub enum OpenedStore {
    /// The store is open.
    Opened(Box<StoreRetention>),
    /// There is no store of this repository.
    Missing,
    /// Another process removes old work from the store.
    Collecting,
    /// Other processes kept the store in use.
    Busy,
}

/// A capture in a task store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCapture {
    /// The task that its name gives; a resolution of conflicts has a name of its own.
    pub task: TaskName,
    /// Its reference.
    pub capture: CaptureRef,
    /// The id of its content; captures with equal content have equal ids.
    pub content: String,
    /// How the attempt ended, as its message says; `None` if it does not.
    pub outcome: Option<String>,
}

/// What a store and the folders beside it hold.
#[derive(Clone, Debug, Default)]
pub struct StoreContents {
    /// The size of the objects on the disk in bytes.
    pub bytes: u64,
    /// The captures by run, sorted.
    pub captures: BTreeMap<RunName, Vec<StoredCapture>>,
    /// The runs that other references belong to, such as pins and checkpoints.
    pub other_runs: BTreeSet<RunName>,
    /// The references that belong to no run.
    pub others: usize,
    /// The runs that have a folder of workspaces.
    pub folders: BTreeSet<RunName>,
    /// Why the objects of removed work must stay for now, if they must.
    pub in_use: Option<String>,
}

/// What is to be removed from a store.
#[derive(Clone, Debug, Default)]
pub struct Removal {
    /// Captures.
    pub captures: BTreeSet<CaptureRef>,
    /// Runs of which everything goes: also the other references that have their names.
    pub runs: BTreeSet<RunName>,
    /// Runs whose landings are no longer needed: the versions that they replaced and wrote.
    pub landings: BTreeSet<RunName>,
    /// The ids of contents that stay although no reference leads to them.
    pub versions: BTreeSet<String>,
}

/// A removal of which everything that stays is in a pack of its own.
pub struct PreparedRemoval {
    pack: Option<NewPack>,
    names: BTreeSet<String>,
}

impl StoreRetention {
    /// Removes the folders that ended runs in the repository with this canonical root have left. No work
    /// is in them.
    ///
    /// # Errors
    /// One of them cannot be removed.
    pub fn remove_ended_folders(root: &Path, paths: &IsolationPaths) -> Result<()> {
        remove_set_aside(&paths.of(root).workspaces)
    }

    /// Opens the store of the repository with this canonical root to look at it.
    ///
    /// # Errors
    /// The store is damaged or belongs to another user.
    pub fn look(root: &Path, paths: &IsolationPaths) -> Result<OpenedStore> {
        let paths = paths.of(root);
        if !is_there(&paths)? {
            return Ok(OpenedStore::Missing);
        }
        Self::of_locked(paths, ExclusiveStore::look, Faults::default())
    }

    /// Locks the store of the repository with this canonical root. Everybody else who opens it waits
    /// until the result is dropped.
    ///
    /// # Errors
    /// The store is damaged or belongs to another user, or its file system has no locks.
    pub fn lock(root: &Path, paths: &IsolationPaths, faults: &Faults) -> Result<OpenedStore> {
        let paths = paths.of(root);
        if !is_there(&paths)? {
            return Ok(OpenedStore::Missing);
        }
        Self::of_locked(paths, |path| ExclusiveStore::lock(path, faults), faults.clone())
    }

    fn of_locked(
        paths: RepoPaths,
        open: impl FnOnce(&Path) -> Result<std::result::Result<ExclusiveStore, StoreInUse>>,
        faults: Faults,
    ) -> Result<OpenedStore> {
        let store = match open(&paths.store)? {
            Ok(store) => store,
            Err(StoreInUse::Collecting) => return Ok(OpenedStore::Collecting),
            Err(StoreInUse::Busy) => return Ok(OpenedStore::Busy),
        };
        let references = store.references()?;
        Ok(OpenedStore::Opened(Box::new(Self { paths, store, faults, references })))
    }

    /// Returns the size of all objects in the store of a repository, in bytes; 0 if there is none.
    /// It waits for no other engine.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn bytes(root: &Path, paths: &IsolationPaths) -> Result<u64> {
        let objects = paths.of(root).store.join("objects");
        size_of_objects(&objects).or_cannot(|| format!("measure {}", objects.display()))
    }

    /// Returns the path of the store.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Returns what the store holds.
    ///
    /// # Errors
    /// The store or the folder of workspaces cannot be read.
    pub fn contents(&self) -> Result<StoreContents> {
        let mut contents = StoreContents { bytes: self.store.size()?, ..StoreContents::default() };
        for reference in &self.references {
            match (run_of(&reference.name), capture_of(&reference.name)) {
                (Some(run), Some((task, capture))) => {
                    let (content, outcome) = self.store.content_of(reference.target)?;
                    let captures = contents.captures.entry(run).or_default();
                    captures.push(StoredCapture { task, capture, content, outcome });
                }
                (Some(run), None) => {
                    contents.other_runs.insert(run);
                }
                (None, _) => contents.others += 1,
            }
        }
        self.find_folders(&mut contents)?;
        if is_any_open(&self.paths)? {
            contents.in_use = Some("a landing is not complete".to_owned());
        }
        Ok(contents)
    }

    /// Finds the runs with a folder of workspaces, and whether one of them goes on.
    fn find_folders(&self, contents: &mut StoreContents) -> Result<()> {
        let folder = &self.paths.workspaces;
        let what = || format!("look for workspaces in {}", folder.display());
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.or_cannot(what)?,
        };
        for entry in entries {
            let entry = entry.or_cannot(what)?;
            let Some(run) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if !matches!(RunLock::try_acquire(&entry.path()), Ok(Some(_free))) {
                contents.in_use = Some(format!("run {run} goes on"));
            }
            contents.folders.insert(run);
        }
        Ok(())
    }

    /// Returns for each of `groups`, which are captures, the sizes of the objects that none of the
    /// groups before leads to, in bytes.
    ///
    /// # Errors
    /// A capture is missing or damaged.
    pub fn weights(&self, groups: &[Vec<CaptureRef>]) -> Result<Vec<u64>> {
        let targets: BTreeMap<&str, Oid> =
            self.references.iter().map(|one| (one.name.as_str(), one.target)).collect();
        let mut reachable = Reachable::default();
        let mut weights = Vec::new();
        for group in groups {
            let mut weight = 0;
            for target in group.iter().filter_map(|capture| targets.get(capture.as_str())) {
                weight += reachable.add(&self.store, *target)?;
            }
            weights.push(weight);
        }
        Ok(weights)
    }

    /// Writes what stays to a pack of its own, durably, and removes nothing yet. If the store is in
    /// use, no pack is written, and the objects stay.
    ///
    /// # Errors
    /// What stays cannot be read, or the pack not be written. Nothing has changed then.
    pub fn prepare(&self, removal: &Removal, contents: &StoreContents) -> Result<PreparedRemoval> {
        let goes = |reference: &&StoreReference| match run_of(&reference.name) {
            Some(run) if removal.runs.contains(&run) => true,
            Some(run) if reference.name.starts_with(LANDINGS) => removal.landings.contains(&run),
            _ => capture_of(&reference.name)
                .is_some_and(|(_, capture)| removal.captures.contains(&capture)),
        };
        let (go, stay): (Vec<_>, Vec<_>) = self.references.iter().partition(goes);
        let names: BTreeSet<String> =
            go.into_iter().map(|reference| reference.name.clone()).collect();
        // Also if the objects stay, what is kept must be sound before anything goes.
        let mut kept = Reachable::default();
        let mut bytes = 0;
        for reference in stay {
            bytes += kept.add(&self.store, reference.target)?;
        }
        if contents.in_use.is_some() {
            return Ok(PreparedRemoval { pack: None, names });
        }
        for oid in self.named_versions(removal)? {
            bytes += kept.add_named(&self.store, oid)?;
        }
        if names.is_empty() && self.store.is_packed(&kept)? {
            return Ok(PreparedRemoval { pack: None, names });
        }
        Ok(PreparedRemoval { pack: Some(self.store.write_kept(&kept, bytes)?), names })
    }

    /// Returns the contents that no reference leads to, but conflicts and lists of files name.
    fn named_versions(&self, removal: &Removal) -> Result<BTreeSet<Oid>> {
        let mut named: BTreeSet<Oid> =
            removal.versions.iter().filter_map(|oid| Oid::from_str(oid).ok()).collect();
        for run in self.listed_runs()?.difference(&removal.runs) {
            let Some(table) = read_file_list(&self.paths, run)? else { continue };
            for entry in table.folders.values().flat_map(|folder| folder.files.values()) {
                match entry.source {
                    ContentLocation::Pin(oid) => drop(named.insert(oid)),
                    ContentLocation::Blob(_) | ContentLocation::Crlf(_) => {}
                }
            }
        }
        Ok(named)
    }

    /// Returns the runs of which a list of files is kept.
    fn listed_runs(&self) -> Result<BTreeSet<RunName>> {
        let lists = self.paths.landings.join("lists");
        match fs::read_dir(&lists) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(error).or_cannot(|| format!("list {}", lists.display())),
            Ok(entries) => {
                let name = |entry: std::io::Result<fs::DirEntry>| -> std::io::Result<_> {
                    Ok(entry?.file_name().to_str().and_then(|name| name.parse().ok()))
                };
                let names: std::io::Result<Vec<Option<RunName>>> = entries.map(name).collect();
                let names = names.or_cannot(|| format!("list {}", lists.display()))?;
                Ok(names.into_iter().flatten().collect())
            }
        }
    }

    /// Removes the journals of landings of these runs, which are done.
    fn remove_reports(&self, runs: &BTreeSet<RunName>) -> Result<()> {
        let done = self.paths.landings.join("done");
        let what = || format!("clear {}", done.display());
        let entries = match fs::read_dir(&done) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.or_cannot(what)?,
        };
        for entry in entries {
            let entry = entry.or_cannot(what)?;
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.split_once('.')).map(|(id, _)| id);
            if id.and_then(run_in).is_some_and(|run| runs.contains(&run)) {
                fs::remove_file(entry.path()).or_cannot(what)?;
            }
        }
        Ok(())
    }

    /// Removes what was prepared. Returns the size of the objects that are left, in bytes.
    ///
    /// # Errors
    /// Something cannot be removed. The next removal completes it.
    pub fn remove(&self, removal: &Removal, prepared: &PreparedRemoval) -> Result<u64> {
        self.store.remove_references(&prepared.names)?;
        failpoint!(self.faults, "gc.lists").or_cannot(|| "remove lists of files")?;
        for run in &removal.runs {
            remove_file_list(&self.paths, run)?;
        }
        self.remove_reports(&removal.runs)?;
        if let Some(pack) = &prepared.pack {
            self.store.remove_others(pack)?;
        }
        self.store.size()
    }
}

fn is_there(paths: &RepoPaths) -> Result<bool> {
    let head = paths.store.join("HEAD");
    head.try_exists().or_cannot(|| format!("open the task store {}", paths.store.display()))
}

/// Returns the run that a reference belongs to: `refs/KIND/RUN` or `refs/KIND/RUN-NUMBER`, or
/// anything below one of these.
fn run_of(name: &str) -> Option<RunName> {
    run_in(name.strip_prefix("refs/")?.split('/').nth(1)?)
}

/// Returns the run in `RUN` or `RUN-NUMBER`.
fn run_in(word: &str) -> Option<RunName> {
    let (run, number) = word.split_once('-').unwrap_or((word, "0"));
    number.parse::<u64>().ok()?;
    run.parse().ok()
}

/// Returns the capture that a reference is, with its task.
fn capture_of(name: &str) -> Option<(TaskName, CaptureRef)> {
    let (run, rest) = name.strip_prefix("refs/tasks/")?.split_once('/')?;
    let (task, attempt) = rest.split_once('/')?;
    let (run, task): (RunName, TaskName) = (run.parse().ok()?, task.parse().ok()?);
    let capture = CaptureRef::of(&run, &task, attempt.parse().ok()?);
    (capture.as_str() == name).then_some((task, capture))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_belongs_to_the_run_that_it_names_and_to_no_other() {
        let run = |name: &str| run_of(name).map(|run| run.to_string());
        for name in ["refs/tasks/r7k3f/a/1", "refs/pins/r7k3f", "refs/landings/r7k3f-12"] {
            assert_eq!(run(name).as_deref(), Some("r7k3f"), "{name}");
        }
        for name in ["refs/rescued/0123abcd", "refs/heads/main", "refs/landings/r7k3f-x", "HEAD"] {
            assert_eq!(run(name), None, "{name}");
        }
        assert!(capture_of("refs/tasks/r7k3f/a.b/12").is_some());
        for name in ["refs/tasks/r7k3f/a/01", "refs/tasks/r7k3f/a", "refs/checkpoints/r7k3f/a/1"] {
            assert!(capture_of(name).is_none(), "{name}");
        }
    }
}
