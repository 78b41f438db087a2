//! Where the only copy of a file is while work is merged in part. A file that does not get its new name
//! stays at the name that it has.

use std::collections::{BTreeMap, HashMap};

use git2::Oid;
use protocol::{Conflict, ConflictReason, RenamedFile, RepoPath};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::merger::Merger;
use crate::merge::side_renames::{empty_blob, renames_of};
use crate::merge::tree_merge::SideName;
use crate::settle::concerned_paths;

/// The files that follow a renamed folder, by their final paths: the side that added each, and where.
pub(super) type Followed = BTreeMap<RepoPath, (SideName, RepoPath)>;

/// Returns the path that a file of the task had before it followed a renamed folder.
pub(super) fn first_name<'p>(followed: &'p Followed, path: &'p RepoPath) -> &'p RepoPath {
    match followed.get(path) {
        Some((SideName::Theirs, first)) => first,
        Some((SideName::Ours, _)) | None => path,
    }
}

/// The changes that write over a file or remove it.
pub(super) struct OldPlaces<'a> {
    /// The own changes, by path.
    changes: BTreeMap<&'a RepoPath, &'a Change>,
    followed: &'a Followed,
    /// The old path of each renamed file, by its new one.
    renames: BTreeMap<RepoPath, &'a Change>,
    /// Those of each content, until one of them is asked for.
    of_content: HashMap<Oid, Vec<&'a Change>>,
}

impl<'a> OldPlaces<'a> {
    pub(super) fn of(
        merger: &Merger<'_>,
        changes: &'a [Change],
        followed: &'a Followed,
    ) -> Result<Self> {
        let own: BTreeMap<_, _> = changes.iter().map(|change| (&change.path, change)).collect();
        let mut renames = BTreeMap::new();
        for rename in renames_of(merger.blobs, changes)? {
            if let Some(change) = own.get(&rename.from) {
                renames.insert(rename.to, *change);
            }
        }
        let mut of_content: HashMap<Oid, Vec<&Change>> = HashMap::new();
        for change in changes {
            let oid = |entry: Option<Entry>| entry.map(|entry| entry.oid);
            if let Some(content) = oid(change.base)
                && content != empty_blob()
                && oid(change.task) != Some(content)
            {
                of_content.entry(content).or_default().push(change);
            }
        }
        Ok(Self { changes: own, followed, renames, of_content })
    }

    /// Returns the conflict, which now names the old place of the file, and one for each other path that
    /// has to stay because of it.
    pub(super) fn beside(
        &mut self,
        merger: &Merger<'_>,
        mut conflict: Conflict,
    ) -> Result<Vec<Conflict>> {
        let mut left = concerned_paths(&conflict);
        let mut open: Vec<RepoPath> = left.iter().cloned().collect();
        let mut others = Vec::new();
        while let Some(path) = open.pop() {
            for old in self.holders(&path) {
                if !left.insert(old.path.clone()) {
                    continue;
                }
                open.push(old.path.clone());
                let is_rename = path == conflict.path && old.task.is_none();
                if is_rename && conflict.renamed.is_none() {
                    let from = old.path.clone();
                    let (ours, theirs) = (Some(from.clone()), Some(path.clone()));
                    conflict.renamed = Some(RenamedFile { from, ours, theirs });
                } else {
                    others.push(stays(merger, old)?);
                }
            }
        }
        others.push(conflict);
        Ok(others)
    }

    /// Returns the old names of a file that does not get to `path`.
    pub(super) fn old_names(&mut self, path: &RepoPath) -> Vec<RepoPath> {
        let holders = self.holders(path).into_iter().filter(|old| old.task.is_none());
        holders.map(|old| old.path.clone()).collect()
    }

    /// Returns the changes that cost the tree a file which does not get to `path`.
    fn holders(&mut self, path: &RepoPath) -> Vec<&'a Change> {
        let path = first_name(self.followed, path);
        let Some(wanted) = self.changes.get(path).and_then(|change| change.task) else {
            return Vec::new();
        };
        let renamed = self.renames.get(path).copied();
        let is_exact = |old: &&Change| old.base.is_some_and(|base| base.oid == wanted.oid);
        if let Some(old) = renamed.filter(is_exact) {
            return vec![old];
        }
        match self.of_content.remove(&wanted.oid) {
            Some(holders) => holders,
            None => renamed.into_iter().collect(),
        }
    }
}

/// Returns the conflict at a path whose file has no other place.
fn stays(merger: &Merger<'_>, old: &Change) -> Result<Conflict> {
    let [base, ours, theirs] = [old.base, merger.entry(&old.path)?, old.task];
    let side = |entry: Option<Entry>| entry.map(Entry::to_side);
    Ok(Conflict {
        path: old.path.clone(),
        reason: ConflictReason::InTheWay,
        base: side(base),
        ours: side(ours),
        theirs: side(theirs),
        with: None,
        renamed: None,
    })
}
