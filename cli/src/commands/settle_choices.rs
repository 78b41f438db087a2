//! The choices of a command line for the conflicts of one task.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use protocol::{Conflict, RenamedFile, RepoPath};

use crate::args::SettleOption;
use crate::render::one_line;
use regatta::error::Error;

/// The most paths that an error lists.
const NAMED: usize = 10;

/// The choices for the conflicts of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choices {
    /// The choice for every conflict that has none of its own.
    pub(super) all: Option<SettleOption>,
    /// The choice for the conflict at a path.
    pub(super) paths: BTreeMap<RepoPath, SettleOption>,
}

impl Choices {
    /// Finds the conflicts that the options name. A path is relative to the root of the repository,
    /// or else to `folder`; a folder stands for every conflict below it.
    ///
    /// # Errors
    /// A path does not conflict, or has two choices.
    pub(super) fn of(
        options: &[(SettleOption, &[OsString])],
        conflicts: &[Conflict],
        folder: &Path,
    ) -> Result<Self, Error> {
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

    fn set_all(&mut self, option: SettleOption) -> Result<(), Error> {
        match self.all.replace(option) {
            Some(other) if other != option => {
                let both = [other.text(), option.text()].map(|option| format!("`{option}`"));
                let what = format!("{} are both for all conflicts", both.join(" and "));
                Err(Error::usage(what).hint(format!("{} PATH", option.text())))
            }
            _ => Ok(()),
        }
    }

    fn set(&mut self, path: &RepoPath, option: SettleOption) -> Result<(), Error> {
        match self.paths.insert(path.clone(), option) {
            Some(other) if other != option => {
                let (one, two) = (other.text(), option.text());
                let path = one_line(&path.to_string());
                Err(Error::usage(format!("`{one}` and `{two}` are both for {path}")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the choice for a conflict.
    pub(super) fn of_conflict(&self, conflict: &Conflict) -> Option<SettleOption> {
        self.paths.get(&conflict.path).copied().or(self.all)
    }
}

/// Returns the conflicts at a path, or below it.
fn find<'a>(
    given: &OsString,
    conflicts: &'a [Conflict],
    folder: &Path,
) -> Result<Vec<&'a Conflict>, Error> {
    let text = given.as_bytes();
    let text = text.strip_prefix(b"./").unwrap_or(text);
    let text = text.strip_suffix(b"/").unwrap_or(text);
    let from_folder = folder.join(Path::new(std::ffi::OsStr::from_bytes(text)));
    for path in [text, from_folder.as_os_str().as_bytes()] {
        let Some(path) = RepoPath::new(path) else { continue };
        let is_meant = |conflict: &&Conflict| {
            names(conflict).any(|name| *name == path || name.is_below(&path))
        };
        let found: Vec<_> = conflicts.iter().filter(is_meant).collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(no_conflict(given, conflicts))
}

/// Returns every name of the file of a conflict.
pub(super) fn names(conflict: &Conflict) -> impl Iterator<Item = &RepoPath> {
    let renamed = conflict.renamed.as_ref();
    let others = renamed.map(|RenamedFile { from, ours, theirs }| {
        [Some(from), ours.as_ref(), theirs.as_ref()].into_iter().flatten()
    });
    std::iter::once(&conflict.path).chain(others.into_iter().flatten())
}

/// Returns the error of a path that does not conflict.
pub(super) fn no_conflict(given: &OsString, conflicts: &[Conflict]) -> Error {
    let given = one_line(&given.to_string_lossy());
    let error = Error::usage(format!("`{given}` is not a path of a conflict"));
    match conflicts {
        [] => error.because("nothing of this work conflicts with the tree as it is now"),
        _ => {
            let mut named: Vec<_> = conflicts
                .iter()
                .take(NAMED)
                .map(|conflict| one_line(&conflict.path.to_string()))
                .collect();
            if let Some(more @ 1..) = conflicts.len().checked_sub(NAMED) {
                named.push(format!("{more} more"));
            }
            error.because(format!("the paths in conflict are {}", named.join(", ")))
        }
    }
}
