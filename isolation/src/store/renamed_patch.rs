//! Renamed files in a patch: one change instead of a removed and an added file.

use std::collections::BTreeMap;

use git2::{DiffOptions, Patch, Repository};
use protocol::{RepoPath, quote_path};

use crate::error::Result;
use crate::file_entry::Change;
use crate::merge::{Blobs, Rename, renames_of};

/// The renames of a task that a patch shows, by their new path.
pub(super) struct ShownRenames {
    by_target: BTreeMap<RepoPath, (Rename, Change, Change)>,
    sources: Vec<RepoPath>,
}

impl ShownRenames {
    /// Finds the renames among `changes`.
    pub(super) fn find(blobs: &dyn Blobs, changes: &[Change]) -> Result<Self> {
        let by_path: BTreeMap<&RepoPath, &Change> =
            changes.iter().map(|change| (&change.path, change)).collect();
        let mut shown = Self { by_target: BTreeMap::new(), sources: Vec::new() };
        for rename in renames_of(blobs, changes)? {
            let (Some(from), Some(to)) = (by_path.get(&rename.from), by_path.get(&rename.to))
            else {
                continue;
            };
            let (from, to) = ((*from).clone(), (*to).clone());
            shown.sources.push(rename.from.clone());
            shown.by_target.insert(rename.to.clone(), (rename, from, to));
        }
        Ok(shown)
    }

    /// Returns whether the removal of a path is shown as a part of a rename.
    pub(super) fn is_source(&self, path: &RepoPath) -> bool {
        self.sources.contains(path)
    }

    /// Returns the patch of the rename to a path, if there is one.
    pub(super) fn patch(
        &self,
        git: &Repository,
        path: &RepoPath,
        options: &mut DiffOptions,
    ) -> std::result::Result<Option<Vec<u8>>, git2::Error> {
        let Some((rename, from, to)) = self.by_target.get(path) else { return Ok(None) };
        let (Some(old), Some(new)) = (from.base, to.task) else { return Ok(None) };
        let quoted =
            |prefix: &[u8], path: &RepoPath| quote_path(&[prefix, path.as_bytes()].concat());
        let (a, b) = (quoted(b"a/", &rename.from), quoted(b"b/", &rename.to));
        let mut head = format!("diff --git {a} {b}\n");
        if old.mode != new.mode {
            let (old, new) = (old.mode.to_git(), new.mode.to_git());
            head.push_str(&format!("old mode {old:o}\nnew mode {new:o}\n"));
        }
        let (source, target) = (quoted(b"", &rename.from), quoted(b"", &rename.to));
        let percent = rename.percent;
        head.push_str(&format!(
            "similarity index {percent}%\nrename from {source}\nrename to {target}\n"
        ));
        let mut text = head.into_bytes();
        if old.oid != new.oid {
            let (old, new) = (git.find_blob(old.oid)?, git.find_blob(new.oid)?);
            let paths = (Some(rename.from.as_path()), Some(rename.to.as_path()));
            let mut patch = Patch::from_blobs(&old, paths.0, &new, paths.1, Some(options))?;
            let printed = patch.to_buf()?;
            // Its own head does not know of the rename.
            let own = |line: &&[u8]| line.starts_with(b"index ");
            let mut lines =
                printed.split_inclusive(|byte| *byte == b'\n').skip_while(|line| !own(line));
            if let Some(index) = lines.next() {
                let index = index.trim_ascii_end();
                let ids = index.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
                text.extend_from_slice(&[b"index ", ids, b"\n"].concat());
            }
            text.extend(lines.flatten());
        }
        Ok(Some(text))
    }
}
