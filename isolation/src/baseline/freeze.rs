//! Freezing: walk once, pin what git does not have, write it all down.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use engine::ports::FreezeRequest;
use git2::Repository;

use crate::backends::RunContext;
use crate::baseline::scan::{self, Scan};
use crate::baseline::{Snapshot, Table, codec, notices, pins};
use crate::error::{OrCannot, Result};
use crate::store::TaskStore;
use crate::tree::Tree;
use crate::workspace::GitTemplate;

/// The name of the table's file in the run's folder. A task cannot have it.
pub(crate) const TABLE: &str = ".baseline";

/// Freezes the user's working tree as it is now.
pub(super) fn freeze(context: &RunContext, request: &FreezeRequest) -> Result<Snapshot> {
    let scanned = Scanned::of(context, request)?;
    let mut snapshot =
        Snapshot { context: context.clone(), table: Table::default(), notices: Vec::new() };
    scanned.keep(&mut snapshot)?;
    Ok(snapshot)
}

/// A tree that has been walked, with nothing written yet.
struct Scanned {
    git: Repository,
    tree: Tree,
    scan: Scan,
}

impl Scanned {
    fn of(context: &RunContext, request: &FreezeRequest) -> Result<Self> {
        let git = context.repo.git()?;
        let tree = Tree::open_at(&context.repo.root)?;
        let scan = scan::scan(&git, &tree, &context.paths.folders(), (context.now_ns)())?;
        pins::check_untracked(&tree, &scan, request.untracked_limit)?;
        Ok(Self { git, tree, scan })
    }

    /// Pins what git does not have, and writes everything down in the run's folder.
    fn keep(mut self, snapshot: &mut Snapshot) -> Result<()> {
        let store = TaskStore::open(&snapshot.context.paths.store)?;
        snapshot.table = std::mem::take(&mut self.scan.table);
        let mut dirty_candidates = std::mem::take(&mut self.scan.dirty_candidates);
        // Switched off by a test that must notice.
        if snapshot.context.faults.is_off("F153") {
            dirty_candidates.clear();
        }
        let RunContext { run, now_ns, .. } = &snapshot.context;
        let unreadable =
            pins::pin(&self.tree, &store, run, dirty_candidates, &mut snapshot.table, *now_ns)?;
        self.scan.unreadable.extend(unreadable);
        snapshot.notices = notices::of(&self.scan);
        GitTemplate::of_run(&snapshot.context.folder).write(&snapshot.context.repo, &self.git)?;
        write_whole(&snapshot.context.folder.join(TABLE), &codec::encode(&snapshot.table))
    }
}

/// Writes a file that is whole or not there.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let what = || format!("write {}", path.display());
    let folder = path.parent().ok_or("it has no folder").or_cannot(what)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).or_cannot(what)?;
    file.write_all(bytes).or_cannot(what)?;
    file.persist(path).map(drop).map_err(|error| error.error).or_cannot(what)
}

/// Reads a file that [`write_whole`] wrote. What a task has put in its place is not waited for.
pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let mut file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
