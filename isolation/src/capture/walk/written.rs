//! Lists the candidates among the paths that a view has written, without a walk.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use protocol::{RepoPath, quote_path};
use rustix::io::Errno;

use super::{Original, Visits, Walk, Walked};
use crate::baseline::{Snapshot, split_path};
use crate::capture::capture_workspace::ForceAdded;
use crate::capture::work_rules::WorkRules;
use crate::error::{OrCannot, Result};
use crate::tree::{ListedEntry, Tree};
use crate::workspace::Manifest;

/// Lists the candidates among `paths`, outside of which nothing in the workspace has changed. Returns
/// `None` if only a walk can tell what counts.
pub(in crate::capture) fn written<'a>(
    snapshot: &'a Snapshot,
    manifest: &'a Manifest,
    tree: &Tree,
    rules: &WorkRules<'_>,
    force_added: &ForceAdded<'_>,
    paths: &BTreeSet<Vec<u8>>,
) -> Result<Option<Walked<'a>>> {
    let mut walk = Walk::new(snapshot, manifest, tree, rules, force_added, Visits::Everything);
    for path in paths.iter().filter(|path| !path.is_empty()) {
        // A name that git does not accept is reported by a walk.
        let Some(path) = RepoPath::new(path.as_slice()) else { return Ok(None) };
        match walk.visit_written(&path, tree)? {
            Visited::Candidates => {}
            Visited::OnlyByWalk => return Ok(None),
        }
    }
    Ok(Some(walk.finish(tree)))
}

/// Whether the candidates at a path were added.
enum Visited {
    /// They were, if there are any.
    Candidates,
    /// Only a walk knows what counts at the path.
    OnlyByWalk,
}

impl Walk<'_, '_> {
    fn visit_written(&mut self, path: &RepoPath, tree: &Tree) -> Result<Visited> {
        let mut above: Vec<RepoPath> = path.folders().collect();
        above.reverse();
        for folder in above {
            if self.is_submodule(folder.as_bytes()) {
                return Ok(Visited::OnlyByWalk);
            }
            if !self.descends(folder.as_bytes())? {
                return Ok(Visited::Candidates); // it is ignored
            }
        }
        let (folder, name) = split_path(path.as_bytes());
        let name = OsStr::from_bytes(name);
        let stat = match tree.stat_below(folder, name) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            stat => stat.or_cannot(|| format!("look at {}", quote_path(path.as_bytes())))?,
        };
        let table = self.snapshot.table.folders.get(folder);
        let frozen = table.and_then(|folder| folder.files.get(name));
        match (stat, frozen) {
            (Some(stat), frozen) => {
                let entry = ListedEntry { name: name.to_owned(), stat };
                if entry.is_folder() {
                    return Ok(Visited::Candidates); // its files are in the record
                }
                if entry.stat.kind().is_none() {
                    return Ok(Visited::OnlyByWalk);
                }
                self.visit_file(folder, &entry, frozen)?;
            }
            (None, Some(frozen)) => self.note_absent_path(path.clone(), Original::Snapshot(frozen)),
            (None, None) => {}
        }
        Ok(Visited::Candidates)
    }
}

#[cfg(test)]
mod tests;
