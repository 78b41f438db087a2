//! Makes copies of which no task waits yet.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::copy_stats::CopyStats;
use super::lent::{Found, Lent};
use crate::baseline::Snapshot;
use crate::disk_room::free_bytes;
use crate::error::{OrCannot, Result};
use crate::tree::Tree;
use crate::workspace::{copy_tree, make_unfinished, mark, remove_tree, tree_of};

/// Makes copies until `copies` were made in this run, with those that its tasks have made meanwhile.
/// Ends at the next file after `stop` is set, at the first copy that cannot be made, and at the
/// first that would take more than half of the free space, which the tasks at work may need: the next
/// task that needs one makes it then, or fails with the reason.
pub(crate) fn make_ahead(snapshot: &Snapshot, copies: usize, stop: &AtomicBool) {
    let folders = snapshot.table.folders.values();
    let files = folders.flat_map(|folder| folder.files.values());
    let bytes = files.fold(0_u64, |bytes, file| bytes.saturating_add(file.stat.size));
    while let Some(_turn) = snapshot.pool.turn_ahead(copies, stop) {
        // Room for the carried files was looked for when they were selected.
        let free = free_bytes(&snapshot.context.folder).unwrap_or_default();
        if bytes > free / 2 {
            tracing::info!(bytes, free, "no more copies are made ahead: there is little room");
            return;
        }
        if let Err(error) = make_one(snapshot, stop) {
            tracing::info!(%error, "no more copies are made ahead");
            return;
        }
    }
}

fn make_one(snapshot: &Snapshot, stop: &AtomicBool) -> Result<()> {
    let context = &snapshot.context;
    let folder = make_unfinished(context, "copy").or_cannot(|| "make a copy")?;
    let made = fill(snapshot, &folder, stop).and_then(|lent| {
        let named = snapshot.pool.add(&context.folder, &folder, lent);
        named.or_cannot(|| format!("name the copy {}", folder.display()))
    });
    if made.is_err()
        && let Err(error) = remove_tree(&folder)
    {
        tracing::warn!(%error, "an unfinished copy stays until the next start");
    }
    made
}

/// Fills an empty folder with a copy, and returns what is known about it.
fn fill(snapshot: &Snapshot, folder: &Path, stop: &AtomicBool) -> Result<Lent> {
    let what = || format!("make the copy {}", folder.display());
    let tree = tree_of(folder);
    fs::create_dir(&tree).or_cannot(what)?;
    let carried = snapshot.pool.carried_files(snapshot)?;
    let carried = carried.as_deref().map(|files| (snapshot.carried_of_pool(), files));
    copy_tree(snapshot, &tree, carried, stop)?;
    let tree = Tree::open_at(&tree)?;
    let stats = CopyStats::record(snapshot, folder, &tree);
    let stats = stats.ok_or("it could not be used").or_cannot(what)?;
    let mut lent = Lent::new(stats, None, mark(folder)?, std::iter::empty());
    // A process that runs already may have written to it since.
    let ended = snapshot.pool.ended();
    let differences = lent.look(snapshot, &tree)?;
    lent.differences = Some(Found::Looked { differences, ended });
    Ok(lent)
}
