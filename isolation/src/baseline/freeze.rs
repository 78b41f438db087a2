//! Freezing: wait for landings, walk once, pin what git does not have, write it all down. The claim
//! on the run's folder is taken before.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;

use engine::fault::Faults;
use engine::ports::{CancelToken, FreezeRequest, IsolationError, LandingNews, Notice};
use git2::Repository;
use protocol::IsolationMode;

use crate::baseline::scan::{self, Scan};
use crate::baseline::{Frozen, NewClaim, Table, codec, notices, pins};
use crate::branch;
use crate::error::{OrCannot, Result};
use crate::landing::{self, Turn};
use crate::places::RepoPlaces;
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::Tree;
use crate::workspace::GitSeed;

/// The name of the table's file in the run's folder. A task cannot have it.
pub(crate) const TABLE: &str = ".baseline";

/// Freezes the working tree of `repo` as it is now. Leaves nothing behind when it fails.
pub(crate) fn freeze(
    repo: &Repo,
    places: &RepoPlaces,
    faults: &Faults,
    request: &FreezeRequest,
    claim: NewClaim,
    landings: Landings<'_>,
) -> Result<Frozen> {
    if let Some(prefix) = &request.branches {
        branch::must_be_possible(repo, faults, prefix, &request.run)?;
    }
    // No landing changes the tree while it is looked at: half of one is nothing to begin with.
    let Landings { cancel, news } = landings;
    let turn = Turn::wait(&repo.common_dir, faults, cancel, news)?;
    let Some(_turn) = turn else { return Err(IsolationError::Withdrawn) };
    // The one that was waited for may have been killed in the middle.
    if let Err(error) = landing::finish_cut_short(repo, places, faults, cancel, news) {
        // A recovery has told it, and who lands is told again.
        tracing::warn!(%error, "the tree is looked at although a landing is not over");
    }
    faults.strike("freeze.scan").or_cannot(|| "look at the working tree")?;
    let scanned = match request.mode {
        IsolationMode::None => None,
        IsolationMode::Worktree => Some(Scanned::of(repo, places, request)?),
    };
    let folder = places.workspaces.join(request.run.as_str());
    let mut frozen = Frozen {
        repo: repo.clone(),
        places: places.clone(),
        faults: faults.clone(),
        run: request.run.clone(),
        mode: request.mode,
        table: Table::default(),
        notices: vec![in_place()],
        claim: Mutex::new(claim.begin()),
        folder,
    };
    if let Some(scanned) = scanned
        && let Err(error) = scanned.keep(&mut frozen)
    {
        if let Err(error) = frozen.close() {
            tracing::warn!(%error, "what is left of a baseline that failed stays");
        }
        return Err(error);
    }
    Ok(frozen)
}

/// How a freeze waits for landings in the same repository.
#[derive(Clone, Copy)]
pub(crate) struct Landings<'a> {
    /// Ends the wait, and with it the freeze.
    pub(crate) cancel: &'a CancelToken,
    /// Told that it waits.
    pub(crate) news: &'a dyn Fn(LandingNews),
}

fn in_place() -> Notice {
    Notice {
        from: "a workspace per task".to_owned(),
        to: "tasks work in the repository itself; nothing is captured and nothing lands".to_owned(),
        why: "isolation is none".to_owned(),
    }
}

/// A tree that has been walked, with nothing written yet.
struct Scanned {
    git: Repository,
    tree: Tree,
    scan: Scan,
}

impl Scanned {
    fn of(repo: &Repo, places: &RepoPlaces, request: &FreezeRequest) -> Result<Self> {
        let git = repo.git()?;
        let tree = Tree::open_at(&repo.root)?;
        let scan = scan::scan(&git, &tree, &places.folders())?;
        pins::check_untracked(&tree, &scan, request.untracked_limit)?;
        Ok(Self { git, tree, scan })
    }

    /// Pins what git does not have, and writes everything down in the run's folder.
    fn keep(mut self, frozen: &mut Frozen) -> Result<()> {
        let store = TaskStore::open(&frozen.places.store)?;
        frozen.table = std::mem::take(&mut self.scan.table);
        let mut doubtful = std::mem::take(&mut self.scan.doubtful);
        // Switched off by a test that must notice.
        if frozen.faults.is_off("F153") {
            doubtful.clear();
        }
        let unreadable = pins::pin(&self.tree, &store, &frozen.run, doubtful, &mut frozen.table)?;
        self.scan.unreadable.extend(unreadable);
        frozen.notices = notices::of(&self.scan);
        GitSeed::of_run(&frozen.folder).write(&frozen.repo, &self.git)?;
        write_whole(&frozen.folder.join(TABLE), &codec::encode(&frozen.table))
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
