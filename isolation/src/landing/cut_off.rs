//! Landings of other repositories that were cut off in a folder which this one shares with them: that
//! of a nested repository belongs to each repository around it as well. An engine that is about to work there
//! completes them first.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use engine::fault::Faults;
use engine::ports::{CancelToken, LandingNotice, Notice};
use protocol::RepoPath;

use crate::error::{Result, cannot, error_text};
use crate::landing::finish::LandingContext;
use crate::landing::finish_open::finish_open;
use crate::landing::journal::{Journals, State};
use crate::landing::landing_lock::LandingLock;
use crate::nested::git_dirs;
use crate::paths::RepoPaths;
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::Tree;

/// Another repository with landings that were cut off, or are in progress.
pub(super) struct CutOff {
    root: PathBuf,
    paths: RepoPaths,
    /// The folders of the nested repositories in which they write.
    nested: BTreeSet<RepoPath>,
}

impl CutOff {
    /// Returns the other repositories whose open landings write in the folder of `repo`, or in that
    /// of one of the nested repositories in `roots`.
    pub(super) fn around(repo: &Repo, paths: &RepoPaths, roots: &BTreeSet<RepoPath>) -> Vec<Self> {
        let nested = roots.iter().map(|root| below(&repo.root, root));
        let shared: BTreeSet<PathBuf> = nested.chain([repo.root.clone()]).collect();
        // A repository in whose tree a folder is has its own root there or above.
        let places: BTreeSet<&Path> = shared.iter().flat_map(|place| place.ancestors()).collect();
        let others = places.into_iter().filter(|place| *place != repo.root);
        let found = others.filter_map(|place| Self::of(place, paths.beside(place), &shared));
        found.collect()
    }

    /// Returns the repository at `root`, if it has open landings in one of the folders `shared`.
    fn of(root: &Path, paths: RepoPaths, shared: &BTreeSet<PathBuf>) -> Option<Self> {
        let faults = Faults::default();
        let journals = Journals::in_folder(&paths.landings, &faults);
        let mut nested = BTreeSet::new();
        let mut is_open = false;
        // The engines of that repository say what cannot be read.
        for (id, state) in journals.open().unwrap_or_default() {
            if state < State::Unreported
                && let Ok(Some(journal)) = journals.read(&id, state)
            {
                is_open = true;
                nested.extend(journal.roots());
            }
        }
        let mut written = nested.iter().map(|path| below(root, path));
        let is_shared = shared.contains(root) || written.any(|place| shared.contains(&place));
        (is_open && is_shared).then(|| Self { root: root.to_owned(), paths, nested })
    }

    /// Returns the git folders that are locked to complete the landings; none if the repository is
    /// not usable any more.
    pub(super) fn git_folders(&self) -> Vec<PathBuf> {
        self.open().map(|repo| self.git_folders_of(&repo)).unwrap_or_default()
    }

    fn git_folders_of(&self, repo: &Repo) -> Vec<PathBuf> {
        let nested = git_dirs(repo, self.nested.iter());
        std::iter::once(repo.common_dir.clone()).chain(nested).collect()
    }

    fn open(&self) -> Result<Repo> {
        let repo = Repo::open(&self.root)?;
        if repo.root != self.root {
            return Err(cannot("open it", "no repository is there any more"));
        }
        Ok(repo)
    }

    /// Completes the landings, or takes them back, if `lock` is on all of their git folders: else an
    /// engine may be at work on them.
    fn finish(
        &self,
        lock: &LandingLock,
        faults: &Faults,
        cancel: &CancelToken,
        notify: &dyn Fn(LandingNotice),
    ) -> Result<()> {
        let repo = self.open()?;
        if !lock.holds(&self.git_folders_of(&repo)) {
            return Err(cannot("lock it", "it could not be opened before"));
        }
        let store = TaskStore::open(&self.paths.store)?;
        let journals = Journals::in_folder(&self.paths.landings, faults);
        let tree = Tree::open_at(&repo.root)?;
        let context = LandingContext::new(&tree, &store, &journals, faults, cancel, notify);
        // The journals keep the reports, which the next recovery of that repository returns.
        finish_open(&context, &repo, &BTreeSet::new()).map(drop)
    }
}

/// Completes the landings of other repositories that dead engines have left in the folder of `repo`,
/// or in the nested repositories in `roots`. One that cannot be
/// completed stays as it is, which is reported.
pub(super) fn finish_others(
    (repo, paths): (&Repo, &RepoPaths),
    (lock, roots): (&LandingLock, &BTreeSet<RepoPath>),
    faults: &Faults,
    cancel: &CancelToken,
    notify: &dyn Fn(LandingNotice),
) {
    for other in CutOff::around(repo, paths, roots) {
        let Err(error) = other.finish(lock, faults, cancel, notify) else { continue };
        let place = other.root.display();
        notify(LandingNotice::Degraded(Notice {
            from: format!("a landing of the repository {place} that was cut off here"),
            to: "it stays as it is, and what it has written counts as edits of yours".to_owned(),
            why: format!("{}; the next command of regatta there tries again", error_text(&error)),
        }));
    }
}

fn below(root: &Path, path: &RepoPath) -> PathBuf {
    root.join(OsStr::from_bytes(path.as_bytes()))
}
