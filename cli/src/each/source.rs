//! Where the items of `--each` come from.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use protocol::RepoPath;

use crate::error::{Error, ErrorKind};

/// Lists the tracked files of the repository, when someone asks.
pub(crate) type Tracked<'a> = &'a dyn Fn() -> Result<Vec<RepoPath>, Error>;

/// How many bytes a list may have.
const LONGEST_LIST: u64 = 64 << 20;

/// How many bytes an item may have: it travels in the environment of a process, where Linux
/// allows 128 KiB for one variable.
const LONGEST_ITEM: usize = 64 << 10;

/// How long a pattern may be, and how many alternatives it may open: each is compiled.
const LONGEST_PATTERN: usize = 4096;
const MOST_BRACES: usize = 50;

/// How many items a run may have.
const MOST_ITEMS: usize = 1_000_000;

/// Where items come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The tracked files that match.
    Glob(String),
    /// The lines of a file.
    List(PathBuf),
    /// The lines of standard input.
    Standard,
}

/// What items are read from.
pub(crate) struct Input<'a> {
    /// Standard input.
    pub(crate) standard: &'a mut dyn Read,
    /// The tracked files of the repository.
    pub(crate) tracked: Tracked<'a>,
    /// The folder below the root in which tasks work; empty for the root.
    pub(crate) subfolder: &'a Path,
    /// What ends an item of a list.
    pub(crate) end: u8,
}

impl Source {
    /// Reads what stands after `--each`.
    pub(crate) fn of(spec: &str) -> Self {
        match (spec, spec.strip_prefix('@')) {
            ("-", _) => Self::Standard,
            (_, Some(path)) => Self::List(path.into()),
            (glob, None) => Self::Glob(glob.to_owned()),
        }
    }

    /// Returns the items, at least one.
    ///
    /// # Errors
    /// What cannot be read, an item that cannot be handed to a command, or none at all.
    pub(crate) fn items(&self, input: Input<'_>) -> Result<Vec<String>, Error> {
        let items = match self {
            Self::Glob(glob) => matching(glob, &input)?,
            Self::List(path) => {
                let what = format!("cannot read the list {}", path.display());
                let failed = |error| Error::new(ErrorKind::Plan, what.clone()).caused_by(&error);
                let mut file = File::open(path).map_err(failed)?;
                lines(&mut file, &what, input.end)?
            }
            Self::Standard => lines(input.standard, "cannot read standard input", input.end)?,
        };
        if items.is_empty() {
            return Err(self.empty());
        }
        if items.len() > MOST_ITEMS {
            let what = format!("{} items are more than {MOST_ITEMS}", items.len());
            return Err(Error::new(ErrorKind::Plan, what).hint("several runs, one after the other"));
        }
        Ok(items)
    }

    fn empty(&self) -> Error {
        match self {
            Self::Glob(glob) => Error::usage(format!("--each '{glob}' matches no tracked file"))
                .because("only files that git tracks are looked at, from the folder of --repo on")
                .hint(if glob.contains('/') {
                    "git ls-files".to_owned()
                } else {
                    format!("--each '**/{glob}'")
                }),
            Self::List(path) => Error::usage(format!("the list {} has no items", path.display())),
            Self::Standard => Error::usage("standard input has no items"),
        }
    }
}

fn matching(glob: &str, input: &Input<'_>) -> Result<Vec<String>, Error> {
    let pattern = glob.strip_prefix("./").unwrap_or(glob);
    let braces = pattern.bytes().filter(|byte| *byte == b'{').count();
    if pattern.len() > LONGEST_PATTERN || braces > MOST_BRACES {
        return Err(Error::usage("the pattern of --each is too long")
            .because(format!("it may have {LONGEST_PATTERN} bytes and {MOST_BRACES} braces"))
            .hint("regatta run --each @FILE, with the names in the file"));
    }
    let matcher = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| {
            Error::usage(format!("--each '{glob}' is not a pattern"))
                .because(error.kind().to_string())
        })?
        .compile_matcher();
    let subfolder = RepoPath::new(input.subfolder.as_os_str().as_bytes());
    let mut items = Vec::new();
    for path in (input.tracked)()? {
        let Some(below) = relative(&path, subfolder.as_ref()) else { continue };
        if matcher.is_match(below.as_path()) {
            items.push(item_of(below.as_bytes().to_vec(), || path.to_string())?);
        }
    }
    Ok(items)
}

/// Returns a path as seen from a folder that contains it.
fn relative(path: &RepoPath, folder: Option<&RepoPath>) -> Option<RepoPath> {
    let Some(folder) = folder else { return Some(path.clone()) };
    let below = path.as_bytes().strip_prefix(folder.as_bytes())?.strip_prefix(b"/")?;
    RepoPath::new(below)
}

fn lines(from: &mut dyn Read, what: &str, end: u8) -> Result<Vec<String>, Error> {
    let mut bytes = Vec::new();
    from.take(LONGEST_LIST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Plan, what).caused_by(&error))?;
    if bytes.len() as u64 > LONGEST_LIST {
        return Err(Error::new(ErrorKind::Plan, what)
            .because(format!("it is longer than {} MiB", LONGEST_LIST >> 20)));
    }
    let mut items = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == end).enumerate() {
        let line = if end == b'\n' { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        if !line.is_empty() {
            items.push(item_of(line.to_vec(), || format!("number {}", at + 1))?);
        }
    }
    Ok(items)
}

/// Makes an item of its bytes; `name` is how it is called where it cannot be one.
fn item_of(bytes: Vec<u8>, name: impl Fn() -> String) -> Result<String, Error> {
    let refused = |why: &str| {
        Error::new(ErrorKind::Plan, format!("the item {} cannot be given to a task", name()))
            .because(why)
    };
    if bytes.len() > LONGEST_ITEM {
        return Err(refused("it is longer than 64 KiB"));
    }
    if bytes.contains(&0) {
        return Err(refused("it contains a NUL byte").hint("--null, if NUL ends the items"));
    }
    String::from_utf8(bytes).map_err(|_| {
        refused("its name is not UTF-8").hint("a pattern that leaves it out, or rename it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(spec: &str, standard: &[u8], end: u8, subfolder: &str) -> Result<Vec<String>, Error> {
        let tracked = || {
            let paths: [&[u8]; 8] = [
                b"README.md",
                b"src/a.rs",
                b"src/deep/b.rs",
                b"src/deep/.hidden.rs",
                b"src/c.py",
                b"-x.rs",
                b"odd/\xff.txt",
                b"srcs/d.rs",
            ];
            Ok(paths.into_iter().filter_map(RepoPath::new).collect())
        };
        Source::of(spec).items(Input {
            standard: &mut &*standard,
            tracked: &tracked,
            subfolder: Path::new(subfolder),
            end,
        })
    }

    fn glob(spec: &str) -> Vec<String> {
        items(spec, b"", b'\n', "").unwrap()
    }

    #[test]
    fn a_glob_finds_tracked_files_as_git_has_them() {
        assert_eq!(glob("*.rs"), ["-x.rs"]);
        assert_eq!(glob("src/*.rs"), ["src/a.rs"]);
        assert_eq!(glob("./src/**/*.rs"), ["src/a.rs", "src/deep/b.rs", "src/deep/.hidden.rs"]);
        assert_eq!(glob("src/*.{rs,py}"), ["src/a.rs", "src/c.py"]);
        assert_eq!(items("*.rs", b"", b'\n', "src").unwrap(), ["a.rs"]);
        assert_eq!(items("**/b.rs", b"", b'\n', "src/deep").unwrap(), ["b.rs"]);
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_an_error() {
        let error = items("*.go", b"", b'\n', "").unwrap_err();
        assert_eq!(
            error.to_string(),
            "error: --each '*.go' matches no tracked file\n  because only files that git tracks \
             are looked at, from the folder of --repo on\n  try: --each '**/*.go'"
        );
        assert!(items("src/[", b"", b'\n', "").unwrap_err().to_string().contains("not a pattern"));
    }

    #[test]
    fn a_name_that_is_not_utf8_is_named() {
        let error = items("odd/*", b"", b'\n', "").unwrap_err().to_string();
        assert!(error.starts_with("error: the item \"odd/\\377.txt\" cannot be given"), "{error}");
    }

    #[test]
    fn a_list_has_an_item_per_line_or_per_nul() {
        assert_eq!(items("-", b"a b\r\n\nc\n", b'\n', "").unwrap(), ["a b", "c"]);
        assert_eq!(items("-", b"a\nb\0\0c\0", 0, "").unwrap(), ["a\nb", "c"]);
        assert!(items("-", b"\n\n", b'\n', "").is_err());
        let error = items("-", b"a\0b", b'\n', "").unwrap_err().to_string();
        assert!(error.contains("number 1 ") && error.contains("--null"), "{error}");
        assert!(items("-", &vec![b'a'; 70_000], b'\n', "").is_err());
    }

    #[test]
    fn a_list_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        std::fs::write(&path, "one\ntwo").unwrap();
        assert_eq!(items(&format!("@{}", path.display()), b"", b'\n', "").unwrap(), ["one", "two"]);
        let error = items("@/nowhere/list", b"", b'\n', "").unwrap_err().to_string();
        assert!(
            error.starts_with("error: cannot read the list /nowhere/list\n  because"),
            "{error}"
        );
        assert!(items(&format!("@{}", folder.path().display()), b"", b'\n', "").is_err());
    }
}
