//! Finds the session that a user means: by a path, by the beginning of its id, or the one that was
//! used last.

use std::io;
use std::path::{Path, PathBuf};

use super::breadcrumbs::Breadcrumbs;
use super::list::{SessionInfo, list_all_sessions, list_sessions, read_info};

/// Where sessions are looked for.
#[derive(Clone, Debug)]
pub struct SessionPlaces {
    /// The folder in which the user works.
    pub cwd: PathBuf,
    /// The folder of the sessions of `cwd`.
    pub own: PathBuf,
    /// The folder of the sessions of all folders; `None` if the user named another one.
    pub all: Option<PathBuf>,
}

/// What a name of a session means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FoundSession {
    /// A session of the folder in which the user works, or one that was named by its path.
    Here(PathBuf),
    /// A session of another folder.
    Elsewhere(Box<SessionInfo>),
    /// There is none.
    #[default]
    Nothing,
}

impl SessionPlaces {
    /// Returns the session that `name` means: a path if it looks like one, otherwise the one that was
    /// changed last of those whose id or file name begins with `name`, in any case of its letters.
    /// Sessions of the same folder come first.
    ///
    /// # Errors
    /// A folder of sessions cannot be read.
    pub fn find(&self, name: &str) -> io::Result<FoundSession> {
        if name.contains(['/', '\\']) || name.ends_with(".jsonl") {
            return Ok(FoundSession::Here(self.cwd.join(name)));
        }
        if name.is_empty() {
            return Ok(FoundSession::Nothing);
        }
        let own = list_sessions(&self.own)?;
        if let Some(found) = own.into_iter().find(|session| is_named(session, name)) {
            return Ok(FoundSession::Here(found.path));
        }
        let Some(all) = &self.all else { return Ok(FoundSession::Nothing) };
        let found = list_all_sessions(all)?.into_iter().find(|session| is_named(session, name));
        Ok(found
            .map_or(FoundSession::Nothing, |session| FoundSession::Elsewhere(Box::new(session))))
    }

    /// Returns the session that goes on without a name: the one that this terminal used last, if it
    /// belongs to the folder, else the one of the folder that was changed last. A folder of sessions that
    /// counts alone has no session of another one.
    ///
    /// # Errors
    /// The folder of sessions cannot be read.
    pub fn most_recent(&self, breadcrumbs: &Breadcrumbs) -> io::Result<Option<PathBuf>> {
        // Where only one folder of sessions counts, one of another is not meant.
        let is_meant = |log: &PathBuf| self.all.is_some() || log.parent() == Some(&*self.own);
        if let Some(log) = breadcrumbs.session_of(&self.cwd).filter(is_meant)
            && read_info(&log).ok().flatten().is_some()
        {
            return Ok(Some(log));
        }
        Ok(list_sessions(&self.own)?.into_iter().next().map(|session| session.path))
    }
}

/// Returns the sessions below `all` whose id or file name begins with `name`, in any case of its
/// letters; the one that was changed last comes first.
///
/// # Errors
/// A folder of sessions cannot be read.
pub fn sessions_named(all: &Path, name: &str) -> io::Result<Vec<SessionInfo>> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let all = list_all_sessions(all)?.into_iter();
    Ok(all.filter(|session| is_named(session, name)).collect())
}

/// Returns whether a session has a name that begins with this: its id, its file name, or the id in
/// its file name.
fn is_named(session: &SessionInfo, name: &str) -> bool {
    let begins =
        |text: &str| text.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    let file = session.path.file_stem().unwrap_or_default().to_string_lossy();
    let id = file.split_once('_').map_or("", |(_, id)| id);
    begins(&session.id) || begins(&file) || begins(id)
}

#[cfg(test)]
mod tests;
