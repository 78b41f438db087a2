//! Checks that a merge loses no file: the content of each file that a side added is in the result.

use std::collections::{BTreeMap, HashMap};

use git2::Oid;
use protocol::{ConflictReason, RepoPath};

use crate::file_entry::Entry;
use crate::merge::tree_merge::{RenameConflict, SideName, Versions};

/// The files that the sides of a merge added.
pub(super) struct AddedFiles(Vec<(SideName, RepoPath, Entry)>);

impl AddedFiles {
    /// Returns the files that are new in `paths`.
    pub(super) fn of(paths: &BTreeMap<RepoPath, Versions>) -> Self {
        let added = paths.iter().flat_map(|(path, versions)| {
            let new = |side: &SideName| {
                let entry = versions.sides[side.at()].filter(|_| versions.base.is_none())?;
                Some((*side, path.clone(), entry))
            };
            SideName::BOTH.iter().filter_map(new)
        });
        Self(added.collect())
    }

    /// Returns a conflict for each added file that no path of the result was made from. `merged` are
    /// the versions of the paths at which the result has a file.
    pub(super) fn lost<'v>(
        self,
        merged: impl Iterator<Item = &'v Versions>,
    ) -> Vec<RenameConflict> {
        let mut kept: HashMap<(usize, Oid), usize> = HashMap::new();
        for versions in merged {
            for side in SideName::BOTH {
                if let Some(entry) = versions.sides[side.at()] {
                    *kept.entry((side.at(), entry.oid)).or_default() += 1;
                }
            }
        }
        let mut is_lost = |side: SideName, oid: Oid| match kept.get_mut(&(side.at(), oid)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let lost = self.0.into_iter().filter(|(side, _, entry)| is_lost(*side, entry.oid));
        lost.map(|(side, path, entry)| {
            let (mut to, mut versions) = ([None, None], Versions::default());
            to[side.at()] = Some(path.clone());
            versions.sides[side.at()] = Some(entry);
            RenameConflict { reason: ConflictReason::SameName, from: path, to, versions }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_entry::Mode;

    fn entry(content: &str) -> Option<Entry> {
        let oid = Oid::hash_object(git2::ObjectType::Blob, content.as_bytes()).unwrap();
        Some(Entry { mode: Mode::File, oid })
    }

    fn versions(base: &str, ours: &str, theirs: &str) -> Versions {
        let side = |content: &str| if content.is_empty() { None } else { entry(content) };
        Versions::new(side(base), [side(ours), side(theirs)])
    }

    #[test]
    fn a_file_that_a_side_added_and_no_path_of_the_result_has_is_a_conflict() {
        let path = |text: &str| RepoPath::new(text).unwrap();
        let before = [
            (path("changed"), versions("1", "2", "1")),
            (path("new"), versions("", "new", "")),
            (path("same"), versions("", "both", "both")),
            (path("theirs"), versions("", "", "new")),
        ];
        let before: BTreeMap<_, _> = before.into();
        let lost = |after: &[Versions]| -> Vec<String> {
            let lost = AddedFiles::of(&before).lost(after.iter());
            lost.iter().map(|conflict| conflict.from.to_string()).collect()
        };
        let all: Vec<Versions> = before.values().cloned().collect();
        assert_eq!(lost(&all), [""; 0]);
        assert_eq!(lost(&all[1..]), [""; 0], "what was there before may go");
        assert_eq!(lost(&all[2..]), ["new"], "a side has its own files");
        assert_eq!(lost(&all[..2]), ["same", "same", "theirs"]);
        let moved = versions("old", "both", "new");
        assert_eq!(lost(&[all[1].clone(), moved]), ["same"]);
    }
}
