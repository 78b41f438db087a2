//! The place of a call that lists or searches: the argument `path`, which may be left out, how the call is
//! classified by it and shown to people, and what a long search says about its rest.

use std::path::Path;

use engine::ports::{Access, AccessClass, Concurrency, FileStat, Found, ViewPath, WorkspaceView};
use protocol::quote;
use serde_json::{Map, Value};

use crate::builtin::text;
use crate::display::{self, SEARCH_BYTES};
use crate::error::{FileError, PathError, ToolError};
use crate::paths::Paths;
use crate::walk::{VISITED, Walk};

/// Other names of a folder in the argument `path`.
pub(crate) const FOLDER_NAMES: &[&str] = &["dir", "directory", "folder", "cwd"];

/// Where a call searches.
pub(crate) struct SearchPlace {
    pub(crate) found: FolderOrFile,
    /// The path as the model wrote it.
    pub(crate) shown: String,
}

/// What is there.
pub(crate) enum FolderOrFile {
    Folder(ViewPath),
    File(ViewPath, FileStat),
}

impl SearchPlace {
    /// Finds the place of a call, which is the folder that the model is in if `path` is left out.
    pub(crate) async fn find(
        view: &dyn WorkspaceView,
        paths: &Paths,
        path: Option<&str>,
    ) -> Result<Self, ToolError> {
        let text = path.unwrap_or(".");
        let found = match paths.find(view, text).await? {
            Found::Folder(folder) => FolderOrFile::Folder(folder),
            Found::File { path, stat } => FolderOrFile::File(path, stat),
            found @ Found::Missing { .. } => {
                return Err(paths.missing(view, text, &found).await.into());
            }
        };
        Ok(Self { found, shown: quote(text) })
    }

    /// Returns the folder, or the error that it is a file.
    pub(crate) fn into_folder(self) -> Result<(ViewPath, String), ToolError> {
        match self.found {
            FolderOrFile::Folder(folder) => Ok((folder, self.shown)),
            FolderOrFile::File(path, _) => {
                let blocked = display::path(path.as_path());
                Err(PathError::NotFolder { path: self.shown, blocked }.into())
            }
        }
    }
}

/// Returns the error that a place cannot be listed.
pub(crate) fn cannot_list(shown: &str, error: engine::ports::ViewError) -> ToolError {
    FileError::of("list", shown, error).into()
}

/// Returns what a search is about: its pattern, and the folder if it is given.
pub(crate) fn title(arguments: &Map<String, Value>) -> String {
    let (pattern, path) = (text(arguments, "pattern"), text(arguments, "path"));
    match (pattern.is_empty(), path.is_empty()) {
        (true, _) => path,
        (false, true) => pattern,
        (false, false) => format!("{pattern} in {path}"),
    }
}

/// Classifies a call that reads below the folder in the argument `path`.
pub(crate) fn access(arguments: &Map<String, Value>) -> Access {
    let path = text(arguments, "path");
    let path = if path.is_empty() { ".".to_owned() } else { path };
    Access { class: AccessClass::Read(vec![path]), concurrency: Concurrency::Shared }
}

/// Returns a path relative to the searched folder.
pub(crate) fn below<'a>(path: &'a ViewPath, folder: &ViewPath) -> &'a Path {
    path.as_path().strip_prefix(folder.as_path()).unwrap_or(path.as_path())
}

/// Returns what a walk has left out.
pub(crate) fn walk_notice(walk: &Walk<'_>) -> Option<String> {
    match (walk.is_cut, walk.unreadable) {
        (true, _) => Some(format!(
            "There is more than the {VISITED} names that are looked at; name a folder to search in"
        )),
        (false, 0) => None,
        (false, count) => Some(format!("Folders that cannot be read: {count}")),
    }
}

/// Returns the notice that there are more results than are shown.
pub(crate) fn limit_notice(what: &str, shown: u64, limit: u64, most: u64, skip: u64) -> String {
    let next = skip + shown;
    if shown < limit {
        return format!("{}KB limit reached. Use offset={next} for the next", SEARCH_BYTES >> 10);
    }
    let larger = (limit * 2).min(most);
    match larger > limit {
        true => format!(
            "{limit} {what} limit reached. Use limit={larger} for more, or offset={next} for the next"
        ),
        false => format!("{limit} {what} limit reached. Use offset={next} for the next"),
    }
}
