//! The files with which a run began, read when they are first asked for.

use std::cell::OnceCell;

use engine::fault::Faults;
use protocol::RunName;

use crate::backends::RunContext;
use crate::baseline::snapshot::{Snapshot, read_file_list};
use crate::baseline::table::Table;
use crate::paths::RepoPaths;
use crate::repository::Repo;

/// The files with which a run began.
pub(crate) struct RunFiles<'a> {
    pub(crate) repo: &'a Repo,
    paths: &'a RepoPaths,
    run: &'a RunName,
    table: OnceCell<Option<Table>>,
}

impl<'a> RunFiles<'a> {
    pub(crate) fn of(repo: &'a Repo, paths: &'a RepoPaths, run: &'a RunName) -> Self {
        Self { repo, paths, run, table: OnceCell::new() }
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
}
