//! Paths and names of files as a model is shown them: printable, on one line.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use protocol::RepoPath;

/// Returns a path inside the tree as git writes it: plain, or quoted where it cannot be printed.
pub(crate) fn path(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return ".".to_owned();
    }
    let components = path.components().map(|part| name(part.as_os_str()));
    let plain = components.collect::<Vec<_>>().join("/");
    RepoPath::new(path.as_os_str().as_bytes()).map_or(plain, |path| path.to_string())
}

/// Returns the name of a file as git writes it.
pub(crate) fn name(name: &OsStr) -> String {
    let escaped = || name.as_bytes().escape_ascii().to_string();
    RepoPath::new(name.as_bytes()).map_or_else(escaped, |name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_printed_are_quoted_as_git_quotes_them() {
        assert_eq!(name(OsStr::from_bytes(b"a\xff\nb")), "\"a\\377\\nb\"");
        assert_eq!(name(OsStr::new("é x")), "é x");
        assert_eq!(name(OsStr::new(".git")), ".git");
        assert_eq!(path(Path::new("")), ".");
        assert_eq!(path(Path::new("a/.git/b")), "a/.git/b");
    }
}
