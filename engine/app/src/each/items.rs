//! The items of `--each`: where they are read from, and the parts of each.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use protocol::{Item, NotUtf8, RepoPath, without_bom};

use crate::error::{Error, ErrorKind};

/// The kind of an item, which decides whether `./` may be put before the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A text that may name a file. It gets a `./` if a program would take it for an option.
    Path,
    /// A word of the command line, which stays as it is.
    Word,
}

/// Returns an item with its parts.
pub(super) fn item_with_parts(text: String, naming: ItemKind) -> Item {
    let whole = text.trim_end_matches('/');
    let (dir, name) = match whole.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((dir, name)) => (dir, name),
        None => (".", whole),
    };
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    let (stem, dir) =
        (with_dot_slash(stem.to_owned(), naming), with_dot_slash(dir.to_owned(), naming));
    Item { item: with_dot_slash(text, naming), stem, dir }
}

/// Puts `./` before a path that a program would take for an option.
fn with_dot_slash(text: String, naming: ItemKind) -> String {
    if naming == ItemKind::Path && text.starts_with('-') { format!("./{text}") } else { text }
}

/// Returns whether a shell takes a text literally, both unquoted and in every kind of quotes.
pub(super) fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./,:=@%+-".contains(&byte);
    !text.is_empty() && text.bytes().all(plain)
}

/// Returns the title of a task from a text: one line of limited length.
pub fn title_of(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line: String = text
        .trim()
        .chars()
        .take(LONGEST)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if text.trim().chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

/// Returns the title of a task from the first line of a text that is not blank.
pub fn first_line_title(text: &str) -> String {
    title_of(text.trim().lines().next().unwrap_or_default())
}

/// Lists the tracked files of the repository on demand.
pub type TrackedFiles<'a> = &'a dyn Fn() -> Result<Vec<RepoPath>, Error>;

/// The longest list, in bytes.
const LONGEST_LIST: u64 = 64 << 20;

/// The longest item, in bytes. It is passed in the environment of a process, where Linux allows
/// 128 KiB for one variable.
const LONGEST_ITEM: usize = 64 << 10;

/// The maximum length of a glob, and the maximum number of braces in it. Each alternative in braces
/// is compiled.
const LONGEST_PATTERN: usize = 4096;
const MOST_BRACES: usize = 50;

/// The most items of a run.
const MOST_ITEMS: usize = 1_000_000;

/// The source of items: the value of `--each`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemSource {
    /// The tracked files that match a glob.
    Glob(String),
    /// The lines of a file.
    List(PathBuf),
    /// The lines of standard input.
    Standard,
}

/// The inputs from which items are read.
pub struct ItemInput<'a> {
    /// Standard input.
    pub standard: &'a mut dyn Read,
    /// The tracked files of the repository.
    pub tracked: TrackedFiles<'a>,
    /// The folder below the root in which tasks work; empty for the root.
    pub subfolder: &'a Path,
    /// The byte that ends an item of a list.
    pub end: u8,
}

impl ItemSource {
    /// Parses the value of `--each`.
    pub fn parse(spec: &str) -> Self {
        match (spec, spec.strip_prefix('@')) {
            // The second is how curl spells it.
            ("-" | "@-", _) => Self::Standard,
            (_, Some(path)) => Self::List(path.into()),
            (glob, None) => Self::Glob(glob.to_owned()),
        }
    }

    /// Returns the items, at least one.
    ///
    /// # Errors
    /// The source cannot be read, an item cannot be passed to a command, or there are no items.
    pub fn items(&self, input: ItemInput<'_>) -> Result<Vec<String>, Error> {
        let (tracked, subfolder) = (input.tracked, input.subfolder);
        let items = match self {
            Self::Glob(glob) => matching(glob, &input)?,
            Self::List(path) => {
                let list = format!("the list {}", path.display());
                let mut file = File::open(path).map_err(|error| unreadable(&list, &error))?;
                lines(&mut file, &list, input.end)?
            }
            Self::Standard => lines(input.standard, "standard input", input.end)?,
        };
        if items.is_empty() {
            return Err(self.empty(tracked, subfolder));
        }
        if items.len() > MOST_ITEMS {
            let what = format!("{} items are more than {MOST_ITEMS}", items.len());
            return Err(Error::new(ErrorKind::Plan, what).hint("several runs, one after the other"));
        }
        Ok(items)
    }

    fn empty(&self, tracked: TrackedFiles<'_>, subfolder: &Path) -> Error {
        let none = |what: String| Error::new(ErrorKind::NoItems, what);
        match self {
            Self::Glob(glob) => none(format!("--each '{glob}' matches no tracked file"))
                .because("it matches only files that git tracks, below the folder of --repo")
                .hint(if is_folder(glob, tracked, subfolder) {
                    format!("--each '{}/**'", glob.trim_end_matches('/'))
                } else if !glob.contains('/') && is_deeper(glob, tracked, subfolder) {
                    format!("--each '**/{glob}' (in all folders)")
                } else {
                    "git ls-files (lists what is tracked)".to_owned()
                }),
            Self::List(path) => none(format!("the list {} has no items", path.display())),
            Self::Standard => none("standard input has no items".to_owned()),
        }
    }
}

/// Returns whether a glob is the path of a folder with tracked files.
fn is_folder(glob: &str, tracked: TrackedFiles<'_>, subfolder: &Path) -> bool {
    let folder = subfolder.join(glob.strip_prefix("./").unwrap_or(glob));
    tracked().is_ok_and(|paths| paths.iter().any(|path| path.as_path().starts_with(&folder)))
}

/// Returns whether a glob that matches no file of the folder matches one in a folder below.
fn is_deeper(glob: &str, tracked: TrackedFiles<'_>, subfolder: &Path) -> bool {
    let (standard, end) = (&mut std::io::empty(), b'\n');
    let input = ItemInput { tracked, subfolder, standard, end };
    matching(&format!("**/{glob}"), &input).is_ok_and(|found| !found.is_empty())
}

fn matching(glob: &str, input: &ItemInput<'_>) -> Result<Vec<String>, Error> {
    let pattern = glob.strip_prefix("./").unwrap_or(glob);
    let braces = pattern.bytes().filter(|byte| *byte == b'{').count();
    if pattern.len() > LONGEST_PATTERN || braces > MOST_BRACES {
        return Err(Error::usage("the pattern of --each is too long")
            .because(format!("it may have {LONGEST_PATTERN} bytes and {MOST_BRACES} braces"))
            .hint("regatta run --each @FILE (a file with the names)"));
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
            let item = item_of(below.as_bytes().to_vec(), || format!("the item {path}"));
            items.push(
                item.map_err(|error| error.hint("a pattern that leaves it out, or rename it"))?,
            );
        }
    }
    Ok(items)
}

/// Returns a path relative to a folder that contains it.
fn relative(path: &RepoPath, folder: Option<&RepoPath>) -> Option<RepoPath> {
    let Some(folder) = folder else { return Some(path.clone()) };
    let below = path.as_bytes().strip_prefix(folder.as_bytes())?.strip_prefix(b"/")?;
    RepoPath::new(below)
}

fn unreadable(list: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Plan, format!("cannot read {list}")).caused_by(error)
}

/// Returns the items of a list, whose name is for errors.
fn lines(from: &mut dyn Read, list: &str, end: u8) -> Result<Vec<String>, Error> {
    let mut bytes = Vec::new();
    from.take(LONGEST_LIST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(list, &error))?;
    // Where NUL ends the items, each may be one letter.
    let utf16 = (end == b'\n').then(|| NotUtf8::utf16(&bytes)).flatten();
    let why = match utf16 {
        _ if bytes.len() as u64 > LONGEST_LIST => {
            Some(format!("it is longer than {} MiB", LONGEST_LIST >> 20))
        }
        not_utf8 => not_utf8.map(|error| format!("it is {}", error.what)),
    };
    if let Some(why) = why {
        return Err(Error::new(ErrorKind::Plan, format!("cannot read {list}")).because(why));
    }
    let mut items = Vec::new();
    for (at, line) in without_bom(&bytes).split(|byte| *byte == end).enumerate() {
        let line = if end == b'\n' { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        if !line.is_empty() {
            let place = if end == b'\n' { "line" } else { "item" };
            items.push(item_of(line.to_vec(), || format!("{place} {} of {list}", at + 1))?);
        }
    }
    Ok(items)
}

/// Converts bytes to an item. `name` returns the name of the item for an error.
fn item_of(bytes: Vec<u8>, name: impl Fn() -> String) -> Result<String, Error> {
    let refused = |why: &str| {
        Error::new(ErrorKind::Plan, format!("{} cannot be given to a task", name())).because(why)
    };
    if bytes.len() > LONGEST_ITEM {
        return Err(refused("it is longer than 64 KiB"));
    }
    if bytes.contains(&0) {
        return Err(refused("it contains a NUL byte").hint("--null (if NUL ends the items)"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to() + 1;
        refused(&format!("it is not UTF-8 (its byte {byte})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, naming: ItemKind) -> (String, String, String) {
        let Item { item, stem, dir } = item_with_parts(text.to_owned(), naming);
        (item, stem, dir)
    }

    #[test]
    fn an_item_has_a_stem_and_a_folder() {
        let parts = |text| parts(text, ItemKind::Path);
        let owned = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(parts("src/a/mod.rs"), owned("src/a/mod.rs", "mod", "src/a"));
        assert_eq!(parts("a.tar.gz"), owned("a.tar.gz", "a.tar", "."));
        assert_eq!(parts(".bashrc"), owned(".bashrc", ".bashrc", "."));
        assert_eq!(parts("src/"), owned("src/", "src", "."));
        assert_eq!(parts("/etc"), owned("/etc", "etc", "/"));
        assert_eq!(parts("/"), owned("/", "", "."));
        assert_eq!(parts("fix the tests"), owned("fix the tests", "fix the tests", "."));
    }

    #[test]
    fn no_part_of_a_path_looks_like_an_option_but_a_word_stays_as_typed() {
        assert_eq!(parts("-rf.c", ItemKind::Path).0, "./-rf.c");
        assert_eq!(parts("-d/-rf.c", ItemKind::Path).1, "./-rf");
        assert_eq!(parts("-d/-rf.c", ItemKind::Path).2, "./-d");
        assert_eq!(parts("-5", ItemKind::Word).0, "-5");
    }

    #[test]
    fn only_what_every_shell_reads_as_itself_is_plain() {
        assert!(is_plain("src/a_b-c.d,e:f=g@h%i+j/0"));
        for odd in ["", "a b", "a'b", "a\"b", "$a", "`a`", "a\nb", "a\\b", "*", "~a", "ä", "a;b"] {
            assert!(!is_plain(odd), "{odd}");
        }
    }

    #[test]
    fn a_line_in_a_list_is_one_line_and_not_a_long_one() {
        assert_eq!(title_of(" a\nb\u{1b}[2J "), "a b [2J");
        assert_eq!(title_of(&"ä".repeat(300)).chars().count(), 121);
        assert_eq!(first_line_title("\n\n Fix it. \nAll of it."), "Fix it.");
        assert_eq!(first_line_title(" "), "");
    }

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
        ItemSource::parse(spec).items(ItemInput {
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
            "error: --each '*.go' matches no tracked file\n  because it matches only files that \
             git tracks, below the folder of --repo\n  try: git ls-files (lists what is tracked)"
        );
        let deeper = items("?.py", b"", b'\n', "").unwrap_err();
        assert_eq!(deeper.hints, ["--each '**/?.py' (in all folders)"]);
        for folder in ["src", "src/", "./src"] {
            let error = items(folder, b"", b'\n', "").unwrap_err();
            assert_eq!(error.hints, [format!("--each '{}/**'", folder.trim_end_matches('/'))]);
        }
        assert_eq!(items("deep", b"", b'\n', "src").unwrap_err().hints, ["--each 'deep/**'"]);
        assert!(items("src/[", b"", b'\n', "").unwrap_err().to_string().contains("not a pattern"));
        let deep = format!("{}{}", "{".repeat(300), "}".repeat(300));
        let error = items(&deep, b"", b'\n', "").unwrap_err().to_string();
        assert!(error.contains("is too long"), "{error}");
    }

    #[test]
    fn a_name_that_is_not_utf8_is_named() {
        let error = items("odd/*", b"", b'\n', "").unwrap_err();
        assert_eq!(error.what, "the item \"odd/\\377.txt\" cannot be given to a task");
        assert_eq!(error.because, ["it is not UTF-8 (its byte 5)"]);
        assert_eq!(error.hints, ["a pattern that leaves it out, or rename it"]);
    }

    #[test]
    fn a_list_has_an_item_per_line_or_per_nul() {
        assert_eq!(items("-", b"a b\r\n\nc\n", b'\n', "").unwrap(), ["a b", "c"]);
        assert_eq!(items("@-", b"a\n", b'\n', "").unwrap(), ["a"]);
        assert_eq!(items("-", b"\xef\xbb\xbfa\r\nb", b'\n', "").unwrap(), ["a", "b"]);
        let latin = items("-", b"a\n\nb\xe4\n", b'\n', "").unwrap_err();
        assert_eq!(latin.what, "line 3 of standard input cannot be given to a task");
        assert_eq!(latin.because, ["it is not UTF-8 (its byte 2)"]);
        let latin = items("-", b"a\0b\xe4\0", 0, "").unwrap_err().to_string();
        assert!(latin.contains("item 2 of standard input"), "{latin}");
        assert_eq!(items("-", b"a\nb\0\0c\0", 0, "").unwrap(), ["a\nb", "c"]);
        assert!(items("-", b"\n\n", b'\n', "").is_err());
        let error = items("-", b"a\0b", b'\n', "").unwrap_err().to_string();
        assert!(error.contains("line 1 of") && error.contains("--null"), "{error}");
        assert!(items("-", &vec![b'a'; 70_000], b'\n', "").is_err());
        for (bytes, told) in [
            (&b"\xff\xfea\0\n\0"[..], "it is UTF-16, and not UTF-8; `iconv -f UTF-16 "),
            (b"a\0.\0g\0o\0\n\0", "it is UTF-16 without a byte order mark, and"),
        ] {
            let wide = items("-", bytes, b'\n', "").unwrap_err();
            assert_eq!(wide.what, "cannot read standard input");
            assert!(wide.because[0].starts_with(told) && wide.hints.is_empty(), "{wide}");
        }
        assert_eq!(items("-", b"a\0b\0", 0, "").unwrap(), ["a", "b"]);
    }

    #[test]
    fn a_list_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        std::fs::write(&path, "one\ntwo").unwrap();
        assert_eq!(items(&format!("@{}", path.display()), b"", b'\n', "").unwrap(), ["one", "two"]);
        std::fs::write(&path, b"one\r\nt\xe4\r\n").unwrap();
        let latin = items(&format!("@{}", path.display()), b"", b'\n', "").unwrap_err().to_string();
        let named = format!("error: line 2 of the list {} cannot be given", path.display());
        assert!(latin.starts_with(&named), "{latin}");
        let error = items("@/nowhere/list", b"", b'\n', "").unwrap_err();
        assert_eq!((&*error.what, error.because.len()), ("cannot read the list /nowhere/list", 1));
        assert!(items(&format!("@{}", folder.path().display()), b"", b'\n', "").is_err());
    }
}
