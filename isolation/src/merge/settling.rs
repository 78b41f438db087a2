//! Settles the conflicts of one task while its work is merged, as its request says, and keeps what
//! cannot be settled apart from the rest.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use engine::ports::{ConflictingRest, SettleChoice, SettleRequest};
use git2::Oid;
use protocol::{Conflict, ConflictReason, RenamedFile, RepoPath, Settled, SettledConflict};

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::merger::{Merger, Wanted};
use crate::merge::obstacles::has_entries_below;
use crate::merge::old_places::{Followed, OldPlaces, first_name};
use crate::merge::path_texts::PathTexts;
use crate::merge::{Blobs, EntryState};
use crate::settle::{Sides, concerned_paths, entry_of, settle};

/// The result of adding the work of one task to a merge.
#[derive(Debug, Default)]
pub(crate) struct Added {
    /// The files that were joined by their rule.
    pub(crate) joined: Vec<RepoPath>,
    /// The conflicts that are left, sorted by path. Without any, the whole work was merged.
    pub(crate) conflicts: Vec<Conflict>,
    /// What was settled.
    pub(crate) settled: Settled,
}

impl Added {
    /// Returns whether work was merged: all of it, or what does not conflict.
    pub(super) fn is_merged(&self) -> bool {
        self.conflicts.is_empty() || !self.settled.landed.is_empty()
    }
}

/// What became of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// A choice settled it.
    Settled,
    /// It is left.
    Kept,
}

/// The conflicts of one task, and the entries that its paths get.
pub(super) struct Settling<'a> {
    request: &'a SettleRequest,
    changes: &'a [Change],
    /// The files that follow a renamed folder.
    followed: &'a Followed,
    /// Found at the first conflict that leaves a file of the task where it was.
    old_places: Option<OldPlaces<'a>>,
    /// What the task left at the paths that it changed.
    own: BTreeMap<&'a RepoPath, Option<Entry>>,
    pub(super) wanted: Wanted,
    conflicts: Vec<Conflict>,
    settled: Vec<SettledConflict>,
    /// Every path to which a choice gave an entry.
    decided: BTreeSet<RepoPath>,
    /// The paths among them at which a choice may leave a file of the task without its new name, each with
    /// what the file was merged to, if it was.
    unplaced: Vec<(RepoPath, &'a SettleChoice, Option<Entry>)>,
    /// The conflicts that were met.
    met: Vec<(RepoPath, ConflictReason, Option<RenamedFile>)>,
}

impl<'a> Settling<'a> {
    pub(super) fn new(
        request: &'a SettleRequest,
        changes: &'a [Change],
        (wanted, followed): (Wanted, &'a Followed),
    ) -> Self {
        let own = changes.iter().map(|change| (&change.path, change.task)).collect();
        Self {
            request,
            changes,
            followed,
            old_places: None,
            own,
            wanted,
            conflicts: Vec::new(),
            settled: Vec::new(),
            decided: BTreeSet::new(),
            unplaced: Vec::new(),
            met: Vec::new(),
        }
    }

    /// Settles a conflict if a choice is given for it, and keeps it otherwise. Returns which.
    pub(super) fn meet(
        &mut self,
        merger: &Merger<'_>,
        blobs: &dyn Blobs,
        conflict: Conflict,
    ) -> Result<Met> {
        // A path can be in two conflicts, for instance of its name and of its content, or of the names
        // of two files.
        let met = (conflict.path.clone(), conflict.reason, conflict.renamed.clone());
        let is_new = !self.met.contains(&met);
        self.met.push(met);
        let concerned = concerned_paths(&conflict);
        let request = self.request;
        let named = concerned.iter().find_map(|path| request.paths.get(path));
        let choice = named.or(request.all.as_ref()).filter(|_| is_new);
        if let Some(choice) = choice {
            let versions = [&conflict.base, &conflict.ours, &conflict.theirs];
            let versions = versions.map(|side| entry_of(side.as_ref()));
            let texts = PathTexts::of(blobs, merger.rules, &conflict.path, versions);
            let blobs = &texts;
            let is_foreign = |path: &RepoPath| {
                let mut above = std::iter::once(path.clone()).chain(path.folders());
                above.try_fold(false, |found, path| {
                    Ok(found || merger.state_of(&path)? == EntryState::Foreign)
                })
            };
            // A file that something is in the way of has been merged already.
            let is_placed =
                conflict.reason == ConflictReason::InTheWay && conflict.theirs.is_some();
            let merged = self.wanted.get(&conflict.path).filter(|_| is_placed).copied();
            let sides = Sides {
                ours: &|path| merger.entry(path),
                theirs: &|path| {
                    let own = || self.own.get(path).copied();
                    merged.filter(|_| *path == conflict.path).or_else(own)
                },
                is_foreign: &is_foreign,
                is_folder: &|path| has_entries_below(merger, path),
                markers: &|path| merger.markers(path),
                blobs,
            };
            if let Some(entries) = settle(&conflict, choice, &sides)?
                && !(conflict.reason == ConflictReason::InTheWay && self.are_kept(&entries))
            {
                // A file that has two new names goes on at that of the other side.
                if conflict.reason != ConflictReason::RenamedTwice {
                    self.unplaced.extend(entries.keys().map(|path| {
                        let merged = merged.flatten().filter(|_| *path == conflict.path);
                        (path.clone(), choice, merged)
                    }));
                }
                self.decided.extend(entries.keys().cloned());
                self.wanted.extend(entries);
                self.report(conflict.path, choice);
                return Ok(Met::Settled);
            }
        }
        // Of work that is merged in part, no file leaves its old name without getting its new one.
        if self.request.rest == ConflictingRest::LandClean {
            let left = self.old_places(merger)?.beside(merger, conflict)?;
            self.conflicts.extend(left);
        } else {
            self.conflicts.push(conflict);
        }
        Ok(Met::Kept)
    }

    fn report(&mut self, path: RepoPath, choice: &SettleChoice) {
        let (by, resolver) = (choice.reported(), choice.resolver().cloned());
        self.settled.push(SettledConflict { path, by, resolver });
    }

    /// Leaves the paths of conflicts as they are, and the files that choices have left without their new
    /// names at their old ones. A rename lands whole or not at all; to git the old name is gone, and with
    /// it the content.
    pub(super) fn complete(&mut self, merger: &Merger<'_>) -> Result<()> {
        self.withdraw();
        let decided = self.decided.iter().filter_map(|path| self.wanted.get(path).copied());
        let placed: HashSet<Oid> = decided.flatten().map(|entry| entry.oid).collect();
        for (path, choice, merged) in std::mem::take(&mut self.unplaced) {
            let own = self.own.get(first_name(self.followed, &path)).copied().flatten();
            let is_placed = |file: Entry| placed.contains(&file.oid);
            if own.is_none_or(is_placed)
                || merged.is_some_and(is_placed)
                || self.wanted.get(&path) != Some(&merger.entry(&path)?)
            {
                continue;
            }
            for name in self.old_places(merger)?.old_names(&path) {
                if self.decided.insert(name.clone()) {
                    self.wanted.insert(name.clone(), merger.entry(&name)?);
                    self.report(name, choice);
                }
            }
        }
        Ok(())
    }

    fn old_places(&mut self, merger: &Merger<'_>) -> Result<&mut OldPlaces<'a>> {
        let old_places = match self.old_places.take() {
            Some(old_places) => old_places,
            None => OldPlaces::of(merger, self.changes, self.followed)?,
        };
        Ok(self.old_places.insert(old_places))
    }

    /// Returns whether another conflict keeps one of these paths as it is, so that it makes no room.
    fn are_kept(&self, entries: &Wanted) -> bool {
        self.conflicts.iter().flat_map(concerned_paths).any(|path| entries.contains_key(&path))
    }

    /// Returns whether a conflict keeps the whole work from being merged.
    pub(super) fn is_refused(&self) -> bool {
        !self.conflicts.is_empty() && self.request.rest == ConflictingRest::KeepAll
    }

    /// Leaves the paths of conflicts as they are.
    fn withdraw(&mut self) {
        for path in self.conflicts.iter().flat_map(concerned_paths) {
            self.wanted.remove(&path);
        }
    }

    /// Returns the entries that are to be merged, and the result.
    pub(super) fn finish(mut self, joined: Vec<RepoPath>) -> (Wanted, Added) {
        self.conflicts.sort_by(|one, other| one.path.cmp(&other.path));
        self.conflicts.dedup_by(|one, other| {
            one.path == other.path && one.reason == other.reason && one.renamed == other.renamed
        });
        if self.is_refused() {
            // What has landed earlier stays so.
            let landed = self.request.landed.iter().cloned().collect();
            let settled = Settled { landed, ..Settled::default() };
            return (
                Wanted::new(),
                Added { conflicts: self.conflicts, settled, ..Added::default() },
            );
        }
        self.settled.sort_by(|one, other| one.path.cmp(&other.path));
        let mut landed = Vec::new();
        if !self.conflicts.is_empty() {
            let left: BTreeSet<RepoPath> =
                self.conflicts.iter().flat_map(concerned_paths).collect();
            let own =
                self.own.keys().map(|path| (*path).clone()).chain(self.wanted.keys().cloned());
            let done: BTreeSet<RepoPath> = own.filter(|path| !left.contains(path)).collect();
            landed = done.union(&self.request.landed).cloned().collect();
        }
        let settled = Settled { conflicts: self.settled, landed };
        let joined = joined.into_iter().filter(|path| self.wanted.contains_key(path)).collect();
        (self.wanted, Added { joined, conflicts: self.conflicts, settled })
    }
}
