//! The snapshot of the working tree that a run starts from. This module takes the snapshot, writes
//! and reads its table, which lists every folder and file, and reads the bytes of its files.

use std::fs;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use engine::fault::Faults;
use engine::ports::{CarryRequest, FreezeRequest, Notice};
use git2::Repository;
use protocol::{RepoPath, RunId, RunName};

use crate::backends::RunContext;
use crate::baseline::listing::notices_of;
use crate::baseline::scan::Scan;
use crate::baseline::scan_nested::{NestedRepos, scan_with_nested};
use crate::baseline::table::{decode_table, encode_table};
use crate::baseline::{ContentLocation, FrozenEntry, Table, conversion, pins};
use crate::carry::{self, Carried, CarryGlobs, IgnoredFiles, Selection};
use crate::error::{OrCannot, Result, cannot};
use crate::file_entry::Entry;
use crate::nested::{NestedReaders, write_templates};
use crate::paths::{IsolationPaths, RepoPaths};
use crate::pool::Pool;
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::{Tree, TreeEntry};
use crate::workspace::GitTemplate;

/// The user's working tree as it was when a run started.
pub(crate) struct Snapshot {
    pub(crate) context: RunContext,
    pub(crate) table: Table,
    pub(crate) notices: Vec<Notice>,
    /// The ignored files that workspaces contain. No capture contains one of them.
    pub(crate) carried: Carried,
    /// Those of the workspaces whose tasks name none of their own; `None` if all are the same.
    pub(crate) carried_of_run: Option<Carried>,
    /// The folders of the nested repositories, sorted.
    pub(crate) nested: Vec<Vec<u8>>,
    /// The copies that no task uses.
    pub(crate) pool: Pool,
}

impl Snapshot {
    /// Takes a snapshot of the user's working tree.
    pub(crate) fn freeze(context: &RunContext, request: &FreezeRequest) -> Result<Self> {
        freeze(context, request)
    }

    /// Reads the snapshot of a run whose engine is dead. Returns `None` if there is no table.
    pub(crate) fn load(context: &RunContext) -> Result<Option<Self>> {
        let file = context.folder.join(TABLE);
        let what = || format!("read {}", file.display());
        let written = match read_whole(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            written => written.or_cannot(what)?,
        };
        let table = decode_table(&written).ok_or("it is damaged").or_cannot(what)?;
        let (carried, pool) = (Carried::read(&context.folder)?, Pool::of(&table));
        Ok(Some(Self {
            context: context.clone(),
            nested: table.nested(),
            table,
            notices: Vec::new(),
            carried,
            carried_of_run: None,
            pool,
        }))
    }

    /// Returns the carried files of the copies in the pool: those of the tasks that name none of their
    /// own.
    pub(crate) fn carried_of_pool(&self) -> &Carried {
        self.carried_of_run.as_ref().unwrap_or(&self.carried)
    }

    /// Returns the carried files of a workspace, by the globs that its task names; `None` if they are
    /// those of the copies in the pool.
    pub(crate) fn own_carried(&self, own: Option<&[String]>) -> Result<Option<Carried>> {
        let (Some(of_run), Some(globs)) = (&self.carried_of_run, own) else { return Ok(None) };
        let globs = CarryGlobs::parse(globs).map_err(|error| error.to_string());
        let globs = globs.or_cannot(|| "carry ignored files")?;
        let own = self.carried.only(|path, _kind| globs.matches_from_root(path));
        let own = Carried { limit: of_run.limit, ..own };
        Ok(Some(own).filter(|own| own != of_run))
    }
}

/// Reads the content of a snapshot: from the pin if the file has one, else from the user's file if
/// it is unchanged, else from the blob. Each thread opens its own reader.
pub(crate) struct ContentReader {
    /// The user's repository.
    pub(crate) git: Repository,
    nested: NestedReaders,
    tree: Tree,
    /// The task store.
    pub(crate) store: TaskStore,
}

impl ContentReader {
    /// Opens the user's tree, the user's repository and the task store.
    pub(crate) fn open(snapshot: &Snapshot) -> Result<Self> {
        Self::of_run(&snapshot.context, &snapshot.nested)
    }

    /// Opens the same for a run with nested repositories in the folders `nested`.
    pub(crate) fn of_run(context: &RunContext, nested: &[Vec<u8>]) -> Result<Self> {
        let store = TaskStore::open(&context.paths.store)?.with_faults(&context.faults);
        let tree = Tree::open_at(&context.repo.root)?;
        let nested = NestedReaders::of(&context.repo, nested);
        Ok(Self { git: context.repo.git()?, nested, tree, store })
    }

    /// Returns the reader with the captures that are in the journal of the task store now, which are
    /// read where they are.
    pub(crate) fn with_journal(self) -> Result<Self> {
        Ok(Self { store: self.store.with_journal()?, ..self })
    }

    /// Returns the bytes of a file, or the target of a symlink.
    pub(crate) fn of(&self, path: &RepoPath, frozen: &FrozenEntry) -> Result<Vec<u8>> {
        let blob = match frozen.source {
            ContentLocation::Pin(oid) => return self.store.read(oid),
            ContentLocation::Blob(oid) | ContentLocation::Crlf(oid) => oid,
        };
        // If the user's file cannot be read, its bytes are restored from the blob below.
        match self.tree.read_entry(path) {
            Ok(TreeEntry::File { bytes, stat, .. }) if stat == frozen.stat => return Ok(bytes),
            Ok(TreeEntry::Link { target, stat }) if stat == frozen.stat => return Ok(target),
            _ => {}
        }
        let bytes = match self.nested.of_path(path)? {
            None => conversion::restored(&self.git, path, blob, frozen)?,
            Some((git, below)) => conversion::restored(git, &below, blob, frozen)?,
        };
        if bytes.len() as u64 != frozen.stat.size {
            let because = "it has changed since the run began, and git has no copy of that version";
            return Err(cannot(format!("restore {path} as it was"), because));
        }
        Ok(bytes)
    }

    /// Returns the entry of a file or symlink, and writes its bytes to the task store.
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

/// The name of the table's file in the run's folder. No task can have this name.
pub(crate) const TABLE: &str = ".baseline";

/// Takes a snapshot of the user's working tree.
fn freeze(context: &RunContext, request: &FreezeRequest) -> Result<Snapshot> {
    let scanned = Scanned::of(context, request.untracked_limit, &request.carry)?;
    scanned.keep(context)
}

/// Returns what a run in the repository at `root` would report at its beginning about the ignored files
/// that it copies into workspaces. Nothing is written.
///
/// # Errors
/// The files are too large, or the tree cannot be read.
pub fn carry_notices(
    root: &Path,
    paths: &IsolationPaths,
    carry: &CarryRequest,
) -> Result<Vec<Notice>> {
    let repo = Repo::open(root)?;
    let paths = paths.of(&repo.root);
    let run = RunName::of(RunId::generate(), RunName::SHORTEST);
    let mut context = RunContext::of(&repo, &paths, &Faults::default(), &run);
    // The folder of this run does not exist yet. Its parent is on the same disk.
    let above = context.folder.ancestors().find(|folder| folder.is_dir()).map(Path::to_owned);
    context.folder = above.unwrap_or_else(|| repo.root.clone());
    Ok(Scanned::of(&context, u64::MAX, carry)?.selection.notices)
}

/// The result of scanning the tree, before anything is written to the disk.
struct Scanned {
    git: Repository,
    tree: Tree,
    scan: Scan,
    nested: NestedRepos,
    selection: Selection,
}

impl Scanned {
    fn of(context: &RunContext, untracked_limit: u64, carry: &CarryRequest) -> Result<Self> {
        let git = context.repo.git()?;
        let tree = Tree::open_at(&context.repo.root)?;
        let (folders, now_ns) = (context.paths.folders(), (context.now_ns)());
        let (whole, most) = ((&context.repo, &git), context.most_nested);
        let (scan, nested) = scan_with_nested(whole, &tree, &folders, now_ns, most)?;
        pins::check_untracked(&tree, &scan, untracked_limit)?;
        let others = || {
            let candidates = scan.dirty_candidates.iter().map(|file| file.path.as_bytes().to_vec());
            scan.table.files().chain(candidates).collect()
        };
        let (entries, ours) = (&scan.ignored, &folders);
        let ignored = IgnoredFiles { tree: &tree, entries, others: &others, ours };
        let selection = carry::select(&ignored, carry, &context.folder)?;
        Ok(Self { git, tree, scan, nested, selection })
    }

    /// Pins the content that git does not have, and writes the table, the list of carried files and
    /// the git template to the run's folder.
    fn keep(self, context: &RunContext) -> Result<Snapshot> {
        let Self { git, tree, mut scan, nested, selection } = self;
        let store = TaskStore::open(&context.paths.store)?;
        let mut table = std::mem::take(&mut scan.table);
        let dirty_candidates = std::mem::take(&mut scan.dirty_candidates);
        let RunContext { run, now_ns, folder, .. } = context;
        let unreadable = pins::pin(&tree, &store, run, dirty_candidates, &mut table, *now_ns)?;
        scan.unreadable.extend(unreadable);
        let Selection { carried, of_run, notices: of_carried, rest } = selection;
        let mut notices = notices_of(&scan, &rest);
        notices.extend(of_carried);
        GitTemplate::of_run(folder).write(&context.repo, &git)?;
        write_templates(folder, nested.values())?;
        carried.write(folder)?;
        write_whole(&folder.join(TABLE), &encode_table(&table))?;
        let (context, pool) = (context.clone(), Pool::of(&table));
        let nested = nested.into_keys().collect();
        Ok(Snapshot { context, table, notices, carried, carried_of_run: of_run, nested, pool })
    }
}

/// Writes a file atomically.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let what = || format!("write {}", path.display());
    let folder = path.parent().ok_or("it has no folder").or_cannot(what)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).or_cannot(what)?;
    file.write_all(bytes).or_cannot(what)?;
    file.persist(path).map(drop).map_err(|error| error.error).or_cannot(what)
}

/// Reads a file that [`write_whole`] wrote. Never blocks: if a task has replaced the file by a FIFO
/// or a symlink, returns an error.
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

/// Links or copies the table of a run out of the run's folder, which is about to be removed. The
/// table is kept as long as captures of the run are, so that [`crate::Captures::frozen`] can return
/// the files that the run started from. Succeeds if there is no table.
pub(crate) fn keep_file_list(folder: &Path, paths: &RepoPaths, run: &RunName) -> Result<()> {
    let (list, kept) = (folder.join(TABLE), file_list(paths, run));
    let what = || format!("keep the list of the files that run {run} began with");
    let parent = kept.parent().ok_or("it has no folder").or_cannot(what)?;
    fs::create_dir_all(parent).or_cannot(what)?;
    match fs::hard_link(&list, &kept) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()), // no snapshot was taken
        // The two folders may be on different file systems, where hard links fail.
        Err(_) => fs::copy(&list, &kept).map(drop).or_cannot(what),
    }
}

/// Reads the kept table of a run. Returns `None` if there is none.
pub(crate) fn read_file_list(paths: &RepoPaths, run: &RunName) -> Result<Option<Table>> {
    let path = file_list(paths, run);
    let what = || format!("read {}", path.display());
    match read_whole(&path) {
        Ok(written) => decode_table(&written).ok_or("it is damaged").or_cannot(what).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).or_cannot(what),
    }
}

/// Removes the kept table of a run. Succeeds if it is already gone.
pub(crate) fn remove_file_list(paths: &RepoPaths, run: &RunName) -> Result<()> {
    let path = file_list(paths, run);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).or_cannot(|| format!("remove {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn file_list(paths: &RepoPaths, run: &RunName) -> PathBuf {
    paths.landings.join("lists").join(run.as_str())
}
