//! The files with which a run began, read when they are first asked for.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use engine::fault::Faults;
use protocol::{RepoPath, RunName};

use crate::backends::RunContext;
use crate::baseline::snapshot::{Snapshot, read_file_list};
use crate::baseline::table::Table;
use crate::error::Result;
use crate::paths::RepoPaths;
use crate::repository::Repo;
use crate::store::TaskStore;

/// The files with which a run began.
pub(crate) struct RunFiles<'a> {
    pub(crate) repo: &'a Repo,
    paths: &'a RepoPaths,
    run: &'a RunName,
    table: OnceCell<Option<Table>>,
    renames: OnceCell<BTreeMap<RepoPath, RepoPath>>,
}

impl<'a> RunFiles<'a> {
    pub(crate) fn of(repo: &'a Repo, paths: &'a RepoPaths, run: &'a RunName) -> Self {
        Self { repo, paths, run, table: OnceCell::new(), renames: OnceCell::new() }
    }

    /// Returns the name of the run.
    pub(crate) fn run(&self) -> &'a RunName {
        self.run
    }

    pub(crate) fn context(&self) -> RunContext {
        RunContext::of(self.repo, self.paths, &Faults::default(), self.run)
    }

    /// Returns the files; `None` if they are not known any more.
    pub(crate) fn table(&self) -> Option<&Table> {
        let read = || match Snapshot::load(&self.context()) {
            Ok(Some(snapshot)) => Some(snapshot.table),
            // The list of a run that has ended is kept elsewhere. Without it, nothing is paired.
            _ => read_file_list(self.paths, self.run).ok().flatten(),
        };
        self.table.get_or_init(read).as_ref()
    }

    /// Returns the path that a file had when the run began, if git recorded in the workspace of one of
    /// its tasks that the task renamed it to `path`.
    pub(crate) fn old_path(&self, path: &RepoPath) -> Option<RepoPath> {
        let read = || -> Result<BTreeMap<RepoPath, RepoPath>> {
            let store = TaskStore::open(&self.paths.store)?;
            let mut renames = BTreeMap::new();
            for capture in store.captures(self.run)? {
                let changes = store.changes(&capture)?.into_iter();
                renames.extend(changes.filter_map(|change| Some((change.path, change.from?))));
            }
            Ok(renames)
        };
        // Without the captures, the similarity of files says it.
        self.renames.get_or_init(|| read().unwrap_or_default()).get(path).cloned()
    }
}
