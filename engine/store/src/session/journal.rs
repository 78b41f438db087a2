//! The journal of the session logs below one folder: what many sessions say at the same time
//! becomes durable with one sync. The logs themselves are synced when the last of them is closed, or
//! after a crash by the next reader.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use group_log::{Announced, GroupLog, open_locked, read};
use rustix::fs::syncfs;
use serde::{Deserialize, Serialize};

/// The name of the journal. It lies beside the folders of the sessions.
const FILE: &str = "sessions.journal";

/// The size from which the logs are synced, and the journal begins anew.
const LARGE: u64 = 32 << 20;

/// The number of logs above which syncing their whole file system is faster.
const MANY: usize = 64;

/// Bytes that were appended to a log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Appended {
    /// The path of the log below the folder of the journal.
    pub(super) log: PathBuf,
    /// Where the bytes begin.
    pub(super) offset: u64,
    /// Whole lines.
    pub(super) lines: String,
}

/// The journal of the open logs below one folder. Dropping the last handle syncs the logs.
pub(super) struct SessionJournal {
    folder: PathBuf,
    log: Arc<GroupLog>,
    /// They are dropped after the last journal, so that its logs are waited for, too.
    all: Arc<Journals>,
}

impl fmt::Debug for SessionJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionJournal").field(&self.folder).finish()
    }
}

/// The journals of a process. Dropping it waits until closed logs are synced.
#[derive(Default)]
pub(super) struct Journals {
    open: Mutex<BTreeMap<PathBuf, Weak<SessionJournal>>>,
    /// The threads that sync closed logs.
    closing: Mutex<Vec<JoinHandle<()>>>,
}

impl Journals {
    /// Returns the journal of the log at `path`; `None` if the log is in no folder of its own. If a
    /// dead process has left a journal there, writes what a power cut has taken from the logs.
    pub(super) fn of(self: &Arc<Self>, path: &Path) -> Option<Arc<SessionJournal>> {
        let folder = path.parent()?.parent().filter(|folder| folder.is_absolute())?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(journal) = open.get(folder).and_then(Weak::upgrade) {
            return Some(journal);
        }
        open.retain(|_, journal| journal.strong_count() > 0);
        settle_for(path);
        let journal = Arc::new(SessionJournal {
            folder: folder.to_owned(),
            log: Arc::new(GroupLog::at(folder.join(FILE))),
            all: Arc::clone(self),
        });
        open.insert(folder.to_owned(), Arc::downgrade(&journal));
        Some(journal)
    }
}

impl Drop for Journals {
    fn drop(&mut self) {
        let closing = self.closing.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in closing.drain(..) {
            let _panicked = thread.join();
        }
    }
}

impl SessionJournal {
    /// Announces appended bytes, so that others wait for them for a short time.
    pub(super) fn announce(&self) -> Announced {
        self.log.announce()
    }

    /// Returns the path of a log as it stands in the journal.
    pub(super) fn name_of(&self, log: &Path) -> PathBuf {
        log.strip_prefix(&self.folder).unwrap_or(log).to_owned()
    }

    /// Makes appended bytes durable.
    ///
    /// # Errors
    /// The journal cannot be written; [`io::ErrorKind::Unsupported`] on a file system without locks.
    pub(super) fn append(&self, announced: Announced, appended: &[Appended]) -> io::Result<()> {
        announced.append(&serde_json::to_vec(appended)?)?;
        // The bytes are durable. What cannot be moved on stays for the next reader.
        if self.log.size() > LARGE
            && let Err(error) = settle(&self.folder)
        {
            tracing::warn!(%error, "a journal of sessions stays");
        }
        Ok(())
    }
}

impl Drop for SessionJournal {
    fn drop(&mut self) {
        let folder = self.folder.clone();
        let work = move || {
            if let Err(error) = settle(&folder) {
                tracing::warn!(%error, folder = %folder.display(), "a journal of sessions stays");
            }
        };
        // Whoever closes a session does not wait for its syncs. Without a thread, the journal stays
        // for the next reader.
        if let Ok(thread) = thread::Builder::new().name("session-syncs".to_owned()).spawn(work) {
            let mut closing = self.all.closing.lock().unwrap_or_else(PoisonError::into_inner);
            closing.retain(|thread| !thread.is_finished());
            closing.push(thread);
        }
    }
}

/// Settles the journal of the log at `path`, if there is one. A reader that may not write goes on
/// with the log as it is.
pub(super) fn settle_for(path: &Path) {
    let Some(folder) = path.parent().and_then(Path::parent) else { return };
    if let Err(error) = settle(folder) {
        tracing::warn!(%error, folder = %folder.display(), "a journal of sessions stays");
    }
}

/// Writes what a power cut has taken from the logs below `folder`, syncs them, and removes the
/// journal.
fn settle(folder: &Path) -> io::Result<()> {
    let path = folder.join(FILE);
    let Some(mut file) = open_locked(&path)? else { return Ok(()) };
    let records = read(&mut file)?.records;
    let mut logs = BTreeMap::<_, Vec<_>>::new();
    for record in records {
        for appended in serde_json::from_slice::<Vec<Appended>>(&record)? {
            if !appended.log.components().all(|part| matches!(part, Component::Normal(_))) {
                let elsewhere = "a path in it leads elsewhere";
                return Err(io::Error::new(io::ErrorKind::InvalidData, elsewhere));
            }
            logs.entry(folder.join(&appended.log)).or_default().push(appended);
        }
    }
    let all = File::open(folder)?;
    let device = (logs.len() > MANY).then(|| all.metadata()).transpose()?.map(|it| it.dev());
    let mut folders = BTreeSet::new();
    for (path, appended) in logs {
        let log = restore(&path, &appended)?;
        if Some(log.metadata()?.dev()) != device {
            log.sync_all()?;
            folders.extend(path.parent().map(Path::to_owned));
        }
    }
    for below in folders {
        File::open(below)?.sync_all()?;
    }
    match device {
        Some(_) => syncfs(&all)?,
        None => all.sync_all()?,
    }
    fs::remove_file(&path)
}

/// Writes what a power cut has taken from the log at `path`, and returns its file. A log with anything
/// else in the place of what was appended was changed by somebody, and stays.
fn restore(path: &Path, appended: &[Appended]) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let log = file.open(path)?;
    let length = log.metadata()?.len();
    // What was durable before the journal is never taken.
    let is_as_left = appended.first().is_none_or(|first| first.offset <= length);
    let states: Vec<_> =
        appended.iter().map(|it| state_of(&log, length, it)).collect::<Result<_, _>>()?;
    if is_as_left && !states.contains(&Found::Other) {
        for (appended, _) in appended.iter().zip(states).filter(|(_, it)| *it == Found::Cut) {
            log.write_all_at(appended.lines.as_bytes(), appended.offset)?;
        }
    }
    Ok(log)
}

/// What a log has in the place of appended bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The bytes.
    All,
    /// What a power cut leaves: the file is shorter, or there are NULs in it.
    Cut,
    /// Something else.
    Other,
}

fn state_of(log: &File, length: u64, appended: &Appended) -> io::Result<Found> {
    let lines = appended.lines.as_bytes();
    let room = length.saturating_sub(appended.offset);
    let there = usize::try_from(room).map_or(lines.len(), |room| room.min(lines.len()));
    let mut found = vec![0; there];
    log.read_exact_at(&mut found, appended.offset)?;
    Ok(if found == lines {
        Found::All
    } else if found.iter().zip(lines).all(|(found, line)| [0, *line].contains(found)) {
        Found::Cut
    } else {
        Found::Other
    })
}
