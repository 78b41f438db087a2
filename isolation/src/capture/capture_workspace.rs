//! Captures a workspace: finds the paths that may have changed, compares them with their originals,
//! and writes the changes to the task store.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::failpoint;
use engine::ports::AttemptEnd;
use protocol::{CaptureRef, Captured, ChangeSummary, RepoPath};

use crate::backends::ChangeList;
use crate::baseline::{ContentReader, Snapshot};
use crate::capture::compare::{Compared, compare, count_lines};
use crate::capture::damage::{self, DamageCheck};
use crate::capture::nested_works::nested_works;
use crate::capture::own_commit::{head, is_folder, own_commit_message};
use crate::capture::recorded_renames::note_renames;
use crate::capture::renamed_lines::count_renames;
use crate::capture::series::series;
use crate::capture::walk;
use crate::capture::without_setup::Basis;
use crate::capture::work_rules::WorkRules;
use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::git_texts::GitTexts;
use crate::index_file;
use crate::nested::git_folder_of;
use crate::pool::Differences;
use crate::store::TaskStore;
use crate::tree::Tree;
use crate::workspace::{GIT, GIT_TEMPLATE, Manifest, SetupState, must_be_there, tree_of};

/// What is known about a workspace before it is captured.
#[derive(Clone, Copy)]
pub(crate) enum Known<'a> {
    /// Nothing.
    Nothing,
    /// How it was found to differ from a new copy just now.
    Differences(&'a Differences),
    /// Every path that may have changed, because only views have written to it.
    Written(&'a BTreeSet<Vec<u8>>),
    /// Its engine is dead, and the machine may have stopped with it.
    EngineDead,
}

/// Writes the changes in the workspace at `folder` to the task store. No process may be writing to
/// it.
pub(crate) fn capture(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    (known, end): (Known<'_>, &AttemptEnd),
) -> Result<Captured> {
    let (bytes, list) = take(snapshot, folder, manifest, known)?;
    list.keep(&snapshot.context, &bytes.store, (&manifest.task, manifest.attempt), end)
}

/// Records the changes so far as the checkpoint, which replaces the previous one.
pub(crate) fn checkpoint(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
) -> Result<Captured> {
    let (bytes, list) = take(snapshot, folder, manifest, Known::Nothing)?;
    list.keep_checkpoint(&snapshot.context, &bytes.store, &manifest.task, manifest.attempt)
}

/// Captures the workspace that a dead engine has left. If a capture with the same changes exists,
/// returns that one. If its changes differ, records a second one under the next free attempt. Fails
/// if a failure of the machine has damaged files in it.
pub(crate) fn recapture(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
) -> Result<Captured> {
    let (bytes, list) = take(snapshot, folder, manifest, Known::EngineDead)?;
    list.keep_recovered(&snapshot.context, &bytes.store, &manifest.task, manifest.attempt)
}

/// Returns the summary of a capture in the task store.
pub(crate) fn summary(
    (store, texts): (&TaskStore, &GitTexts),
    capture: CaptureRef,
) -> Result<Captured> {
    let what = || format!("read {capture} from the task store");
    let bytes = |entry: Option<Entry>| entry.map_or(Ok(Vec::new()), |entry| store.read(entry.oid));
    let mut summary = ChangeSummary::default();
    let changes = store.changes(&capture)?;
    for change in &changes {
        let (before, after) = (bytes(change.base)?, bytes(change.task)?);
        let [before, after] = [&before, &after].map(|bytes| texts.text(&change.path, bytes));
        count_lines(&mut summary, &before, &after).or_cannot(what)?;
    }
    count_renames(&mut summary, (store, texts), &changes)?;
    Ok(Captured::whole(capture, summary))
}

/// Finds the changes, and writes their bytes to the task store.
fn take(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    known: Known<'_>,
) -> Result<(ContentReader, ChangeList)> {
    let what = || format!("capture {}", folder.display());
    failpoint!(snapshot.context.faults, "capture.begin").or_cannot(what)?;
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
    let look = Look { snapshot, manifest, tree: &tree, rules: &rules, force_added: &force_added };
    let walk::Walked { candidates, left_out, .. } = look.candidates(&bytes, known)?;
    let check = DamageCheck { snapshot, manifest, tree: &tree, bytes: &bytes };
    let mut damaged = Vec::new();
    for candidate in candidates {
        let compared = compare(&bytes, &tree, &candidate)?;
        let Some(Compared { change, before, after, basis }) = compared else { continue };
        if matches!(known, Known::EngineDead) && check.is_damaged(&candidate)? {
            damaged.push(candidate.path);
            continue;
        }
        if basis == Basis::Setup {
            list.setup.insert(change.path.clone());
        }
        list.add(&snapshot.context, change, &before, &after)?;
    }
    damage::refuse(&tree, &damaged)?;
    list.left_out = left_out;
    if !snapshot.nested.is_empty() {
        list.nested = nested_works(snapshot, folder, manifest, list.changes(), &bytes.store)?;
    }
    if matches!(known, Known::Written(_)) {
        return Ok((bytes, list)); // git was not run
    }
    note_commits(snapshot, folder, manifest, (&mut list, &bytes.store))?;
    note_renames(snapshot, folder, (&mut list, &bytes.store))?;
    Ok((bytes, list))
}

/// Notes the commits that the task made itself in the repository of its workspace.
fn note_commits(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    (list, store): (&mut ChangeList, &TaskStore),
) -> Result<()> {
    let (git_dir, template) = (folder.join(GIT), snapshot.context.folder.join(GIT_TEMPLATE));
    let before = match &manifest.setup {
        SetupState::Done(changes) => changes.head,
        SetupState::None | SetupState::Pending => head(&template),
    };
    let Some(after) = head(&git_dir).filter(|after| Some(*after) != before) else { return Ok(()) };
    list.message = own_commit_message(&git_dir, &template, before, after);
    let was_there = |path: &RepoPath| {
        let by_setup = matches!(
            &manifest.setup,
            SetupState::Done(left) if left.files.contains_key(path)
        );
        by_setup || snapshot.table.get(path).is_some()
    };
    let (folders, heads) = ((&*git_dir, &*template), (before, after));
    list.series = series(folders, heads, list.changes(), &was_there, store)?;
    Ok(())
}

/// A workspace in which candidates are looked for.
struct Look<'a, 'g> {
    snapshot: &'a Snapshot,
    manifest: &'a Manifest,
    tree: &'g Tree,
    rules: &'g WorkRules<'g>,
    force_added: &'g ForceAdded<'g>,
}

impl<'a> Look<'a, '_> {
    fn candidates(&self, bytes: &ContentReader, known: Known<'_>) -> Result<walk::Walked<'a>> {
        match known {
            Known::Nothing | Known::EngineDead => self.walk(None),
            Known::Differences(differences) => self.walk(Some(differences)),
            Known::Written(paths) => {
                let Self { snapshot, manifest, tree, rules, force_added } = self;
                match walk::written(snapshot, manifest, tree, rules, force_added, paths)? {
                    Some(written) => {
                        let faults = &snapshot.context.faults;
                        if cfg!(debug_assertions)
                            && failpoint!(faults, "capture.record.check").is_ok()
                        {
                            self.check(bytes, &written)?;
                        }
                        Ok(written)
                    }
                    None => self.walk(None),
                }
            }
        }
    }

    fn walk(&self, differences: Option<&Differences>) -> Result<walk::Walked<'a>> {
        let Self { snapshot, manifest, tree, rules, force_added } = self;
        walk::candidates(snapshot, manifest, tree, rules, force_added, differences)
    }

    /// Checks that a walk finds what was written, and nothing else.
    ///
    /// # Panics
    /// The record of the views is wrong: something else has written to the workspace.
    fn check(&self, bytes: &ContentReader, written: &walk::Walked<'_>) -> Result<()> {
        let whole = self.walk(None)?;
        let known: BTreeSet<_> = written.candidates.iter().map(|found| &found.path).collect();
        let found: BTreeSet<_> = whole.candidates.iter().map(|found| &found.path).collect();
        assert!(known.is_subset(&found), "no walk finds {known:?}: {found:?}");
        for candidate in whole.candidates.iter().filter(|found| !known.contains(&found.path)) {
            let changed = compare(bytes, self.tree, candidate)?.is_some();
            assert!(!changed, "{} was changed, and no view has written it", candidate.path);
        }
        assert_eq!(whole.left_out.total, 0, "left out, and no view has written it");
        Ok(())
    }
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
            let mut added = self.added(&self.git_dir, &[]);
            for (number, root) in self.snapshot.nested.iter().enumerate() {
                let prefix = [root.as_slice(), b"/"].concat();
                added.extend(self.added(&git_folder_of(&self.git_dir, number), &prefix));
            }
            added
        })
    }

    /// Returns the paths of one index, whose entries are relative to `prefix`.
    fn added(&self, git_dir: &Path, prefix: &[u8]) -> BTreeSet<Vec<u8>> {
        let mut added = BTreeSet::new();
        let index = is_folder(git_dir).then(|| git_dir.join("index"));
        let Some(bytes) = index.and_then(|index| index_file::read(&index)) else {
            return added;
        };
        let read = index_file::paths(&bytes, |path| {
            let whole = [prefix, path].concat();
            let is_new = RepoPath::new(whole.as_slice())
                .is_some_and(|path| self.snapshot.table.get(&path).is_none());
            if is_new {
                added.insert(whole);
            }
        });
        if let Err(why) = read {
            tracing::warn!(?why, "the index of a workspace cannot be read");
            return BTreeSet::new();
        }
        added
    }
}
