//! Reads a path as a model writes it: where it begins, and its steps from the root of the tree.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use protocol::RepoPath;
use serde_json::Value;

use super::error::PathError;
use crate::shown;

/// The longest path there is on Linux, and the most steps that are gone.
const LONGEST: usize = 4096;

/// The steps of a path from the root of the tree: names, and `..` for the folder above.
pub(super) type Steps = VecDeque<OsString>;

/// Where the tree is. A command sees a path as the system resolves it, so each counts twice.
pub(super) struct Places {
    roots: Vec<PathBuf>,
    repos: Vec<PathBuf>,
    /// Where relative paths begin, relative to the root.
    pub(super) folder: PathBuf,
}

impl Places {
    /// Returns the places of the tree at `root`, of which relative paths begin at `folder`, and of
    /// which `repo` is what the user has.
    pub(super) fn new(root: &Path, folder: &Path, repo: &Path) -> Self {
        let both = |path: &Path| [Some(path.to_owned()), path.canonicalize().ok()];
        Self {
            roots: both(root).into_iter().flatten().collect(),
            repos: both(repo).into_iter().flatten().collect(),
            folder: folder.strip_prefix(root).unwrap_or(Path::new("")).to_owned(),
        }
    }

    /// Returns the rest of a path that begins with the root.
    fn inside<'path>(&self, path: &'path Path) -> Option<&'path Path> {
        self.roots.iter().find_map(|root| path.strip_prefix(root).ok())
    }

    fn in_checkout<'path>(&self, path: &'path Path) -> Option<&'path Path> {
        self.repos.iter().find_map(|repo| path.strip_prefix(repo).ok())
    }
}

/// Reads a path of a model.
pub(super) fn steps(text: &str, places: &Places) -> Result<Steps, PathError> {
    if text.is_empty() {
        return Err(PathError::Empty);
    }
    if text.contains('\0') {
        return Err(PathError::Nul(shown::quote(text)));
    }
    if text.len() > LONGEST {
        return Err(PathError::TooLong(text.len()));
    }
    if text == "~" || text.starts_with("~/") {
        return Err(PathError::Outside(shown::quote(text)));
    }
    let path = unquoted(text);
    if let Some(below) = places.inside(&path) {
        return Ok(of(below));
    }
    if path.is_absolute() {
        return Err(match places.in_checkout(&path) {
            Some(below) => PathError::UserCheckout {
                path: shown::quote(text),
                inside: shown::path(&relative(below, &places.folder)),
            },
            None => PathError::Outside(shown::quote(text)),
        });
    }
    let mut steps = of(&places.folder);
    steps.extend(of(&path));
    Ok(steps)
}

/// The steps of a symlink's target from the root, or from where the link is.
pub(super) enum Target {
    /// From the root of the tree.
    FromRoot(Steps),
    /// From the folder of the link.
    FromHere(Steps),
    /// Somewhere else.
    Outside,
}

/// Reads the target of a symlink.
pub(super) fn target(bytes: &[u8], places: &Places) -> Target {
    let path = Path::new(OsStr::from_bytes(bytes));
    match places.inside(path) {
        Some(below) => Target::FromRoot(of(below)),
        None if path.is_absolute() => Target::Outside,
        None => Target::FromHere(of(path)),
    }
}

fn of(path: &Path) -> Steps {
    let step = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
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
pub(super) fn relative(path: &Path, folder: &Path) -> PathBuf {
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
        let [root, folder, repo] = ["/w/tree", "/w/tree/sub", "/home/u/repo"].map(Path::new);
        let places = Places::new(root, folder, repo);
        let steps = steps(text, &places).map_err(|error| error.to_string())?;
        Ok(steps.into_iter().map(|step| step.to_string_lossy().into_owned()).collect())
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
