//! The limits of the text that a model is shown, and the formatting of paths and file names for it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use engine::ports::FileKind;
use protocol::{RepoPath, is_unseen};

/// How much of the beginning and of the end of a command's output is shown: at most 50 KB and 3000
/// lines together. The end gets more space because most errors are there.
pub(crate) const HEAD_BYTES: usize = 10 << 10;
pub(crate) const HEAD_LINES: usize = 600;
pub(crate) const TAIL_BYTES: usize = 40 << 10;
pub(crate) const TAIL_LINES: usize = 2400;

/// The lines and bytes of a file that one call shows at most, and the columns of one line.
pub(crate) const READ_LINES: u64 = 5000;
pub(crate) const READ_BYTES: usize = 128 << 10;
pub(crate) const READ_COLUMNS: usize = 4096;

/// How many bytes of a file are read at most, to find the requested lines and to count all lines.
pub(crate) const SCAN_BYTES: u64 = 256 << 20;

/// How many names of a folder are listed, and how many are read.
pub(crate) const LISTED_NAMES: usize = 500;
pub(crate) const SCANNED_NAMES: usize = 20_000;

/// The bytes of the output of a search, and the columns of one line in it.
pub(crate) const SEARCH_BYTES: usize = 50 << 10;
pub(crate) const SEARCH_COLUMNS: usize = 500;

/// The largest file that is edited or written.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 20;

/// How many bytes of a diff the model is shown, and how many the details of the call contain, which
/// programs read.
pub(crate) const DIFF_SHOWN: usize = 4 << 10;
pub(crate) const DIFF_KEPT: usize = 32 << 10;

/// How many bytes are kept of a model's reason why the task cannot be done.
pub(crate) const MAX_REASON: usize = 8 << 10;

/// How many bytes at the beginning of a file decide whether it is text.
pub(crate) const PROBE: usize = 8 << 10;

/// Returns whether a file with this beginning is binary.
pub(crate) fn is_binary(beginning: &[u8]) -> bool {
    beginning[..beginning.len().min(PROBE)].contains(&0)
}

/// Returns a line of a file with U+FFFD for each character that cannot be seen: what removes it later, or
/// obeys it, would show another line than the file has.
pub(crate) fn visible(line: &str) -> Cow<'_, str> {
    let is_shown = |letter: char| letter == '\t' || !is_unseen(letter);
    match line.chars().all(is_shown) {
        true => Cow::Borrowed(line),
        false => {
            let letters =
                line.chars().map(|letter| if is_shown(letter) { letter } else { '\u{fffd}' });
            Cow::Owned(letters.collect())
        }
    }
}

/// Does the same for a text of several lines.
pub(crate) fn visible_text(text: String) -> String {
    match text.split('\n').all(|line| matches!(visible(line), Cow::Borrowed(_))) {
        true => text,
        false => text.split('\n').map(visible).collect::<Vec<_>>().join("\n"),
    }
}

/// Returns the longest beginning of `text` of at most `bytes` bytes.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns the longest end of `text` of at most `bytes` bytes.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// Formats a path in the tree as git does: plain, or quoted if it is not printable.
pub(crate) fn path(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        return ".".to_owned();
    }
    let components = path.components().map(|part| name(part.as_os_str()));
    let plain = components.collect::<Vec<_>>().join("/");
    RepoPath::new(path.as_os_str().as_bytes()).map_or(plain, |path| path.to_string())
}

/// Returns the mark behind the name of an entry: `/` for a folder, `@` for a symlink.
pub(crate) fn kind_mark(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Folder => "/",
        FileKind::Symlink => "@",
        FileKind::Regular | FileKind::Special => "",
    }
}

/// Formats the name of a file as git does.
pub(crate) fn name(name: &OsStr) -> String {
    let escaped = || name.as_bytes().escape_ascii().to_string();
    RepoPath::new(name.as_bytes()).map_or_else(escaped, |name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!((head("aéb", 2), tail("aéb", 2)), ("a", "b"));
        assert_eq!((head("aéb", 9), tail("aéb", 9)), ("aéb", "aéb"));
        assert_eq!((head("日本", 0), tail("日本", 4)), ("", "本"));
    }

    #[test]
    fn names_that_cannot_be_printed_are_quoted_as_git_quotes_them() {
        assert_eq!(name(OsStr::from_bytes(b"a\xff\nb")), "\"a\\377\\nb\"");
        assert_eq!(name(OsStr::new("é x")), "é x");
        assert_eq!(name(OsStr::new(".git")), ".git");
        assert_eq!(path(Path::new("")), ".");
        assert_eq!(path(Path::new("a/.git/b")), "a/.git/b");
    }
}
