//! Resolves the paths that models write, and suggests existing paths for those that do not exist.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use engine::ports::{FileKind, Found, Listing, ViewPath, WorkspaceView};
use protocol::{RepoPath, quote};
use serde_json::Value;
use similar::get_close_matches;

use crate::display;
use crate::error::PathError;

/// The longest path on Linux.
const LONGEST: usize = 4096;

/// Resolves the paths that the model of one session writes.
pub(crate) struct Paths {
    /// The folder relative paths start from, relative to the root of the workspace.
    subfolder: PathBuf,
    /// The user's own working tree.
    repo: PathBuf,
}

impl Paths {
    /// Returns a resolver of paths relative to `subfolder` of a workspace of the repository `repo`.
    pub(crate) fn new(subfolder: PathBuf, repo: PathBuf) -> Self {
        Self { subfolder, repo }
    }

    /// Finds the file or folder at the path `text`.
    pub(crate) async fn find(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
    ) -> Result<Found, PathError> {
        let path = self.parse_marked(view, text).await?;
        view.find(&path).await.map_err(|error| PathError::of(text, error))
    }

    /// Finds the file or folder at the path `text`. Paths that belong to git are refused.
    pub(crate) async fn find_to_change(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
    ) -> Result<Found, PathError> {
        let found = self.find(view, text).await?;
        let path = found.path();
        let bytes = path.as_os_str().as_bytes();
        if !bytes.is_empty() && RepoPath::new(bytes).is_none() {
            return Err(PathError::Guarded(quote(text)));
        }
        match &found {
            // The replaced file would be another one, which the permissions of this one do not prevent.
            Found::File { stat, .. }
                if stat.kind == FileKind::Regular && stat.mode & 0o222 == 0 =>
            {
                Err(PathError::ReadOnly(quote(text)))
            }
            Found::File { .. } | Found::Folder(_) | Found::Missing { .. } => Ok(found),
        }
    }

    /// Returns the error that nothing exists at `text`, with a suggestion.
    pub(crate) async fn missing(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
        found: &Found,
    ) -> PathError {
        let hint = match found {
            Found::Missing { above, rest } => {
                hint(view, above, rest, &|path| relative(path, &self.subfolder)).await
            }
            Found::Folder(_) | Found::File { .. } => String::new(),
        };
        PathError::Missing { path: quote(text), hint }
    }

    /// Formats a path in the tree as the model may write it: relative to the folder it is in.
    pub(crate) fn seen(&self, path: &ViewPath) -> String {
        display::path(&relative(path.as_path(), &self.subfolder))
    }

    /// Parses a path, and removes an `@` at its beginning, with which some models mark paths. The
    /// `@` stays if the first component exists under its name with the `@`.
    async fn parse_marked(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
    ) -> Result<PathBuf, PathError> {
        let literal = self.parse(view, text).await?;
        let Some(marked) = text.strip_prefix('@').filter(|rest| !rest.is_empty()) else {
            return Ok(literal);
        };
        let first = text.split('/').next().unwrap_or_default();
        let is_there = match ViewPath::new(&self.subfolder.join(first)) {
            Some(path) => view.stat(&path).await.is_ok(),
            None => false,
        };
        if is_there { Ok(literal) } else { self.parse(view, marked).await }
    }

    /// Parses a path, and returns it relative to the root of the workspace.
    async fn parse(&self, view: &dyn WorkspaceView, text: &str) -> Result<PathBuf, PathError> {
        let path = checked(text)?;
        let inside = match path.is_absolute() {
            true => view.inside(&path).await,
            false => None,
        };
        self.relative_to_root(text, path, inside)
    }

    /// Returns `path` relative to the root; `inside` is the part of an absolute path below the root.
    fn relative_to_root(
        &self,
        text: &str,
        path: PathBuf,
        inside: Option<PathBuf>,
    ) -> Result<PathBuf, PathError> {
        match inside {
            Some(below) => Ok(below),
            None if path.is_absolute() => Err(match path.strip_prefix(&self.repo) {
                Ok(below) => PathError::UserCheckout {
                    path: quote(text),
                    inside: display::path(&relative(below, &self.subfolder)),
                },
                Err(_) => PathError::Outside(quote(text)),
            }),
            None => Ok(self.subfolder.join(path)),
        }
    }
}

/// Returns `text` as a path, or an error if it cannot be a path.
fn checked(text: &str) -> Result<PathBuf, PathError> {
    if text.is_empty() {
        return Err(PathError::Empty);
    }
    if text.contains('\0') {
        return Err(PathError::Nul(quote(text)));
    }
    if text.len() > LONGEST {
        return Err(PathError::TooLong(text.len()));
    }
    if text == "~" || text.starts_with("~/") {
        return Err(PathError::Outside(quote(text)));
    }
    Ok(unquoted(text))
}

/// Removes the quotes and escapes with which the tools show unprintable names.
fn unquoted(text: &str) -> PathBuf {
    let quoted = text.len() > 2 && text.starts_with('"') && text.ends_with('"');
    let read = || serde_json::from_value::<RepoPath>(Value::from(text)).ok();
    match quoted.then(read).flatten() {
        Some(path) => path.as_path().to_owned(),
        None => PathBuf::from(text),
    }
}

/// Returns `path` relative to `folder`, both of them relative to the root.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let mut here = folder;
    let mut out = PathBuf::new();
    loop {
        if let Ok(below) = path.strip_prefix(here) {
            return out.join(below);
        }
        out.push("..");
        here = here.parent().unwrap_or(Path::new(""));
    }
}

/// How many names are suggested at most, and the similarity from which a name is suggested.
const SUGGESTED: usize = 3;
const SIMILARITY: f32 = 0.6;

/// How many names of a folder are compared.
const COMPARED: usize = 2000;

/// How many names, and how many levels of folders, a search for files of the same name visits.
const SEARCHED: usize = 5000;
const DEEP: usize = 8;

/// Folders that are not searched.
const SKIPPED: &[&str] = &[".git", "target", "node_modules"];

/// Returns a suggestion for the missing path `rest` below the folder `above`: similar names in that
/// folder, or files of the same name elsewhere. `seen_from` makes the suggested paths relative to
/// the model's folder.
async fn hint(
    view: &dyn WorkspaceView,
    above: &ViewPath,
    rest: &[OsString],
    seen_from: &(dyn Fn(&Path) -> PathBuf + Sync),
) -> String {
    let (Some(wanted), Some(last)) = (rest.first(), rest.last()) else { return String::new() };
    let Ok(listing) = view.read_dir(above, COMPARED).await else { return String::new() };
    let names = similar_names(&listing, wanted);
    let mut found: Vec<_> = names.into_iter().filter_map(|name| above.join(&name)).collect();
    if found.is_empty() || rest.len() > 1 {
        found.extend(same_name_elsewhere(view, last).await);
    }
    let meant = found.iter().map(|path| display::path(&seen_from(path.as_path())));
    match meant.collect::<Vec<_>>().as_slice() {
        [] if listing.names.is_empty() => "; the folder it would be in is empty".to_owned(),
        [] => {
            format!("; read `{}` to see what is there", display::path(&seen_from(above.as_path())))
        }
        meant => format!("; did you mean {}?", meant.join(" or ")),
    }
}

/// Returns the names in a folder that are most similar to `wanted`, ignoring case.
fn similar_names(listing: &Listing, wanted: &OsStr) -> Vec<OsString> {
    let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
    let names: Vec<String> = listing.names.iter().map(|(name, _)| lower(name)).collect();
    let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for close in get_close_matches(lower(wanted).as_str(), &candidates, SUGGESTED, SIMILARITY) {
        for (_, (name, _)) in names.iter().zip(&listing.names).filter(|(lower, _)| *lower == close)
        {
            if found.len() < SUGGESTED && !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    found
}

/// Returns the files in the tree that have the name `wanted`, those nearest to the root first.
async fn same_name_elsewhere(view: &dyn WorkspaceView, wanted: &OsStr) -> Vec<ViewPath> {
    let mut found = Vec::new();
    let mut left = SEARCHED;
    let mut folders = VecDeque::from([ViewPath::default()]);
    while let Some(folder) = folders.pop_front() {
        let Ok(listing) = view.read_dir(&folder, left).await else { continue };
        left -= listing.names.len();
        for (name, kind) in listing.names {
            let Some(path) = folder.join(&name) else { continue };
            let skipped = SKIPPED.iter().any(|skipped| name == *skipped);
            if kind == FileKind::Folder && !skipped && folder.names().count() < DEEP {
                folders.push_back(path);
            } else if kind == FileKind::Regular && name == wanted {
                found.push(path);
            }
        }
        if found.len() >= SUGGESTED || left == 0 {
            break;
        }
    }
    found.truncate(SUGGESTED);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let paths = Paths::new("sub".into(), "/home/u/repo".into());
        let placed = checked(text).and_then(|path| {
            let inside = path.strip_prefix("/w/tree").ok().map(Path::to_owned);
            paths.relative_to_root(text, path, inside)
        });
        let path = placed.map_err(|error| error.to_string())?;
        Ok(path.iter().map(|step| step.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn a_path_begins_at_the_folder_or_at_the_root_it_names() {
        assert_eq!(read("a//b/./c/").unwrap(), ["sub", "a", "b", "c"]);
        assert_eq!(read("../a").unwrap(), ["sub", "..", "a"]);
        assert_eq!(read("/w/tree/a").unwrap(), ["a"]);
        assert_eq!(read("/w/tree").unwrap(), [""; 0]);
        assert_eq!(read("/w/tree/../../etc").unwrap(), ["..", "..", "etc"]);
        assert_eq!(read("\"a b\\n\"").unwrap(), ["sub", "a b\n"]);
        assert_eq!(read("\"../x\"").unwrap(), ["sub", "\"..", "x\""]);
    }

    #[test]
    fn what_cannot_be_inside_is_refused_and_told() {
        for path in ["/", "/etc/passwd", "/w/treee/a", "~", "~/a"] {
            let refused = read(path).unwrap_err();
            assert!(refused.contains("outside of the working tree"), "{path}: {refused}");
        }
        assert!(read("").unwrap_err().contains("empty"));
        assert!(read("a\0b").unwrap_err().contains("NUL"));
        assert!(read(&"a/".repeat(3000)).unwrap_err().contains("too long"));
    }

    #[test]
    fn a_path_in_the_users_checkout_is_told_as_one_in_the_tree() {
        let refused = |path| read(path).unwrap_err();
        assert_eq!(
            refused("/home/u/repo/sub/a.rs"),
            "`/home/u/repo/sub/a.rs`: that is the user's own checkout; use the relative path `a.rs`"
        );
        assert!(refused("/home/u/repo/b.rs").ends_with("use the relative path `../b.rs`"));
        assert!(refused("/home/u/repo").ends_with("use the relative path `..`"));
    }
}
