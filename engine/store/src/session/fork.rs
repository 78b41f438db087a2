//! Makes session files from others: a fork goes on where a session is, a branch before one of its
//! prompts. The lines of the entries are copied as they stand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use engine::ports::SessionHeader;
use engine::session::EntryIds;
use protocol::{EntryId, Message, SessionEntry, SessionId, SessionMessage, Timestamp};
use serde_json::{Map, Value, json};

use super::blobs::BlobFolder;
use super::line::{self, VERSION, line_of, lossy};
use super::loaded::{Body, LoadedSession};
use super::rewrite::create;
use crate::call_journal::CALLS;

/// Why a session file could not be made from another one.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The file does not exist, or cannot be read.
    #[error("cannot read the session at {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The new file cannot be written.
    #[error("cannot write the session at {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is not a session.
    #[error("{} is not a session", path.display())]
    NoSession {
        /// The file.
        path: PathBuf,
    },
    /// The file is of a later version.
    #[error("a newer version of this program wrote {}; update this program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// A branch can only be made from a message of the user.
    #[error("invalid entry ID for branching: `{0}` is not a message of the user")]
    NoPrompt(EntryId),
}

/// A branch of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branched {
    /// The text of the message before which the branch begins, to be edited.
    pub text: String,
    /// The new file; `None` if the message was the first entry, so that there is nothing to keep.
    pub log: Option<PathBuf>,
}

/// Returns the path of the log of a new session: its time and its id.
#[must_use]
pub fn new_log_path(folder: &Path, at: Timestamp, session: SessionId) -> PathBuf {
    let at = at.to_string().replace([':', '.'], "-");
    folder.join(format!("{at}_{}.jsonl", session.uuid()))
}

/// Returns the folder of the artifacts of a session.
#[must_use]
pub fn artifacts_of(log: &Path) -> PathBuf {
    log.with_extension("")
}

/// Copies the session at `from` to a new file, which may belong to another folder, and its artifacts
/// beside it. The session may be open meanwhile. The title is kept, and so are damaged lines.
///
/// # Errors
/// See [`ForkError`]. What artifacts could not be copied is not an error.
pub fn fork(from: &Path, to: &Path, header: &SessionHeader) -> Result<(), ForkError> {
    let (session, rest) = known(from, LoadedSession::read_rest(from), |(session, _)| session)?;
    let parent = Some(session.header.id.clone());
    let mut file = new_header(header, parent, &session)?;
    // Damaged lines are copied, too: whoever opens the copy learns of them.
    file.extend(rest);
    write(to, &file)?;
    if let Err(error) = copy_folder(&artifacts_of(from), &artifacts_of(to)) {
        tracing::warn!(%error, from = %from.display(), "the artifacts of a session were not copied");
    }
    Ok(())
}

/// Makes a session that goes on before a message of the user. It holds the path to that message, and
/// the labels of what is on it.
///
/// # Errors
/// See [`ForkError`].
pub fn branch(
    from: &Path,
    prompt: &EntryId,
    to: &Path,
    header: &SessionHeader,
    blobs: Option<&BlobFolder>,
) -> Result<Branched, ForkError> {
    let mut session = known(from, LoadedSession::read_lines(from), |session| session)?;
    let refused = || ForkError::NoPrompt(prompt.clone());
    let place = session.tree.place(prompt).ok_or_else(refused)?;
    let text = match session.entry(place, blobs) {
        Some(SessionEntry::Message {
            message: SessionMessage::Model(Message::User(said)), ..
        }) => said.text(),
        _other => return Err(refused()),
    };
    let mut path = session.tree.path_to(place);
    path.pop();
    if path.is_empty() {
        return Ok(Branched { text, log: None });
    }
    let parent = Some(lossy(from));
    let mut file = new_header(header, parent, &session)?;
    let mut last: Option<EntryId> = None;
    let mut kept = BTreeSet::new();
    for place in path {
        let node = &session.tree.nodes()[place];
        if fields(&node.body).get("type").is_some_and(|kind| kind == "label") {
            continue;
        }
        if node.parent == last {
            copy(&node.body, &mut file);
        } else {
            // Its parent was a label, which is not kept.
            move_to(&node.body, last.as_ref(), &mut file);
        }
        last = Some(node.id.clone());
        kept.insert(node.id.clone());
    }
    add_labels(&session, header, &kept, last, &mut file);
    write(to, &file)?;
    Ok(Branched { text, log: Some(to.to_owned()) })
}

/// Adds the labels of the entries that are kept.
fn add_labels(
    session: &LoadedSession,
    header: &SessionHeader,
    kept: &BTreeSet<EntryId>,
    mut last: Option<EntryId>,
    file: &mut Vec<u8>,
) {
    let labels: BTreeMap<_, _> =
        session.tree.labels().iter().filter(|(target, _)| kept.contains(*target)).collect();
    let mut ids = EntryIds::new(header.id, kept);
    for (target, label) in labels {
        let entry = SessionEntry::Label { target_id: target.clone(), label: Some(label.clone()) };
        let id = ids.generate();
        let written = line::entry(&id, last.as_ref(), header.at, &entry, None);
        file.extend(written.unwrap_or_default()); // a label is always JSON
        last = Some(id);
    }
}

/// Returns what was read of the file `from`, if it is a session of a known version.
fn known<T>(
    from: &Path,
    read: io::Result<Option<T>>,
    session: impl Fn(&T) -> &LoadedSession,
) -> Result<T, ForkError> {
    let path = from.to_owned();
    match read {
        Ok(Some(it)) if session(&it).header.version > VERSION => Err(ForkError::Newer { path }),
        Ok(Some(it)) => Ok(it),
        Ok(None) => Err(ForkError::NoSession { path }),
        Err(source) => Err(ForkError::Read { path, source }),
    }
}

fn new_header(
    header: &SessionHeader,
    parent: Option<String>,
    from: &LoadedSession,
) -> Result<Vec<u8>, ForkError> {
    let header = SessionHeader { parent, ..header.clone() };
    let written = line::titled_header(&header, &from.header);
    written.map_err(|error| ForkError::Write { path: header.cwd, source: error.into() })
}

fn copy(body: &Body, file: &mut Vec<u8>) {
    match body {
        Body::Unread { text, .. } => {
            file.extend(text.as_bytes());
            file.push(b'\n');
        }
        // Only the prompt of a branch was read, and it is not part of it.
        Body::Read(_) => {}
    }
}

/// Copies an entry that follows another one than in its own file.
fn move_to(body: &Body, parent: Option<&EntryId>, file: &mut Vec<u8>) {
    let mut fields = fields(body);
    fields.insert("parentId".to_owned(), json!(parent));
    file.extend(line_of(&fields).unwrap_or_default());
}

fn fields(body: &Body) -> Map<String, Value> {
    match body {
        Body::Unread { text, .. } => serde_json::from_str(text).unwrap_or_default(),
        Body::Read(_) => Map::new(),
    }
}

fn write(to: &Path, file: &[u8]) -> Result<(), ForkError> {
    let written = to
        .parent()
        .map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o700).create(folder));
    let written = written.and_then(|()| create(to, file));
    written.map_err(|source| ForkError::Write { path: to.to_owned(), source })
}

/// Copies the files of a folder and of those below it; nothing if there is none.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    for entry in entries {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else if kind.is_file() && entry.file_name() != CALLS {
            // Which calls have begun since is known of the original only.
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
