//! Captures a workspace: finds the paths that may have changed, compares them with their originals,
//! and writes the changes to the task store.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::Index;
use protocol::{CaptureRef, Captured, ChangeSummary, RepoPath};

use crate::backends::ChangeList;
use crate::baseline::{ContentReader, Snapshot};
use crate::capture::compare::{Compared, compare, count_lines};
use crate::capture::own_commit::{has_readable_index, head, own_commit_message};
use crate::capture::series::series;
use crate::capture::walk;
use crate::capture::without_setup::Basis;
use crate::capture::work_rules::WorkRules;
use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::pool::Differences;
use crate::store::TaskStore;
use crate::tree::Tree;
use crate::workspace::{GIT, GIT_TEMPLATE, Manifest, SetupState, must_be_there, tree_of};

/// Writes the changes in the workspace at `folder` to the task store. No process may be writing to
/// it. `differences` says what of it was found to differ just now, if that is known.
pub(crate) fn capture(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    differences: Option<&Differences>,
) -> Result<Captured> {
    let (bytes, list) = take(snapshot, folder, manifest, differences)?;
    list.keep(&snapshot.context, &bytes.store, &manifest.task, manifest.attempt)
}

/// Records the changes so far as the checkpoint, which replaces the previous one.
pub(crate) fn checkpoint(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
) -> Result<Captured> {
    let (bytes, list) = take(snapshot, folder, manifest, None)?;
    list.keep_checkpoint(&snapshot.context, &bytes.store, &manifest.task, manifest.attempt)
}

/// Captures the workspace that a dead engine has left. If a capture with the same changes exists,
/// returns that one. If its changes differ, records a second one under the next free attempt.
pub(crate) fn recapture(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
) -> Result<Captured> {
    let (bytes, list) = take(snapshot, folder, manifest, None)?;
    list.keep_recovered(&snapshot.context, &bytes.store, &manifest.task, manifest.attempt)
}

/// Returns the summary of a capture in the task store.
pub(crate) fn summary(store: &TaskStore, capture: CaptureRef) -> Result<Captured> {
    let what = || format!("read {capture} from the task store");
    let bytes = |entry: Option<Entry>| entry.map_or(Ok(Vec::new()), |entry| store.read(entry.oid));
    let mut changes = ChangeSummary::default();
    for change in store.changes(&capture)? {
        let (before, after) = (bytes(change.base)?, bytes(change.task)?);
        count_lines(&mut changes, &before, &after).or_cannot(what)?;
    }
    Ok(Captured::whole(capture, changes))
}

/// Finds the changes, and writes their bytes to the task store.
fn take(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    differences: Option<&Differences>,
) -> Result<(ContentReader, ChangeList)> {
    let what = || format!("capture {}", folder.display());
    snapshot.context.faults.failpoint("capture.begin").or_cannot(what)?;
    if manifest.setup == SetupState::Pending {
        // The set-up was stopped or has failed: the task has done nothing.
        let bytes = ContentReader::open(snapshot)?;
        bytes.store.begin_capture(&snapshot.context.paths.journal);
        return Ok((bytes, ChangeList::default()));
    }
    must_be_there(folder)?;
    let tree = Tree::open_at(&tree_of(folder))?;
    let bytes = ContentReader::open(snapshot)?;
    bytes.store.begin_capture(&snapshot.context.paths.journal);
    let rules = WorkRules::of_the_work(snapshot, manifest, &tree, &bytes)?;
    let mut list = ChangeList::default();
    let force_added = ForceAdded::of(snapshot, folder);
    let walk::Walked { candidates, left_out, .. } =
        walk::candidates(snapshot, manifest, &tree, &rules, &force_added, differences)?;
    for candidate in candidates {
        let compared = compare(&bytes, &tree, &candidate)?;
        let Some(Compared { change, before, after, basis }) = compared else { continue };
        if basis == Basis::Setup {
            list.setup.insert(change.path.clone());
        }
        list.add(&snapshot.context, change, &before, &after)?;
    }
    list.left_out = left_out;
    let template = snapshot.context.folder.join(GIT_TEMPLATE);
    let before = match &manifest.setup {
        SetupState::Done(changes) => changes.head,
        SetupState::None | SetupState::Pending => head(&template),
    };
    let git_dir = folder.join(GIT);
    let Some(after) = head(&git_dir).filter(|after| Some(*after) != before) else {
        return Ok((bytes, list));
    };
    list.message = own_commit_message(&git_dir, &template, before, after);
    let was_there = |path: &RepoPath| {
        let by_setup = matches!(
            &manifest.setup,
            SetupState::Done(left) if left.files.contains_key(path)
        );
        by_setup || snapshot.table.get(path).is_some()
    };
    let (folders, heads) = ((&*git_dir, &*template), (before, after));
    list.series = series(folders, heads, list.changes(), &was_there, &bytes.store)?;
    Ok((bytes, list))
}

/// The paths that a workspace's own index tracks and the snapshot does not contain: files added
/// with `git add -f`, and tracked files that the user had removed. The index is read at the first
/// use, because a workspace without ignored files does not need these paths.
pub(super) struct ForceAdded<'a> {
    snapshot: &'a Snapshot,
    git_dir: PathBuf,
    paths: OnceCell<BTreeSet<Vec<u8>>>,
}

impl<'a> ForceAdded<'a> {
    /// Returns the paths for the workspace at `folder`; none if the task damaged the index.
    pub(super) fn of(snapshot: &'a Snapshot, folder: &Path) -> Self {
        Self { snapshot, git_dir: folder.join(GIT), paths: OnceCell::new() }
    }

    /// Returns whether `path` is tracked.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.paths().contains(path)
    }

    /// Returns whether anything below `folder` is tracked.
    pub(super) fn has_below(&self, folder: &[u8]) -> bool {
        let prefix = [folder, b"/"].concat();
        let next = self.paths().range(prefix.clone()..).next();
        next.is_some_and(|path| path.starts_with(&prefix))
    }

    fn paths(&self) -> &BTreeSet<Vec<u8>> {
        self.paths.get_or_init(|| {
            if !has_readable_index(&self.git_dir) {
                return BTreeSet::new();
            }
            let read = match Index::open(&self.git_dir.join("index")) {
                Ok(read) => read,
                Err(error) => {
                    tracing::warn!(%error, "the index of a workspace cannot be read");
                    return BTreeSet::new();
                }
            };
            let added = read.iter().filter(|entry| {
                RepoPath::new(entry.path.as_slice())
                    .is_some_and(|path| self.snapshot.table.get(&path).is_none())
            });
            added.map(|entry| entry.path).collect()
        })
    }
}
