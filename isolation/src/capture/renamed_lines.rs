//! Counts the lines of renamed files as `git diff -M` does: a rename alone changes none.

use std::collections::BTreeMap;

use protocol::{ChangeSummary, RepoPath};

use crate::capture::compare::count_lines;
use crate::error::{OrCannot, Result};
use crate::file_entry::Change;
use crate::git_texts::GitTexts;
use crate::merge::renames_of;
use crate::store::TaskStore;

/// Counts a renamed file by what has changed in it, instead of all its lines as removed and added.
/// `summary` counts each of the `changes`, whose bytes are in the task store, by itself.
pub(crate) fn count_renames(
    summary: &mut ChangeSummary,
    (store, texts): (&TaskStore, &GitTexts),
    changes: &[Change],
) -> Result<()> {
    let is_any = |is_it: fn(&Change) -> bool| changes.iter().any(is_it);
    if !is_any(|change| change.task.is_none()) || !is_any(|change| change.base.is_none()) {
        return Ok(());
    }
    let by_path: BTreeMap<&RepoPath, &Change> =
        changes.iter().map(|change| (&change.path, change)).collect();
    for rename in renames_of(store, changes)? {
        let (Some(from), Some(to)) = (by_path.get(&rename.from), by_path.get(&rename.to)) else {
            continue;
        };
        let (Some(old), None, None, Some(new)) = (from.base, from.task, to.base, to.task) else {
            continue;
        };
        let what = || format!("count the lines of {}", rename.to);
        let (old, new) = (store.read(old.oid)?, store.read(new.oid)?);
        let (old, new) = (texts.text(&rename.from, &old), texts.text(&rename.to, &new));
        let (mut apart, mut together) = (ChangeSummary::default(), ChangeSummary::default());
        count_lines(&mut apart, &old, &[]).or_cannot(what)?;
        count_lines(&mut apart, &[], &new).or_cannot(what)?;
        if old != new {
            count_lines(&mut together, &old, &new).or_cannot(what)?;
        }
        summary.added = summary.added.saturating_sub(apart.added) + together.added;
        summary.removed = summary.removed.saturating_sub(apart.removed) + together.removed;
    }
    Ok(())
}
