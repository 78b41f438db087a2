//! Finds the session that a user means: by a path, by the beginning of its id, or the one that was
//! used last.

use std::io;
use std::path::{Path, PathBuf};

use super::breadcrumbs::{Breadcrumbs, is_same_folder};
use super::folder_names::FolderNames;
use super::line::lossy;
use super::list::{
    SessionInfo, list_all_sessions, list_sessions, newest_first, read_info, session_files,
};
use super::survey::survey;

/// Where sessions are looked for. Names of folders can be the same for several working folders, so the
/// working folder in the header of a session decides whose it is.
#[derive(Clone, Debug)]
pub struct SessionPlaces {
    /// The folder in which the user works.
    cwd: PathBuf,
    /// The folder for new sessions of `cwd`.
    own: PathBuf,
    /// Another folder in which sessions of `cwd` may be, and the one for new sessions if `own` is taken
    /// by another working folder.
    other: Option<PathBuf>,
    /// The folder of the sessions of all folders; `None` if the user named another one.
    all: Option<PathBuf>,
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
    /// Returns where the sessions that work in `cwd` are below `all`, which has a folder for each
    /// working folder.
    #[must_use]
    pub fn below(all: PathBuf, cwd: PathBuf) -> Self {
        let FolderNames { own, other } = FolderNames::of(&cwd);
        let (own, other) = (all.join(own), other.map(|other| all.join(other)));
        Self { cwd, own, other, all: Some(all) }
    }

    /// Returns where the sessions that work in `cwd` are if only the files in `folder` count.
    #[must_use]
    pub fn in_folder(folder: PathBuf, cwd: PathBuf) -> Self {
        Self { cwd, own: folder, other: None, all: None }
    }

    /// Returns the folder in which the user works.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the folder for the file of a new session.
    #[must_use]
    pub fn new_folder(&self) -> &Path {
        match &self.other {
            Some(other) if self.is_taken(&self.own) => other,
            Some(_) | None => &self.own,
        }
    }

    /// Returns the sessions of the folder, with their names and the number of all their messages; the
    /// one that was changed last comes first.
    ///
    /// # Errors
    /// A folder of sessions cannot be read.
    pub fn survey(&self) -> io::Result<Vec<SessionInfo>> {
        Ok(survey(self.list()?))
    }

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
        if let Some(found) = self.list()?.into_iter().find(|session| is_named(session, name)) {
            return Ok(FoundSession::Here(found.path));
        }
        let elsewhere = match &self.all {
            Some(all) => list_all_sessions(all)?,
            None => list_sessions(&self.own)?,
        };
        let found = elsewhere.into_iter().find(|session| is_named(session, name));
        Ok(found
            .map_or(FoundSession::Nothing, |session| FoundSession::Elsewhere(Box::new(session))))
    }

    /// Returns the session that goes on without a name: the one that this terminal used last, if it
    /// belongs to the folder, else the one of the folder that was changed last. A folder of sessions that
    /// counts alone has no session of another one.
    ///
    /// # Errors
    /// A folder of sessions cannot be read.
    pub fn most_recent(&self, breadcrumbs: &Breadcrumbs) -> io::Result<Option<PathBuf>> {
        // Where only one folder of sessions counts, one of another is not meant.
        let is_meant = |log: &PathBuf| self.all.is_some() || log.parent() == Some(&*self.own);
        if let Some(log) = breadcrumbs.session_of(&self.cwd).filter(is_meant)
            && read_info(&log).ok().flatten().is_some_and(|session| self.is_own(&session))
        {
            return Ok(Some(log));
        }
        Ok(self.list()?.into_iter().next().map(|session| session.path))
    }

    /// Returns the sessions of the folder; the one that was changed last comes first.
    fn list(&self) -> io::Result<Vec<SessionInfo>> {
        let mut sessions = list_sessions(&self.own)?;
        if let Some(other) = &self.other {
            sessions.extend(list_sessions(other)?);
        }
        sessions.retain(|session| self.is_own(session));
        Ok(newest_first(sessions))
    }

    /// Returns whether a session works in the folder. One whose file does not say where belongs to the
    /// folder whose file it is.
    fn is_own(&self, session: &SessionInfo) -> bool {
        session.cwd.as_os_str().is_empty()
            || session.cwd == Path::new(&lossy(&self.cwd))
            || is_same_folder(&session.cwd, &self.cwd)
    }

    /// Returns whether a folder has sessions, and none of them works in this one.
    fn is_taken(&self, folder: &Path) -> bool {
        let files = session_files(folder).unwrap_or_default();
        let mut sessions =
            files.iter().filter_map(|path| read_info(path).ok().flatten()).peekable();
        sessions.peek().is_some() && !sessions.any(|session| self.is_own(&session))
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
