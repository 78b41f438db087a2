//! Opens a session log: reads its messages, removes an incomplete last line, and creates the file if
//! it does not exist.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use engine::ports::{LoggedMessage, SessionHeader};
use protocol::{Message, SessionEntry, SessionId, StopReason};

use super::error::LogCause;
use super::line::{self, EntryIds, First, Line};
use super::log_writer::{Kept, LogWriter};
use super::reader::{LogLines, RawLine};

/// How often opening is tried if the file at the path is replaced or renamed meanwhile.
const ATTEMPTS: usize = 16;

/// An opened log with its content.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) session: SessionId,
    pub(super) messages: Vec<LoggedMessage>,
    /// The model of the last `model_change` entry.
    pub(super) model: Option<String>,
    pub(super) writer: LogWriter,
}

/// Opens the log at `path`, or creates it with `header`. Waits up to `lock_timeout` for its lock,
/// because a session that was killed may still be writing its last line. Blocks the thread.
pub(super) fn open(
    path: &Path,
    header: &SessionHeader,
    lock_timeout: Duration,
) -> Result<Opened, LogCause> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    for _attempt in 0..ATTEMPTS {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
        lock(&file, lock_timeout)?;
        if !is_at(&file, path)? {
            continue;
        }
        match read_content(&file)? {
            FileContent::Session { id, content } => return resume(path, file, id, content),
            FileContent::Empty => return create(path, file, header),
            FileContent::Other => {
                let aside = move_aside(path)?;
                tracing::warn!(
                    path = %path.display(), aside = %aside.display(),
                    "a session log without a header was moved aside"
                );
            }
        }
    }
    Err(LogCause::Replaced)
}

/// Waits for the lock of the file.
fn lock(file: &File, lock_timeout: Duration) -> Result<(), LogCause> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if began.elapsed() < lock_timeout => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return Err(LogCause::Locked),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// Returns whether `path` still names the locked file. Another session may have renamed the file
/// before this one got the lock.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let locked = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (locked.dev(), locked.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The content of a file.
enum FileContent {
    Session { id: SessionId, content: Content },
    Empty,
    Other,
}

/// The entries of a log.
#[derive(Default)]
struct Content {
    messages: Vec<LoggedMessage>,
    model: Option<String>,
    /// The ids of all entries in their order.
    ids: Vec<String>,
    /// Where the last complete line ends.
    end: u64,
}

fn read_content(file: &File) -> Result<FileContent, LogCause> {
    if file.metadata()?.len() == 0 {
        return Ok(FileContent::Empty);
    }
    let mut scan = LogLines::new(file);
    let id = loop {
        let Some(RawLine::Complete(line)) = scan.next()? else { return Ok(FileContent::Other) };
        match line::parse_first(line) {
            First::Header(id) => break id,
            First::Title => {}
            First::Newer(version) => return Err(LogCause::Newer(version)),
            First::Other => return Ok(FileContent::Other),
        }
    };
    let mut content = Content::default();
    let mut bad = 0_u64;
    while let Some(found) = scan.next()? {
        match found {
            RawLine::Complete(line) => match line::parse(line) {
                Line::Entry(line) => content.add(line.id, line.entry),
                Line::Unknown { id, kind } => {
                    tracing::debug!(kind, "an entry of a session log is not known");
                    content.ids.push(id);
                }
                Line::Unreadable => bad += 1,
            },
            RawLine::TooLong => bad += 1,
            RawLine::Torn => {}
        }
    }
    if bad > 0 {
        tracing::warn!(session = %id, lines = bad, "lines of a session log cannot be read");
    }
    content.end = scan.end();
    Ok(FileContent::Session { id, content })
}

impl Content {
    /// Adds an entry. Answers of the model that failed or were aborted are not kept as messages.
    fn add(&mut self, id: String, entry: SessionEntry) {
        self.ids.push(id);
        let (message, input_id) = match entry {
            SessionEntry::Message { message, input_id } => (message, input_id),
            SessionEntry::ModelChange { model } => {
                self.model = Some(model);
                return;
            }
            SessionEntry::SessionInit { .. } => return,
        };
        let whole = match &message {
            Message::Assistant(said) => {
                !matches!(said.stop_reason, StopReason::Error | StopReason::Aborted)
            }
            Message::User(_) | Message::ToolResult(_) => true,
        };
        if whole {
            self.messages.push(LoggedMessage { message, input_id });
        }
    }
}

fn resume(path: &Path, file: File, id: SessionId, content: Content) -> Result<Opened, LogCause> {
    let length = file.metadata()?.len();
    if length > content.end {
        tracing::warn!(
            path = %path.display(), bytes = length - content.end,
            "the last line of a session log was not written whole"
        );
        file.set_len(content.end)?;
    }
    let writer = LogWriter {
        path: path.to_owned(),
        file,
        ids: EntryIds::new(id, &content.ids),
        leaf: content.ids.last().cloned(),
        // The crashed session may have written what no journal has any more.
        kept: Kept::Unsynced,
        journal: None,
        failed: None,
    };
    Ok(Opened { session: id, messages: content.messages, model: content.model, writer })
}

fn create(path: &Path, mut file: File, header: &SessionHeader) -> Result<Opened, LogCause> {
    let line = line::header(header)?;
    file.write_all(&line)?;
    let writer = LogWriter {
        path: path.to_owned(),
        file,
        ids: EntryIds::new(header.id, &[]),
        leaf: None,
        // A line is JSON, which is UTF-8.
        kept: Kept::UpTo { durable: 0, rest: String::from_utf8_lossy(&line).into_owned() },
        journal: None,
        failed: None,
    };
    Ok(Opened { session: header.id, messages: Vec::new(), model: None, writer })
}

/// Renames the file to the first free name that ends in `.bak`. The caller holds the file's lock,
/// so no other session writes to it.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let mut last = None;
    for number in 1..=100 {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { ".bak".to_owned() } else { format!(".bak{number}") });
        match fs::hard_link(path, &name) {
            Ok(()) => {
                fs::remove_file(path)?;
                return Ok(name.into());
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}
