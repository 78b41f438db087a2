//! Opens a session log for writing: reads it, rewrites it if it is of an older version, removes an
//! incomplete last line, and moves a file aside that is not a session.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use engine::fault::Faults;
use engine::ports::{LogDamage, SessionHeader};
use engine::session::{EntryIds, SessionContext, SessionTree};
use group_log::LockedFile;
use protocol::SessionId;

use super::blobs::BlobFolder;
use super::error::LogCause;
use super::line::{self, VERSION};
use super::loaded::{Keep, Loaded, LoadedSession, load};
use super::log_writer::{FileName, Kept, LogWriter};
use super::migrate::migrate;
use super::rewrite::{back_up, replace};

/// How often opening is tried if the file at the path is replaced or renamed meanwhile.
const ATTEMPTS: usize = 16;

/// An opened log with its content.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) session: SessionId,
    pub(super) context: SessionContext,
    pub(super) damage: Vec<LogDamage>,
    pub(super) writer: LogWriter,
}

/// How a log is opened.
#[derive(Clone)]
pub(super) struct LogOptions {
    pub(super) faults: Faults,
    pub(super) blobs: Option<BlobFolder>,
    /// How long to wait for the lock: a session that was killed may still be writing its last line.
    pub(super) lock_timeout: Duration,
    /// When messages are synced.
    pub(super) durability: Durability,
}

/// When the messages of sessions are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the session goes on.
    EachMessage,
    /// When the system stores them. They survive the end of the process, but not a power cut.
    Written,
}

impl LogOptions {
    /// Opens the log at `path`. If there is none, a new one begins with `header` when its first
    /// message is written. Blocks the thread.
    pub(super) fn open(&self, path: &Path, header: &SessionHeader) -> Result<Opened, LogCause> {
        for _attempt in 0..ATTEMPTS {
            let file = match OpenOptions::new().read(true).append(true).open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return self.begin(path, header);
                }
                Err(error) => return Err(error.into()),
            };
            let file = lock(file, self.lock_timeout)?;
            if !is_at(&file, path)? {
                continue;
            }
            match load(&*file, Keep::Entries)? {
                Loaded::Session(session) if session.header.version > VERSION => {
                    return Err(LogCause::Newer(session.header.version));
                }
                Loaded::Session(session) if session.header.version < VERSION => {
                    let old = fs::read(path)?;
                    let aside = back_up(path)?;
                    let new = migrate(&old, session.header.session());
                    drop(replace(path, &new, &self.faults)?);
                    let (path, aside) = (path.display(), aside.display());
                    tracing::info!(%path, %aside, "a session log of an older version was rewritten");
                }
                Loaded::Session(session) => return self.resume(path, file, *session),
                // It is removed before its lock is released: whoever gets the lock may write to it.
                Loaded::Empty => fs::remove_file(path)?,
                Loaded::Other => {
                    let aside = back_up(path)?;
                    fs::remove_file(path)?;
                    let (path, aside) = (path.display(), aside.display());
                    tracing::warn!(%path, %aside, "a file that is not a session was moved aside");
                }
            }
        }
        Err(LogCause::Replaced)
    }

    fn resume(
        &self,
        path: &Path,
        mut file: LockedFile,
        mut session: LoadedSession,
    ) -> Result<Opened, LogCause> {
        let length = file.metadata()?.len();
        if session.lacks_line_break {
            file.write_all(b"\n")?;
        } else if length > session.end {
            let bytes = length - session.end;
            tracing::warn!(path = %path.display(), bytes, "the last line of a session log was not written whole");
            file.set_len(session.end)?;
        }
        let context = session.context(self.blobs.as_ref());
        for LogDamage { line, what } in &session.damage {
            tracing::warn!(path = %path.display(), line, what, "a line of a session log is damaged");
        }
        let id = session.header.session();
        let writer = LogWriter {
            path: path.to_owned(),
            file: Some(file),
            ids: EntryIds::new(id, session.ids()),
            tree: session.tree.outline(),
            // The crashed session may have written what no journal has any more.
            kept: Kept::Unsynced,
            name: FileName::Unsynced,
            journal: None,
            blobs: self.blobs.clone(),
            durability: self.durability,
            failed: None,
        };
        Ok(Opened { session: id, context, damage: session.damage, writer })
    }

    /// Begins a log whose file is not there.
    fn begin(&self, path: &Path, header: &SessionHeader) -> Result<Opened, LogCause> {
        // Whoever cannot write there learns it before the first prompt.
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let rest = String::from_utf8_lossy(&line::header(header)?).into_owned();
        let writer = LogWriter {
            path: path.to_owned(),
            file: None,
            ids: EntryIds::new(header.id, &[]),
            tree: SessionTree::default(),
            kept: Kept::UpTo { durable: 0, rest },
            name: FileName::Unsynced,
            journal: None,
            blobs: self.blobs.clone(),
            durability: self.durability,
            failed: None,
        };
        let context = SessionContext::default();
        Ok(Opened { session: header.id, context, damage: Vec::new(), writer })
    }
}

/// Creates the file of a new log and locks it.
pub(super) fn create(path: &Path) -> Result<LockedFile, LogCause> {
    lock_at_once(create_unlocked(path)?, path)
}

/// Creates the file of a new log. As long as it is not locked, another session takes it for one in
/// which nothing was said, and removes it.
fn create_unlocked(path: &Path) -> Result<File, LogCause> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = OpenOptions::new();
    let created = options.read(true).append(true).create_new(true).mode(0o600).open(path);
    created.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => LogCause::Locked,
        _ => error.into(),
    })
}

/// Locks the file that was opened at `path`, without waiting. The lock of a file that has lost its
/// name meanwhile is refused: what is written to it is lost.
pub(super) fn lock_at_once(file: File, path: &Path) -> Result<LockedFile, LogCause> {
    let file = lock(file, Duration::ZERO)?;
    if is_at(&file, path)? { Ok(file) } else { Err(LogCause::Locked) }
}

/// Waits for the lock of the file.
fn lock(file: File, lock_timeout: Duration) -> Result<LockedFile, LogCause> {
    let began = Instant::now();
    let may_wait = || {
        let may_wait = began.elapsed() < lock_timeout;
        if may_wait {
            thread::sleep(Duration::from_millis(5));
        }
        may_wait
    };
    LockedFile::lock_while(file, may_wait).map_err(|error| match error {
        TryLockError::WouldBlock => LogCause::Locked,
        TryLockError::Error(error) => error.into(),
    })
}

/// Returns whether `path` still names the locked file. Another session may have renamed the file
/// before this one got the lock.
fn is_at(file: &File, path: &Path) -> Result<bool, LogCause> {
    let locked = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => Err(LogCause::Linked),
        Ok(there) => Ok((there.dev(), there.ino()) == (locked.dev(), locked.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
