//! Taking a capture: find, compare, keep, name.

use std::path::Path;

use protocol::{CaptureRef, Captured, ChangeSummary, LeftOut};

use crate::baseline::{Bytes, Frozen};
use crate::capture::compare::{Compared, compare};
use crate::capture::forced::Forced;
use crate::capture::{lines, walk};
use crate::entry::{Change, Entry};
use crate::error::{OrCannot, Result};
use crate::ignore::Rules;
use crate::store::{Contents, TaskStore};
use crate::tree::Tree;
use crate::workspace::{Manifest, must_be_there, tree_of};

/// Puts what changed in the workspace at `folder` into the task store. Nobody may be writing.
pub(crate) fn capture(frozen: &Frozen, folder: &Path, manifest: &Manifest) -> Result<Captured> {
    let taken = take(frozen, folder, manifest)?;
    let capture = CaptureRef::of(&manifest.run, &manifest.task, manifest.attempt);
    taken.keep(frozen, manifest, capture)
}

/// Captures the workspace that a dead engine left. If it was captured and is still the same, that
/// stands; if it differs, both are kept, the new one under the next free attempt.
pub(crate) fn recapture(frozen: &Frozen, folder: &Path, manifest: &Manifest) -> Result<Captured> {
    let taken = take(frozen, folder, manifest)?;
    let mut attempt = manifest.attempt;
    loop {
        let capture = CaptureRef::of(&manifest.run, &manifest.task, attempt);
        if !taken.bytes.store.has_capture(&capture)? {
            return taken.keep(frozen, manifest, capture);
        }
        if taken.bytes.store.changes(&capture)? == taken.changes {
            return Ok(taken.captured(capture));
        }
        attempt = attempt.saturating_add(1);
    }
}

/// Returns what a capture of the task store came to.
pub(crate) fn summary(store: &TaskStore, capture: CaptureRef) -> Result<Captured> {
    let what = || format!("read {capture} from the task store");
    let bytes = |entry: Option<Entry>| entry.map_or(Ok(Vec::new()), |entry| store.read(entry.oid));
    let mut changes = ChangeSummary::default();
    for change in store.changes(&capture)? {
        let (before, after) = (bytes(change.base)?, bytes(change.task)?);
        lines::count(&mut changes, &before, &after).or_cannot(what)?;
    }
    Ok(Captured::whole(capture, changes))
}

/// What changed, with its bytes in the task store and no name yet.
struct Taken<'a> {
    bytes: Bytes<'a>,
    changes: Vec<Change>,
    summary: ChangeSummary,
    left_out: LeftOut,
}

impl Taken<'_> {
    fn captured(self, capture: CaptureRef) -> Captured {
        Captured { capture, changes: self.summary, left_out: self.left_out }
    }

    fn keep(self, frozen: &Frozen, manifest: &Manifest, capture: CaptureRef) -> Result<Captured> {
        frozen.faults.strike("capture.ref").or_cannot(|| format!("write {capture}"))?;
        let title = format!("{}/{} {}", manifest.run, manifest.task, manifest.attempt);
        // Switched off by a test that must notice.
        if frozen.faults.is_off("F272") {
            return Ok(self.captured(capture));
        }
        let contents = Contents { changes: self.changes, renames: Vec::new() };
        self.bytes.store.put_capture(&capture, &contents, &title)?;
        Ok(Captured { capture, changes: self.summary, left_out: self.left_out })
    }
}

fn take<'a>(frozen: &'a Frozen, folder: &Path, manifest: &Manifest) -> Result<Taken<'a>> {
    let what = || format!("capture {}", folder.display());
    frozen.faults.strike("capture.begin").or_cannot(what)?;
    must_be_there(folder)?;
    let tree = Tree::open_at(&tree_of(folder))?;
    // The user's repository says what holds everywhere, the workspace what holds in its folders.
    // What the task did to the private git directory does not count.
    let git = frozen.repo.git()?;
    let rules = Rules::of(&git, &tree);
    let bytes = Bytes::open(frozen)?;
    let mut changes = Vec::new();
    let mut summary = ChangeSummary::default();
    let forced = Forced::of(frozen, folder);
    let walk::Walked { candidates, left_out } =
        walk::candidates(frozen, manifest, &tree, &rules, &forced)?;
    for candidate in candidates {
        let Some(Compared { change, before, after }) = compare(&bytes, &tree, &candidate)? else {
            continue;
        };
        frozen.faults.strike("capture.blobs").or_cannot(what)?;
        lines::count(&mut summary, &before, &after).or_cannot(what)?;
        changes.push(change);
    }
    Ok(Taken { bytes, changes, summary, left_out })
}
