//! What is chosen for the conflicts of one task.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use protocol::{Conflict, RenamedFile, RepoPath};

use super::conflicts::SettleOption;
use crate::text::one_line;

/// Why choices cannot be for the conflicts of a task.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// Two are for all conflicts.
    #[error("two choices are for all conflicts")]
    TwoForAll {
        /// The first.
        one: SettleOption,
        /// The second.
        other: SettleOption,
    },
    /// Two are for the same conflict.
    #[error("two choices are for {}", one_line(&.path.to_string()))]
    TwoForPath {
        /// The path of the conflict.
        path: RepoPath,
        /// The first.
        one: SettleOption,
        /// The second.
        other: SettleOption,
    },
    /// Nothing conflicts at a path.
    #[error("`{}` is not a path of a conflict", one_line(&.given.to_string_lossy()))]
    NoConflict {
        /// The path as it was given.
        given: OsString,
        /// The paths of the conflicts.
        paths: Vec<RepoPath>,
    },
}

/// The choices for the conflicts of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The choice for every conflict that has none of its own.
    pub all: Option<SettleOption>,
    /// The choice for the conflict at a path.
    pub paths: BTreeMap<RepoPath, SettleOption>,
}

impl Choices {
    /// Finds the conflicts that the options name. A path is relative to the root of the repository,
    /// or else to `folder`; a folder stands for every conflict below it.
    ///
    /// # Errors
    /// A path does not conflict, or has two choices.
    pub fn of(
        options: &[(SettleOption, &[OsString])],
        conflicts: &[Conflict],
        folder: &Path,
    ) -> Result<Self, ChoiceError> {
        let mut choices = Self::default();
        for (option, paths) in options {
            if paths.is_empty() {
                choices.set_all(*option)?;
            }
            for given in *paths {
                let found = find(given, conflicts, folder)?;
                for conflict in found {
                    choices.set(&conflict.path, *option)?;
                }
            }
        }
        Ok(choices)
    }

    fn set_all(&mut self, option: SettleOption) -> Result<(), ChoiceError> {
        match self.all.replace(option) {
            Some(one) if one != option => Err(ChoiceError::TwoForAll { one, other: option }),
            _ => Ok(()),
        }
    }

    fn set(&mut self, path: &RepoPath, option: SettleOption) -> Result<(), ChoiceError> {
        match self.paths.insert(path.clone(), option) {
            Some(one) if one != option => {
                Err(ChoiceError::TwoForPath { path: path.clone(), one, other: option })
            }
            _ => Ok(()),
        }
    }

    /// Returns the choice for a conflict.
    #[must_use]
    pub fn of_conflict(&self, conflict: &Conflict) -> Option<SettleOption> {
        self.paths.get(&conflict.path).copied().or(self.all)
    }
}

/// Returns the conflicts at a path, or below it.
fn find<'a>(
    given: &OsString,
    conflicts: &'a [Conflict],
    folder: &Path,
) -> Result<Vec<&'a Conflict>, ChoiceError> {
    let text = given.as_bytes();
    let text = text.strip_prefix(b"./").unwrap_or(text);
    let text = text.strip_suffix(b"/").unwrap_or(text);
    let from_folder = folder.join(Path::new(std::ffi::OsStr::from_bytes(text)));
    for path in [text, from_folder.as_os_str().as_bytes()] {
        let Some(path) = RepoPath::new(path) else { continue };
        let is_meant = |conflict: &&Conflict| {
            conflict_names(conflict).any(|name| *name == path || name.is_below(&path))
        };
        let found: Vec<_> = conflicts.iter().filter(is_meant).collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let paths = conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    Err(ChoiceError::NoConflict { given: given.clone(), paths })
}

/// Returns every name of the file of a conflict.
pub fn conflict_names(conflict: &Conflict) -> impl Iterator<Item = &RepoPath> {
    let renamed = conflict.renamed.as_ref();
    let others = renamed.map(|RenamedFile { from, ours, theirs }| {
        [Some(from), ours.as_ref(), theirs.as_ref()].into_iter().flatten()
    });
    std::iter::once(&conflict.path).chain(others.into_iter().flatten())
}
