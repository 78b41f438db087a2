//! A frozen tree, and its bytes for whoever needs them: from the user's file while that is
//! unchanged, else from the blob or the pin.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use engine::fault::Faults;
use engine::ports::Notice;
use git2::Repository;
use protocol::{IsolationMode, RepoPath, RunName};

use crate::baseline::{Claim, Landings, NewClaim, Source, Start, Table, codec, conversion, freeze};
use crate::entry::Entry;
use crate::error::{OrCannot, Result, cannot};
use crate::landing;
use crate::places::RepoPlaces;
use crate::repository::Repo;
use crate::run_folder::remove_if_unused;
use crate::store::TaskStore;
use crate::tree::{Found, Tree};

/// The user's tree as it was when a run began, and the claim on the run's folder.
pub(crate) struct Frozen {
    pub(crate) repo: Repo,
    pub(crate) places: RepoPlaces,
    pub(crate) faults: Faults,
    pub(crate) run: RunName,
    /// The run's folder of workspaces.
    pub(crate) folder: PathBuf,
    pub(crate) mode: IsolationMode,
    pub(crate) table: Table,
    pub(crate) notices: Vec<Notice>,
    pub(crate) claim: Mutex<Option<Claim>>,
}

impl Frozen {
    /// Freezes the working tree of `repo` as it is now.
    pub(crate) fn freeze(
        repo: &Repo,
        places: &RepoPlaces,
        faults: &Faults,
        request: &engine::ports::FreezeRequest,
        claim: NewClaim,
        landings: Landings<'_>,
    ) -> Result<Self> {
        freeze::freeze(repo, places, faults, request, claim, landings)
    }

    /// Reads what the dead engine of a run froze. The claim stays with the caller.
    pub(crate) fn load(
        repo: &Repo,
        places: &RepoPlaces,
        faults: &Faults,
        run: &RunName,
    ) -> Result<Self> {
        let folder = places.workspaces.join(run.as_str());
        let file = folder.join(freeze::TABLE);
        let what = || format!("read {}", file.display());
        let written = freeze::read_whole(&file).or_cannot(what)?;
        let table = codec::decode(&written).ok_or("it is damaged").or_cannot(what)?;
        Ok(Self {
            repo: repo.clone(),
            places: places.clone(),
            faults: faults.clone(),
            run: run.clone(),
            folder,
            mode: IsolationMode::Worktree,
            table,
            notices: Vec::new(),
            claim: Mutex::new(None),
        })
    }

    /// Ends the run's use of its folder: removes it if no workspace is left, and gives up the
    /// claim. By now the ledger knows of the run's landing.
    pub(crate) fn close(&self) -> Result<()> {
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        if claim.is_none() {
            return Ok(());
        }
        let removed = landing::acknowledge(&self.places, &self.faults, &self.run)
            .and_then(|()| remove_if_unused(&self.folder, &self.places, &self.run));
        // Given up last: nobody else may look at a folder that is half removed.
        *claim = None;
        removed
    }
}

/// What is opened once per thread to get at frozen bytes.
pub(crate) struct Bytes<'a> {
    frozen: &'a Frozen,
    git: Repository,
    tree: Tree,
    /// The task store.
    pub(crate) store: TaskStore,
}

impl<'a> Bytes<'a> {
    /// Opens the three places they come from.
    pub(crate) fn open(frozen: &'a Frozen) -> Result<Self> {
        let store = TaskStore::open(&frozen.places.store)?;
        let tree = Tree::open_at(&frozen.repo.root)?;
        Ok(Self { frozen, git: frozen.repo.git()?, tree, store })
    }

    /// Returns the bytes a file had, or a symlink's target.
    pub(crate) fn of(&self, path: &RepoPath, start: &Start) -> Result<Vec<u8>> {
        let blob = match start.source {
            Source::Pin(oid) => return self.store.read(oid),
            Source::Blob(oid) => oid,
        };
        // An unreadable file of the user's is no reason to stop: the blob is there.
        match self.tree.look(path) {
            Ok(Found::File { bytes, stat, .. }) if stat == start.stat => return Ok(bytes),
            Ok(Found::Link { target, stat }) if stat == start.stat => return Ok(target),
            _ => {}
        }
        // libgit2 writes into a folder of its own; any of ours will do.
        let scratch = &self.frozen.folder;
        let bytes = conversion::checked_out(&self.git, path, blob, start.mode, scratch)?;
        if bytes.len() as u64 != start.stat.size {
            let because = "its blob is checked out differently now; the attributes have changed";
            return Err(cannot(format!("restore {path} as it was"), because));
        }
        Ok(bytes)
    }

    /// Returns what a file or symlink was, with its bytes in the task store.
    pub(crate) fn entry(&self, path: &RepoPath, start: &Start) -> Result<Entry> {
        let oid = match start.source {
            Source::Pin(oid) => oid,
            Source::Blob(_) => self.store.write(&self.of(path, start)?)?,
        };
        Ok(Entry { mode: start.mode, oid })
    }
}
