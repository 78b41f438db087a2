//! The copy of a snapshot in which the merged work of tasks is verified: merges the work into it, and
//! before that puts everything back that is not ignored. Nothing of it is captured or lands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::ports::{LandingTask, Workspace};
use protocol::{CaptureRef, RepoPath, TaskLanding};

use crate::baseline::{ContentReader, Snapshot};
use crate::capture::{ChangedPath, after_setup, changed_paths};
use crate::error::Result;
use crate::file_entry::Entry;
use crate::landing::WorkingTree;
use crate::merge::{MergeTarget as _, Merger, merge_tasks};
use crate::tree::{Tree, TreeEntry};
use crate::workspace::{
    LeftOrigin, Manifest, SetupFile, SetupState, SnapshotTarget, make_merged_copy, mark,
    remove_file, write_file,
};

/// Makes copies of a snapshot, and merges work into them. Every method may block.
pub trait MergedCopies: Send + Sync {
    /// Makes a copy with the carried files, which is removed with the folder of the run.
    ///
    /// # Errors
    /// The copy cannot be made.
    fn make(&self) -> Result<MergedCopy>;

    /// Makes the present contents of a copy its start.
    ///
    /// # Errors
    /// The copy cannot be read.
    fn accept_setup(&self, copy: &mut MergedCopy) -> Result<()>;

    /// Puts everything in a copy back that is not ignored, and merges the work of `tasks` into it.
    ///
    /// # Errors
    /// The copy cannot be read or written; it must not be used any more. Work that cannot be merged
    /// is not an error.
    fn merge(&self, copy: &mut MergedCopy, tasks: &[LandingTask]) -> Result<Vec<TaskLanding>>;

    /// Returns the paths of the last merge at which the user's working tree differs from the snapshot
    /// with the work of `landed`.
    ///
    /// # Errors
    /// The working tree cannot be read.
    fn edited(&self, copy: &MergedCopy, landed: &[LandingTask]) -> Result<Vec<RepoPath>>;
}

/// A copy in which work is verified.
#[derive(Debug)]
pub struct MergedCopy {
    place: Workspace,
    /// What the copy is when nothing has written to it. The work of tasks takes the place of that of
    /// predecessors.
    manifest: Manifest,
}

impl MergedCopy {
    /// Returns the root of the copy of the working tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.place.root
    }
}

type Changes = BTreeMap<RepoPath, Option<Entry>>;

impl MergedCopies for Snapshot {
    fn make(&self) -> Result<MergedCopy> {
        let (place, manifest) = make_merged_copy(self)?;
        Ok(MergedCopy { place, manifest })
    }

    fn accept_setup(&self, copy: &mut MergedCopy) -> Result<()> {
        let manifest = after_setup(self, &copy.place.folder, copy.manifest.clone(), None)?;
        // What the set-up has made can be put back only if its content is kept.
        if let SetupState::Done(changes) = &manifest.setup {
            let bytes = ContentReader::open(self)?;
            let tree = Tree::open_at(&copy.place.root)?;
            for (path, file) in &changes.files {
                let SetupFile::Left(left) = file else { continue };
                if left.origin == LeftOrigin::Made && left.content.is_some() {
                    match tree.read_entry(path)? {
                        TreeEntry::File { bytes: content, .. }
                        | TreeEntry::Link { target: content, .. } => {
                            bytes.store.write(&content)?;
                        }
                        TreeEntry::Missing
                        | TreeEntry::Blocked(_)
                        | TreeEntry::Folder
                        | TreeEntry::Special => {}
                    }
                }
            }
        }
        copy.manifest = manifest;
        Ok(())
    }

    fn merge(&self, copy: &mut MergedCopy, tasks: &[LandingTask]) -> Result<Vec<TaskLanding>> {
        let (landings, wanted) = merged(self, tasks)?;
        let bytes = ContentReader::open(self)?;
        let MergedCopy { place, manifest } = copy;
        let found = changed_paths(self, &place.folder, manifest, &bytes)?;
        let found: Changes =
            found.into_iter().map(|ChangedPath { path, now }| (path, now)).collect();
        let mut removed = Vec::new();
        let mut written = Vec::new();
        let paths: BTreeSet<&RepoPath> =
            found.keys().chain(manifest.predecessor_changes.keys()).chain(wanted.keys()).collect();
        for path in paths {
            let was = match manifest.predecessor_changes.get(path) {
                Some(change) => Start::Known(*change),
                None => start(self, &bytes, manifest, path)?,
            };
            let now = found.get(path).map_or(was, |now| Start::Known(*now));
            let want = match wanted.get(path) {
                Some(change) => Start::Known(*change),
                None => start(self, &bytes, manifest, path)?,
            };
            match (now, want) {
                // A large file of the set-up stays as it is.
                (_, Start::Unknown) => {}
                (now, want) if now == want => {}
                (_, Start::Known(Some(entry))) => written.push((path.clone(), entry)),
                (_, Start::Known(None)) => removed.push(path.clone()),
            }
        }
        // Removals come first, because a new file or folder may need a removed path.
        for path in removed.iter().rev() {
            remove_file(&place.root, path)?;
        }
        for (path, entry) in written {
            write_file(&place.root, &path, entry, &bytes.store)?;
        }
        manifest.predecessor_changes = wanted;
        manifest.marker_ns = mark(&place.folder)?;
        Ok(landings)
    }

    fn edited(&self, copy: &MergedCopy, landed: &[LandingTask]) -> Result<Vec<RepoPath>> {
        let bytes = ContentReader::open(self)?;
        let roots = landed.iter().filter_map(|task| bytes.store.nested_roots(&task.capture).ok());
        let roots: Vec<RepoPath> = roots.flatten().collect();
        let (_, landed) = merged(self, landed)?;
        let tree = Tree::open_at(&self.context.repo.root)?;
        let user = WorkingTree::of(&tree, &bytes.store).with_nested(roots.into_iter());
        let mut edited = Vec::new();
        for path in copy.manifest.predecessor_changes.keys() {
            let expected = match (landed.get(path), self.table.get(path)) {
                (Some(change), _) => *change,
                (None, Some(frozen)) => Some(bytes.entry(path, frozen)?),
                (None, None) => None,
            };
            if user.state_of(path)?.entry() != expected {
                edited.push(path.clone());
            }
        }
        Ok(edited)
    }
}

/// What a path is at the start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// A file or symlink, or nothing.
    Known(Option<Entry>),
    /// A file whose content is not kept.
    Unknown,
}

/// Returns what a path is without the work of any task.
fn start(
    snapshot: &Snapshot,
    bytes: &ContentReader,
    manifest: &Manifest,
    path: &RepoPath,
) -> Result<Start> {
    Ok(match manifest.setup.file(path) {
        Some(SetupFile::Removed) => Start::Known(None),
        Some(SetupFile::Left(left)) => match left.content {
            Some(entry) => Start::Known(Some(entry)),
            None => Start::Unknown,
        },
        None => match snapshot.table.get(path) {
            Some(frozen) => Start::Known(Some(bytes.entry(path, frozen)?)),
            None => Start::Known(None),
        },
    })
}

/// Merges the work of tasks over the snapshot, in memory. Returns the result for each task, and the
/// changes to the snapshot.
fn merged(snapshot: &Snapshot, tasks: &[LandingTask]) -> Result<(Vec<TaskLanding>, Changes)> {
    let target = SnapshotTarget::open(snapshot)?;
    let rules = snapshot.context.merge_rules()?;
    let store = target.store();
    let mut merger = Merger::over(&target, store).under(&rules);
    let changes_of = |capture: &CaptureRef| store.changes(capture);
    let landings = merge_tasks(&mut merger, (tasks, &[]), &changes_of);
    let changes = merger.finish().into_iter().map(|(path, merged)| (path, merged.after));
    Ok((landings, changes.collect()))
}
