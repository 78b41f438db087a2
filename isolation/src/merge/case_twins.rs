//! Finds names that cannot be in the tree: those that differ from another one in case only, where the
//! file system takes both for one, and symlinks that git refuses.

use std::collections::BTreeMap;

use protocol::{Conflict, ConflictReason, RenamedFile, RepoPath};

use crate::error::Result;
use crate::file_entry::Mode;
use crate::merge::merger::{Merger, Wanted};
use crate::merge::tree_merge::Versions;
use crate::tree::folded;

impl Merger<'_> {
    /// Returns a conflict for each new entry whose name cannot be in the tree.
    pub(super) fn impossible_names(&self, wanted: &Wanted) -> Result<Vec<Conflict>> {
        let mut conflicts = Vec::new();
        let mut names = None;
        for (path, entry) in wanted {
            let Some(entry) = *entry else { continue };
            let stands = self.entry(path)?;
            if entry.mode == Mode::Link && path.names_gitmodules() && stands != Some(entry) {
                let versions = Versions::new(None, [stands, Some(entry)]);
                let about = (path, ConflictReason::GitmodulesLink);
                conflicts.push(self.conflict_of(about, &versions, None, &[Some(path)]));
                continue;
            }
            if stands.is_some() || !self.target.folds_case(path)? {
                continue;
            }
            let names = names.get_or_insert_with(|| self.names_with(wanted));
            let Some(twin) = self.case_twin(wanted, names, path)? else { continue };
            let ours = match wanted.get(&twin) {
                Some(other) => *other,
                None => self.entry(&twin)?,
            };
            let versions = Versions::new(None, [ours, Some(entry)]);
            let renamed = RenamedFile {
                from: twin.clone(),
                ours: Some(twin.clone()),
                theirs: Some(path.clone()),
            };
            let about = (path, ConflictReason::Case);
            conflicts.push(self.conflict_of(about, &versions, Some(renamed), &[Some(&twin)]));
        }
        Ok(conflicts)
    }

    /// Returns the name for which the file system would take a new path, or a folder above it.
    fn case_twin(
        &self,
        wanted: &Wanted,
        names: &BTreeMap<String, RepoPath>,
        path: &RepoPath,
    ) -> Result<Option<RepoPath>> {
        let goes = |twin: &RepoPath| match wanted.get(twin) {
            Some(entry) => entry.is_none(),
            None => self.changed.get(twin).is_some_and(|changed| changed.entry.is_none()),
        };
        if let Some(twin) = self.target.twin(path)?.filter(|twin| !goes(twin)) {
            return Ok(Some(twin));
        }
        let is_twin = |place: &RepoPath| {
            names.get(&folded(place.as_bytes())).filter(|twin| *twin != place).cloned()
        };
        Ok(std::iter::once(path.clone()).chain(path.folders()).find_map(|place| is_twin(&place)))
    }

    /// Returns the first name of each that tasks have given to files and folders, by the name without
    /// case.
    fn names_with(&self, wanted: &Wanted) -> BTreeMap<String, RepoPath> {
        let earlier = self.changed.iter().filter(|(path, changed)| {
            changed.entry.is_some() && wanted.get(*path).is_none_or(Option::is_some)
        });
        let own = wanted.iter().filter(|(_, entry)| entry.is_some());
        let mut names = BTreeMap::new();
        for path in earlier.map(|(path, _)| path).chain(own.map(|(path, _)| path)) {
            for place in std::iter::once(path.clone()).chain(path.folders()) {
                names.entry(folded(place.as_bytes())).or_insert(place);
            }
        }
        names
    }
}
