//! Reads the objects of nested repositories, each of which is opened when it is first needed.

use std::cell::OnceCell;

use git2::Repository;
use protocol::RepoPath;

use crate::error::{Result, cannot};
use crate::nested::open_in;
use crate::repository::Repo;

/// The nested repositories of a snapshot. Each thread has its own.
pub(crate) struct NestedReaders {
    /// The repository around them; `None` if there are none.
    repo: Option<Repo>,
    /// Their folders, sorted, each with its repository or the reason why there is none.
    roots: Vec<Vec<u8>>,
    opened: Vec<OnceCell<std::result::Result<Repository, String>>>,
}

impl NestedReaders {
    /// Returns readers of the repositories in the folders `roots` of `repo`.
    pub(crate) fn of(repo: &Repo, roots: &[Vec<u8>]) -> Self {
        let opened = roots.iter().map(|_| OnceCell::new()).collect();
        let repo = (!roots.is_empty()).then(|| repo.clone());
        Self { repo, roots: roots.to_vec(), opened }
    }

    /// Returns the nested repository that has `path`, and the path in it; `None` for a path of the
    /// user's repository itself.
    ///
    /// # Errors
    /// The nested repository cannot be opened any more.
    pub(crate) fn of_path(&self, path: &RepoPath) -> Result<Option<(&Repository, RepoPath)>> {
        let is_above = |root: &&[u8]| {
            path.as_bytes().strip_prefix(*root).is_some_and(|rest| rest.starts_with(b"/"))
        };
        // The innermost is the last: a folder is sorted before what is in it.
        let found = self.roots.iter().rposition(|root| is_above(&root.as_slice()));
        let (Some(place), Some(repo)) = (found, &self.repo) else { return Ok(None) };
        let root = &self.roots[place];
        let Some(below) = RepoPath::new(&path.as_bytes()[root.len() + 1..]) else {
            return Ok(None);
        };
        let open = || open_in(repo, &self.roots, root).map(|nested| nested.git);
        match self.opened[place].get_or_init(open) {
            Ok(git) => Ok(Some((git, below))),
            Err(why) => Err(cannot(format!("read {path} in its repository"), why.as_str())),
        }
    }
}
