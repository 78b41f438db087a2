//! The conflicts of a task's work: the versions, the names and the other task of each.

use protocol::{Conflict, ConflictReason, RenamedFile, RepoPath};

use crate::error::Result;
use crate::file_entry::Entry;
use crate::merge::merger::{ChangedEntry, Merger, Wanted};
use crate::merge::obstacles::in_the_way;
use crate::merge::tree_merge::{Pathwise, RenameConflict, Versions};

impl Merger<'_> {
    /// Returns a conflict for each new entry that something else is in the way of, or whose name cannot
    /// be in the tree.
    pub(super) fn obstacles(&self, wanted: &Wanted, pathwise: &Pathwise) -> Result<Vec<Conflict>> {
        let mut conflicts = Vec::new();
        for (path, entry) in wanted {
            let Some(by) = in_the_way(self, wanted, path)? else { continue };
            let versions = pathwise.paths.get(path).cloned();
            let versions = versions.unwrap_or(Versions::new(None, [None, *entry]));
            let conflict = self.conflict(path, &versions, ConflictReason::InTheWay, pathwise);
            conflicts.push(Conflict { with: by.or(conflict.with.clone()), ..conflict });
        }
        conflicts.extend(self.impossible_names(wanted)?);
        Ok(conflicts)
    }

    /// Returns the conflict at a path.
    pub(super) fn conflict(
        &self,
        path: &RepoPath,
        versions: &Versions,
        reason: ConflictReason,
        pathwise: &Pathwise,
    ) -> Conflict {
        let moved = pathwise.moves.get(path);
        // What has followed a folder is another file than the one that was there.
        let reason = match reason {
            ConflictReason::Kind if moved.is_some() => ConflictReason::BothAdded,
            reason => reason,
        };
        let renamed = moved.map(|moved| {
            let mut sides = [Some(moved.from.clone()), Some(moved.from.clone())];
            sides[moved.by as usize] = Some(moved.to.clone());
            let [ours, theirs] = sides;
            RenamedFile { from: moved.from.clone(), ours, theirs }
        });
        let paths = [Some(path), moved.map(|moved| &moved.from)];
        self.conflict_of((path, reason), versions, renamed, &paths)
    }

    /// Returns the conflict that a rename makes.
    pub(super) fn rename_conflict(
        &self,
        conflict: &RenameConflict,
        pathwise: &Pathwise,
    ) -> Conflict {
        let RenameConflict { reason, from, to, versions } = conflict;
        let at = |side: usize| {
            let named = to[side].as_ref().and_then(|path| pathwise.paths.get(path));
            versions.sides[side].or(named.and_then(|versions| versions.sides[side]))
        };
        let versions = Versions::new(versions.base, [at(0), at(1)]);
        let [ours, theirs] = to.clone();
        let path = theirs.as_ref().or(ours.as_ref()).unwrap_or(from);
        let paths = [ours.clone(), Some(from.clone())];
        let renamed =
            RenamedFile { from: from.clone(), ours: ours.clone(), theirs: theirs.clone() };
        let paths = paths.each_ref().map(Option::as_ref);
        self.conflict_of((path, *reason), &versions, Some(renamed), &paths)
    }

    /// Returns a conflict with the task since which there is one, or else that last changed one of `paths`.
    pub(super) fn conflict_of(
        &self,
        (path, reason): (&RepoPath, ConflictReason),
        versions: &Versions,
        renamed: Option<RenamedFile>,
        paths: &[Option<&RepoPath>],
    ) -> Conflict {
        let with = self.opponent((path, reason), versions, renamed.as_ref());
        let mut changed = paths.iter().flatten().filter_map(|path| self.changed.get(*path));
        let [ours, theirs] = versions.sides.map(|side| side.map(Entry::to_side));
        Conflict {
            path: path.clone(),
            reason,
            base: versions.base.map(Entry::to_side),
            ours,
            theirs,
            with: with.or_else(|| changed.find_map(ChangedEntry::last)),
            renamed,
        }
    }
}
