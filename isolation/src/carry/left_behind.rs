//! The notices about what was to be carried and is not.

use engine::ports::Notice;

use super::globs::MatchesOthers;
use crate::baseline::some_of;

/// Files that a glob matches and that are not carried.
#[derive(Debug, Default)]
pub(super) struct LeftBehind {
    /// Sockets, pipes and devices.
    pub(super) special: Vec<String>,
    /// Files and folders that cannot be read.
    pub(super) unreadable: Vec<String>,
    /// Paths with names that no repository can contain.
    pub(super) invalid_names: Vec<String>,
}

impl LeftBehind {
    /// Returns whether everything that a glob matches is carried.
    pub(super) fn is_empty(&self) -> bool {
        let Self { special, unreadable, invalid_names } = self;
        [special, unreadable, invalid_names].iter().all(|paths| paths.is_empty())
    }

    /// Adds what `other` has and this has not.
    pub(super) fn add(&mut self, other: Self) {
        let Self { special, unreadable, invalid_names } = other;
        for (known, found) in [
            (&mut self.special, special),
            (&mut self.unreadable, unreadable),
            (&mut self.invalid_names, invalid_names),
        ] {
            let new: Vec<_> = found.into_iter().filter(|path| !known.contains(path)).collect();
            known.extend(new);
        }
    }

    /// Returns the notices. `unused` are the globs that have matched no ignored file.
    pub(super) fn notices(&self, unused: &[(&str, MatchesOthers)]) -> Vec<Notice> {
        let these = |others: MatchesOthers| -> Vec<String> {
            let globs = unused.iter().filter(|(_, found)| *found == others);
            globs.map(|(glob, _)| format!("`{glob}`")).collect()
        };
        let rows: [(&[String], &str, &str, &str); 5] = [
            (
                &these(MatchesOthers::Yes),
                "carried files",
                "files that git does not ignore are in each workspace anyway, and changes to them land",
                "no ignored file matches",
            ),
            (&these(MatchesOthers::No), "carried files", "none", "no file matches"),
            (
                &self.special,
                "carried files",
                "sockets, pipes and devices are not copied",
                "left out:",
            ),
            (
                &self.unreadable,
                "carried files",
                "some are not copied into the workspaces",
                "permission denied:",
            ),
            (
                &self.invalid_names,
                "carried files",
                "some are not copied into the workspaces",
                "their names are invalid in a repository:",
            ),
        ];
        let rows = rows.into_iter().filter(|(paths, ..)| !paths.is_empty());
        rows.map(|(paths, from, to, why)| Notice {
            from: from.to_owned(),
            to: to.to_owned(),
            why: format!("{why} {}", some_of(paths)),
        })
        .collect()
    }
}
