//! Reads a path as a model writes it: relative to the folder it is in, or absolute in the workspace.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use engine::ports::{Found, ViewPath, WorkspaceView};
use engine::tools::quote;
use protocol::RepoPath;
use serde_json::Value;

use crate::path_error::PathError;
use crate::path_hint::hint;
use crate::shown;

/// The longest path there is on Linux.
const LONGEST: usize = 4096;

/// Reads the paths of one session's model.
pub(crate) struct Paths {
    /// Where relative paths begin, relative to the root of the workspace.
    subfolder: PathBuf,
    /// The user's own working tree.
    repo: PathBuf,
}

impl Paths {
    /// Returns what reads paths that begin at `subfolder` of a workspace of which the user has
    /// `repo`.
    pub(crate) fn new(subfolder: PathBuf, repo: PathBuf) -> Self {
        Self { subfolder, repo }
    }

    /// Returns what `text` leads to.
    pub(crate) async fn find(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
    ) -> Result<Found, PathError> {
        let path = self.read_marked(view, text).await?;
        view.find(&path).await.map_err(|error| PathError::of(text, error))
    }

    /// Returns what `text` leads to if it may be changed.
    pub(crate) async fn find_to_change(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
    ) -> Result<Found, PathError> {
        let found = self.find(view, text).await?;
        let path = match &found {
            Found::Folder(path) | Found::File { path, .. } => path.as_path().to_owned(),
            Found::Missing { above, rest } => {
                above.as_path().join(rest.iter().collect::<PathBuf>())
            }
        };
        let bytes = path.as_os_str().as_bytes();
        if !bytes.is_empty() && RepoPath::new(bytes).is_none() {
            return Err(PathError::Guarded(quote(text)));
        }
        Ok(found)
    }

    /// Returns the error that nothing is at `text`, with what was perhaps meant.
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

    /// Reads a path. Models mark files with an `@`, and there are folders that begin with one.
    async fn read_marked(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
    ) -> Result<PathBuf, PathError> {
        let literal = self.read(view, text).await?;
        let Some(marked) = text.strip_prefix('@').filter(|rest| !rest.is_empty()) else {
            return Ok(literal);
        };
        let first = text.split('/').next().unwrap_or_default();
        let is_there = match ViewPath::new(&self.subfolder.join(first)) {
            Some(path) => view.stat(&path).await.is_ok(),
            None => false,
        };
        if is_there { Ok(literal) } else { self.read(view, marked).await }
    }

    /// Reads a path as one from the root of the workspace, with `..` where it goes up.
    async fn read(&self, view: &dyn WorkspaceView, text: &str) -> Result<PathBuf, PathError> {
        let path = parsed(text)?;
        let inside = match path.is_absolute() {
            true => view.inside(&path).await,
            false => None,
        };
        self.placed(text, path, inside)
    }

    /// Returns a path from the root, where `inside` is the rest of one that begins with the root.
    fn placed(
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
                    inside: shown::path(&relative(below, &self.subfolder)),
                },
                Err(_) => PathError::Outside(quote(text)),
            }),
            None => Ok(self.subfolder.join(path)),
        }
    }
}

/// Reads what can be a path.
fn parsed(text: &str) -> Result<PathBuf, PathError> {
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

/// Reads a path in the quotes in which we write names that cannot be printed.
fn unquoted(text: &str) -> PathBuf {
    let quoted = text.len() > 2 && text.starts_with('"') && text.ends_with('"');
    let read = || serde_json::from_value::<RepoPath>(Value::from(text)).ok();
    match quoted.then(read).flatten() {
        Some(path) => path.as_path().to_owned(),
        None => PathBuf::from(text),
    }
}

/// Writes `path` as seen from `folder`, both relative to the root.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let paths = Paths::new("sub".into(), "/home/u/repo".into());
        let placed = parsed(text).and_then(|path| {
            let inside = path.strip_prefix("/w/tree").ok().map(Path::to_owned);
            paths.placed(text, path, inside)
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
