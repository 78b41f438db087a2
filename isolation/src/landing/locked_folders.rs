//! The git folders that a landing locks: that of the repository, and those of the nested repositories
//! in which it writes, or in which a landing wrote that a dead engine has left open.

use std::collections::BTreeSet;
use std::path::PathBuf;

use engine::fault::Faults;
use protocol::{RepoPath, RunName};

use crate::error::Result;
use crate::landing::cut_off::CutOff;
use crate::landing::journal::{Journals, State};
use crate::nested::git_dirs;
use crate::paths::RepoPaths;
use crate::repository::Repo;

/// Returns the git folders of a landing that writes in the nested repositories `roots`.
pub(crate) fn git_folders(
    repo: &Repo,
    paths: &RepoPaths,
    roots: impl Iterator<Item = RepoPath>,
) -> Result<Vec<PathBuf>> {
    let faults = Faults::default();
    let journals = Journals::in_folder(&paths.landings, &faults);
    let mut all: BTreeSet<RepoPath> = roots.collect();
    for (id, state) in journals.open()? {
        // Who finishes the landings says which of them cannot be read.
        if state < State::Unreported
            && let Ok(Some(journal)) = journals.read(&id, state)
        {
            all.extend(journal.roots());
        }
    }
    // What an engine of another repository has left in these folders is completed before.
    let others = CutOff::around(repo, paths, &all).into_iter().flat_map(|it| it.git_folders());
    let own = std::iter::once(repo.common_dir.clone()).chain(git_dirs(repo, all.iter()));
    Ok(own.chain(others).collect())
}

/// Returns the folders of the nested repositories in which the landings of `run` have written.
pub(super) fn roots_of(journals: &Journals<'_>, run: &RunName) -> Result<BTreeSet<RepoPath>> {
    let mut roots = BTreeSet::new();
    for id in journals.done(run)? {
        // Who takes the landing back says which of them cannot be read.
        if let Ok(Some(journal)) = journals.read(&id, State::Done) {
            roots.extend(journal.roots());
        }
    }
    Ok(roots)
}
