//! A frozen tree, and its bytes for whoever needs them: from the user's file while that is
//! unchanged, else from the blob or the pin.

use std::io::ErrorKind;

use engine::ports::{FreezeRequest, Notice};
use git2::Repository;
use protocol::RepoPath;

use crate::backends::RunContext;
use crate::baseline::{ContentLocation, FrozenEntry, Table, codec, conversion, freeze};
use crate::entry::Entry;
use crate::error::{OrCannot, Result, cannot};
use crate::store::TaskStore;
use crate::tree::{Tree, TreeEntry};

/// The user's tree as it was when a run began.
pub(crate) struct Snapshot {
    pub(crate) context: RunContext,
    pub(crate) table: Table,
    pub(crate) notices: Vec<Notice>,
}

impl Snapshot {
    /// Freezes the user's working tree as it is now.
    pub(crate) fn freeze(context: &RunContext, request: &FreezeRequest) -> Result<Self> {
        freeze::freeze(context, request)
    }

    /// Reads what the dead engine of a run froze. Nothing comes back if there is no table.
    pub(crate) fn load(context: &RunContext) -> Result<Option<Self>> {
        let file = context.folder.join(freeze::TABLE);
        let what = || format!("read {}", file.display());
        let written = match freeze::read_whole(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            written => written.or_cannot(what)?,
        };
        let table = codec::decode(&written).ok_or("it is damaged").or_cannot(what)?;
        Ok(Some(Self { context: context.clone(), table, notices: Vec::new() }))
    }
}

/// What is opened once per thread to get at frozen bytes.
pub(crate) struct ContentReader {
    git: Repository,
    tree: Tree,
    /// The task store.
    pub(crate) store: TaskStore,
}

impl ContentReader {
    /// Opens the three places they come from.
    pub(crate) fn open(snapshot: &Snapshot) -> Result<Self> {
        let store = TaskStore::open(&snapshot.context.paths.store)?;
        let tree = Tree::open_at(&snapshot.context.repo.root)?;
        Ok(Self { git: snapshot.context.repo.git()?, tree, store })
    }

    /// Returns the bytes a file had, or a symlink's target.
    pub(crate) fn of(&self, path: &RepoPath, frozen: &FrozenEntry) -> Result<Vec<u8>> {
        let blob = match frozen.source {
            ContentLocation::Pin(oid) => return self.store.read(oid),
            ContentLocation::Blob(oid) | ContentLocation::Crlf(oid) => oid,
        };
        // An unreadable file of the user's is no reason to stop: the blob is there.
        match self.tree.read_entry(path) {
            Ok(TreeEntry::File { bytes, stat, .. }) if stat == frozen.stat => return Ok(bytes),
            Ok(TreeEntry::Link { target, stat }) if stat == frozen.stat => return Ok(target),
            _ => {}
        }
        let bytes = conversion::restored(&self.git, path, blob, frozen)?;
        if bytes.len() as u64 != frozen.stat.size {
            let because = "it has changed since the run began, and was not what git has of it";
            return Err(cannot(format!("restore {path} as it was"), because));
        }
        Ok(bytes)
    }

    /// Returns what a file or symlink was, with its bytes in the task store.
    pub(crate) fn entry(&self, path: &RepoPath, frozen: &FrozenEntry) -> Result<Entry> {
        let oid = match frozen.source {
            ContentLocation::Pin(oid) => oid,
            ContentLocation::Blob(_) | ContentLocation::Crlf(_) => {
                self.store.write(&self.of(path, frozen)?)?
            }
        };
        Ok(Entry { mode: frozen.mode, oid })
    }
}
