//! The globs that select carried files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// The maximum length of a glob, and the maximum number of braces in it. Each alternative in braces
/// is compiled.
const LONGEST: usize = 4096;
const MOST_BRACES: usize = 50;

/// Globs relative to the root of a repository. A glob that matches a folder stands for everything
/// in it.
#[derive(Debug)]
pub struct CarryGlobs {
    globs: Vec<CarryGlob>,
    /// The indices of the globs that have matched nothing so far.
    unused: RefCell<BTreeSet<usize>>,
}

/// Why a glob cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` {fault}")]
pub struct GlobError {
    /// The glob.
    pub glob: String,
    /// What is wrong with it.
    pub fault: String,
}

#[derive(Debug)]
struct CarryGlob {
    text: String,
    matcher: GlobMatcher,
    /// The path with which every match begins; empty if the glob begins with a wildcard.
    fixed: Vec<u8>,
}

impl CarryGlobs {
    /// Parses globs.
    ///
    /// # Errors
    /// A glob is malformed, or cannot match a path of the repository.
    pub fn parse(globs: &[String]) -> Result<Self, GlobError> {
        let globs: Vec<_> = globs.iter().map(|glob| parse(glob)).collect::<Result<_, _>>()?;
        let unused = RefCell::new((0..globs.len()).collect());
        Ok(Self { globs, unused })
    }

    /// Returns whether a glob matches exactly this path.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let mut unused = self.unused.borrow_mut();
        let mut found = false;
        for (at, glob) in self.globs.iter().enumerate() {
            if (!found || unused.contains(&at)) && glob.matches(path) {
                unused.remove(&at);
                found = true;
            }
        }
        found
    }

    /// Returns whether a glob matches this path or a folder above it.
    pub(crate) fn matches_from_root(&self, path: &[u8]) -> bool {
        path_and_folders(path).any(|path| self.matches(path))
    }

    /// Notes which globs match a path that is selected already.
    pub(super) fn note(&self, path: &[u8]) {
        let mut unused = self.unused.borrow_mut();
        if !unused.is_empty() {
            unused.retain(|at| !self.globs[*at].matches(path));
        }
    }

    /// Returns whether a glob may match a path below `folder`.
    pub(super) fn may_match_below(&self, folder: &[u8]) -> bool {
        self.globs.iter().any(|glob| {
            let fixed = &glob.fixed;
            fixed.is_empty() || is_at_or_below(folder, fixed) || is_at_or_below(fixed, folder)
        })
    }

    /// Returns the globs that have matched nothing, with whether each matches one of `others`.
    pub(super) fn unused(&self, others: &dyn Fn() -> Vec<Vec<u8>>) -> Vec<(&str, MatchesOthers)> {
        let unused = self.unused.borrow();
        if unused.is_empty() {
            return Vec::new();
        }
        let others = others();
        let judge = |at: &usize| {
            let glob = &self.globs[*at];
            let matches = |path: &Vec<u8>| path_and_folders(path).any(|path| glob.matches(path));
            let found = others.iter().any(matches);
            (glob.text.as_str(), if found { MatchesOthers::Yes } else { MatchesOthers::No })
        };
        unused.iter().map(judge).collect()
    }
}

/// Whether a glob without an ignored file matches files that are in each workspace anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchesOthers {
    Yes,
    No,
}

impl CarryGlob {
    fn matches(&self, path: &[u8]) -> bool {
        self.matcher.is_match(Path::new(OsStr::from_bytes(path)))
    }
}

fn parse(text: &str) -> Result<CarryGlob, GlobError> {
    let wrong = |fault: &str| GlobError { glob: text.to_owned(), fault: fault.to_owned() };
    let glob = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    if text.starts_with('/') {
        return Err(wrong("is absolute: a glob begins at the root of the repository"));
    }
    if glob.is_empty() || glob.contains('\0') {
        return Err(wrong("matches no path"));
    }
    if glob.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(wrong("leaves the repository or has an empty part"));
    }
    let braces = glob.bytes().filter(|byte| *byte == b'{').count();
    if glob.len() > LONGEST || braces > MOST_BRACES {
        return Err(wrong("is too long"));
    }
    let built = GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| wrong(&format!("is not a glob: {}", error.kind())))?;
    let fixed = fixed_part(glob).as_bytes().to_vec();
    Ok(CarryGlob { text: text.to_owned(), matcher: built.compile_matcher(), fixed })
}

/// Returns the whole components before the first wildcard.
fn fixed_part(glob: &str) -> &str {
    match glob.find(['*', '?', '[', '{', '\\']) {
        None => glob,
        Some(wild) => glob[..wild].rsplit_once('/').map_or("", |(folders, _)| folders),
    }
}

/// Returns every folder above a path, the outermost first, and the path.
pub(super) fn path_and_folders(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| at).chain([path.len()]).map(|end| &path[..end])
}

/// Returns whether `path` is `folder` or below it.
fn is_at_or_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(texts: &[&str]) -> CarryGlobs {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        CarryGlobs::parse(&texts).unwrap()
    }

    #[test]
    fn a_glob_that_matches_a_folder_stands_for_what_is_in_it() {
        let globs = globs(&["node_modules/", "./target/**", "*/.env{,.local}"]);
        for path in ["node_modules", "node_modules/a/b", "target/a", "a/.env", "a/.env.local"] {
            assert!(globs.matches_from_root(path.as_bytes()), "{path}");
        }
        for path in ["a/node_modules", "target", "targets/a", ".env", "a/b/.env"] {
            assert!(!globs.matches_from_root(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn folders_in_which_nothing_can_match_are_not_entered() {
        let some = globs(&["a/b/*.o", "c"]);
        for folder in ["a", "a/b", "a/b/d", "c", "c/d"] {
            assert!(some.may_match_below(folder.as_bytes()), "{folder}");
        }
        for folder in ["b", "ab", "a/c", "cd"] {
            assert!(!some.may_match_below(folder.as_bytes()), "{folder}");
        }
        assert!(globs(&["**/.env"]).may_match_below(b"any"));
    }

    #[test]
    fn what_can_match_no_path_of_a_repository_is_refused() {
        for text in ["", "/", "/etc/*", "../x", "a//b", "./", "a/../b", "a\0", "[a", "{a"] {
            let error = CarryGlobs::parse(&[text.to_owned()]).unwrap_err();
            assert!(error.to_string().starts_with(&format!("`{text}` ")), "{error}");
        }
    }

    #[test]
    fn globs_that_match_nothing_are_known() {
        let globs = globs(&["a", "b", "a/c"]);
        assert!(globs.matches(b"a"));
        globs.note(b"a/c");
        assert_eq!(globs.unused(&|| vec![b"b/d".to_vec()]), [("b", MatchesOthers::Yes)]);
    }
}
