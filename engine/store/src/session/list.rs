//! The sessions of a folder, read from the beginnings of their files.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use protocol::{Message, SessionEntry, SessionMessage, Timestamp};
use serde_json::{Map, Value};

use super::line::{First, clean, parse_entry, parse_first};

/// How much of each file is read.
const PREFIX: u64 = 4096;

/// How much of a file is read if its first line is longer. The longest path of Linux is not, even where
/// JSON has an escape of six letters for each of its bytes.
const LONGEST_HEADER: u64 = 64 << 10;

/// From how many files on they are read on several threads, and on how many.
const MANY: usize = 64;
const THREADS: usize = 16;

/// A session, as far as the beginning of its file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// The file.
    pub path: PathBuf,
    /// The id as it stands in the file.
    pub id: String,
    /// The folder in which the session works.
    pub cwd: PathBuf,
    /// The title: of the header, or of the last compaction.
    pub title: Option<String>,
    /// The session that it was made from.
    pub parent: Option<String>,
    /// When the session began, if its file says so.
    pub created: Option<Timestamp>,
    /// When the file was changed last.
    pub modified: SystemTime,
    /// The number of messages in the part that was read.
    pub messages: usize,
    /// The size of the file in bytes.
    pub size: u64,
    /// The first prompt, if it is in the part that was read.
    pub first_prompt: Option<String>,
}

/// Returns the sessions whose files are in `folder`; the one that was changed last comes first.
///
/// # Errors
/// The folder cannot be read. That it does not exist is not an error.
pub fn list_sessions(folder: &Path) -> io::Result<Vec<SessionInfo>> {
    Ok(newest_first(read_all(&session_files(folder)?)))
}

/// Returns the paths in `folder` that may be session files, in any order.
pub(super) fn session_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns the sessions of all folders below `folder`, in the same order.
///
/// # Errors
/// A folder cannot be read. That it does not exist is not an error.
pub fn list_all_sessions(folder: &Path) -> io::Result<Vec<SessionInfo>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sessions.extend(list_sessions(&entry.path())?);
        }
    }
    Ok(newest_first(sessions))
}

pub(super) fn newest_first(mut sessions: Vec<SessionInfo>) -> Vec<SessionInfo> {
    // The names of the files begin with the time, so equal times have an order as well.
    sessions.sort_by(|one, two| (two.modified, &two.path).cmp(&(one.modified, &one.path)));
    sessions
}

fn read_all(files: &[PathBuf]) -> Vec<SessionInfo> {
    let read = |files: &[PathBuf]| -> Vec<SessionInfo> {
        files.iter().filter_map(|path| read_info(path).ok().flatten()).collect()
    };
    if files.len() <= MANY {
        return read(files);
    }
    thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(THREADS));
        let parts: Vec<_> = parts.map(|files| scope.spawn(move || read(files))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}

/// Reads the beginning of a session file; `None` if the file is not a session.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read_info(path: &Path) -> io::Result<Option<SessionInfo>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let mut prefix = Vec::new();
    let mut file = file.take(PREFIX);
    file.read_to_end(&mut prefix)?;
    if !prefix.contains(&b'\n') {
        file.set_limit(LONGEST_HEADER);
        file.read_to_end(&mut prefix)?;
    }
    let mut lines = prefix.split(|byte| *byte == b'\n');
    let header = lines.find_map(|line| match parse_first(line) {
        First::Header(header) => Some(Some(header)),
        First::Title => None,
        First::Other => Some(None),
    });
    let Some(header) = header.flatten() else { return Ok(None) };
    let mut info = SessionInfo {
        path: path.to_owned(),
        id: header.id,
        cwd: header.cwd,
        title: header.title,
        parent: header.parent,
        created: header.at,
        modified: metadata.modified()?,
        messages: 0,
        size: metadata.len(),
        first_prompt: None,
    };
    lines.for_each(|line| note(&mut info, clean(line)));
    Ok(Some(info))
}

/// Notes what a line tells about a session. The last line may be cut anywhere.
fn note(info: &mut SessionInfo, line: &[u8]) {
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(line) else { return };
    match parse_entry(fields) {
        Ok(SessionEntry::Message { message, .. }) => {
            info.messages += 1;
            if let (None, SessionMessage::Model(Message::User(said))) =
                (&info.first_prompt, message)
            {
                info.first_prompt = Some(said.text());
            }
        }
        Ok(SessionEntry::Compaction { short_summary: Some(title), .. }) => info.title = Some(title),
        Ok(SessionEntry::SessionInfo { name: Some(title) }) => info.title = Some(title),
        Ok(SessionEntry::TitleChange { title, .. }) => info.title = Some(title),
        Ok(_) | Err(_) => {}
    }
}
