//! Opens a session log to go on with it: finds what it holds, cuts off what was not written
//! whole, and begins it where there is none.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use engine::ports::{LoggedMessage, SessionHeader};
use protocol::{Message, SessionEntry, SessionId, StopReason};

use super::ids::Ids;
use super::line::{self, First, Read};
use super::scan::{Found, Scan};
use super::trouble::Trouble;
use super::writing::{Name, Writing};

/// How often the file may turn out to be another one than the one that was opened.
const ATTEMPTS: usize = 16;

/// A log that is open, and what it holds.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) session: SessionId,
    pub(super) messages: Vec<LoggedMessage>,
    /// The model of the last entry that names one.
    pub(super) model: Option<String>,
    pub(super) writing: Writing,
}

/// Opens the log at `path`, or begins it with `header`. Waits for who is at it, as long as
/// `patience` lasts: a session that crashed may still be writing its last line. Blocks.
pub(super) fn open(
    path: &Path,
    header: &SessionHeader,
    patience: Duration,
) -> Result<Opened, Trouble> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    for _attempt in 0..ATTEMPTS {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(path)?;
        lock(&file, patience)?;
        if !is_at(&file, path)? {
            continue;
        }
        match held(&file)? {
            Held::Session { id, content } => return go_on(path, file, id, content),
            Held::Nothing => return begin(path, file, header),
            Held::Other => {
                let aside = move_aside(path)?;
                tracing::warn!(
                    path = %path.display(), aside = %aside.display(),
                    "a session log without a header was moved aside"
                );
            }
        }
    }
    Err(Trouble::Restless)
}

/// Waits until nobody else is at the file.
fn lock(file: &File, patience: Duration) -> Result<(), Trouble> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return Err(Trouble::Locked),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// Returns whether the file that is locked is still the one at `path`: another may have moved it
/// aside in the meantime.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let locked = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (locked.dev(), locked.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// What a file holds.
enum Held {
    Session { id: SessionId, content: Content },
    Nothing,
    Other,
}

/// What a log holds behind its header.
#[derive(Default)]
struct Content {
    messages: Vec<LoggedMessage>,
    model: Option<String>,
    /// The identities of all entries, in their order.
    ids: Vec<String>,
    /// Where the last whole line ends.
    end: u64,
}

fn held(file: &File) -> Result<Held, Trouble> {
    if file.metadata()?.len() == 0 {
        return Ok(Held::Nothing);
    }
    let mut scan = Scan::of(file);
    let id = loop {
        let Some(Found::Whole(line)) = scan.next()? else { return Ok(Held::Other) };
        match line::first(line) {
            First::Header(id) => break id,
            First::Title => {}
            First::Newer(version) => return Err(Trouble::Newer(version)),
            First::Other => return Ok(Held::Other),
        }
    };
    let mut content = Content::default();
    let mut bad = 0_u64;
    while let Some(found) = scan.next()? {
        match found {
            Found::Whole(line) => match line::read(line) {
                Read::Entry(line) => content.add(line.id, line.entry),
                Read::Unknown { id, kind } => {
                    tracing::debug!(kind, "an entry of a session log is not known");
                    content.ids.push(id);
                }
                Read::Unreadable => bad += 1,
            },
            Found::TooLong => bad += 1,
            Found::Torn => {}
        }
    }
    if bad > 0 {
        tracing::warn!(session = %id, lines = bad, "lines of a session log cannot be read");
    }
    content.end = scan.end();
    Ok(Held::Session { id, content })
}

impl Content {
    /// Keeps what the model is to hear again: not what could not be had whole.
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

fn go_on(path: &Path, file: File, id: SessionId, content: Content) -> Result<Opened, Trouble> {
    let length = file.metadata()?.len();
    if length > content.end {
        tracing::warn!(
            path = %path.display(), bytes = length - content.end,
            "the last line of a session log was not written whole"
        );
        file.set_len(content.end)?;
    }
    let writing = Writing {
        path: path.to_owned(),
        file,
        ids: Ids::of(id, &content.ids),
        leaf: content.ids.last().cloned(),
        // Its folder may have been made just before the crash.
        name: Name::Fresh,
        failed: None,
    };
    Ok(Opened { session: id, messages: content.messages, model: content.model, writing })
}

fn begin(path: &Path, mut file: File, header: &SessionHeader) -> Result<Opened, Trouble> {
    file.write_all(&line::header(header)?)?;
    let writing = Writing {
        path: path.to_owned(),
        file,
        ids: Ids::of(header.id, &[]),
        leaf: None,
        name: Name::Fresh,
        failed: None,
    };
    Ok(Opened { session: header.id, messages: Vec::new(), model: None, writing })
}

/// Gives the file the first free name that ends in `.bak`. It is locked, so nobody writes it.
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
