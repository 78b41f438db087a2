//! Context files: the notes for agents of the user and of the repository.

use std::path::{Component, Path, PathBuf};

use protocol::{DecodedText, ForeignBytes};
use serde::Serialize;

/// The total size of context files that a model gets, in bytes.
pub const CONTEXT_FILE_LIMIT: usize = 64 * 1024;

/// The names of context files. In each folder the first that exists counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// One context file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextFile {
    /// Its path as the model sees it.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A context file as it was read: its path as the model sees it, and the beginning of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextBytes {
    /// The path.
    pub path: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The context files of one session or run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextFiles {
    /// The files, the most general first.
    pub files: Vec<ContextFile>,
    /// The files that the model gets only a part of, or nothing.
    pub cut: Vec<String>,
    /// The files with bytes that are not text in their encoding.
    pub foreign: Vec<(String, ForeignBytes)>,
    size: usize,
}

impl ContextFiles {
    /// Adds a file. What is beyond the limit is cut.
    pub fn add(&mut self, file: ContextBytes) {
        let mut bytes = file.bytes;
        if bytes.len() > CONTEXT_FILE_LIMIT {
            bytes.truncate(end_of_character(&bytes));
        }
        let DecodedText { text, foreign } = DecodedText::of(bytes);
        let text = text.trim();
        let path: String = file.path.chars().filter(|letter| !letter.is_control()).collect();
        self.foreign.extend(foreign.map(|bytes| (path.clone(), bytes)));
        let room = CONTEXT_FILE_LIMIT - self.size;
        let kept = &text[..text.floor_char_boundary(room)];
        self.size += kept.len();
        let mut text = text.to_owned();
        if kept.len() < text.len() {
            text.truncate(kept.len());
            text.push_str("\n[The rest is left out: context files have 64 KB in all.]");
            self.cut.push(path.clone());
        }
        if !text.is_empty() {
            self.files.push(ContextFile { path, text });
        }
    }
}

/// Returns the length of bytes without the character that they end in the middle of.
fn end_of_character(bytes: &[u8]) -> usize {
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes {
        let even = bytes.len() & !1;
        let high = even - if bytes[0] == 0xff { 1 } else { 2 };
        // The first half of a pair.
        return if matches!(bytes[high], 0xd8..=0xdb) { even - 2 } else { even };
    }
    let is_cut = |end: &usize| {
        std::str::from_utf8(&bytes[*end..]).is_err_and(|error| error.error_len().is_none())
    };
    let last = bytes.len().saturating_sub(3)..bytes.len();
    last.into_iter().find(is_cut).unwrap_or(bytes.len())
}

/// Returns the paths at which context files may be, from the root of a tree to the folder
/// `subfolder` in it. Of the two paths in each folder the first that exists counts.
#[must_use]
pub fn context_file_paths(subfolder: &Path) -> Vec<[PathBuf; 2]> {
    let mut folder = PathBuf::new();
    let mut paths = vec![NAMES.map(PathBuf::from)];
    for part in subfolder.components() {
        if let Component::Normal(name) = part {
            folder.push(name);
            paths.push(NAMES.map(|name| folder.join(name)));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn collected(tree: &[(&str, &str)], subfolder: &str) -> ContextFiles {
        let tree: BTreeMap<_, _> =
            tree.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
        let mut files = ContextFiles::default();
        for paths in context_file_paths(Path::new(subfolder)) {
            if let Some(path) = paths.iter().find(|path| tree.contains_key(path.as_path())) {
                files.add(file(&path.to_string_lossy(), tree[path.as_path()].as_bytes()));
            }
        }
        files
    }

    fn file(path: &str, bytes: &[u8]) -> ContextBytes {
        ContextBytes { path: path.to_owned(), bytes: bytes.to_vec() }
    }

    fn pairs(files: &ContextFiles) -> Vec<(&str, &str)> {
        files.files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect()
    }

    #[test]
    fn each_folder_down_to_that_of_the_session_has_one_file_agents_before_claude() {
        let tree = [
            ("AGENTS.md", "root\n"),
            ("CLAUDE.md", "not this one"),
            ("a/CLAUDE.md", "in a"),
            ("a/b/AGENTS.md", "in b"),
            ("c/AGENTS.md", "beside"),
        ];
        let expected = [("AGENTS.md", "root"), ("a/CLAUDE.md", "in a"), ("a/b/AGENTS.md", "in b")];
        assert_eq!(pairs(&collected(&tree, "a/b")), expected);
        assert_eq!(pairs(&collected(&tree, "")), expected[..1]);
        assert_eq!(pairs(&collected(&tree, "../c")), [expected[0], ("c/AGENTS.md", "beside")]);
    }

    #[test]
    fn there_are_64_kilobytes_for_all_files_and_what_is_cut_is_told() {
        let (large, tail) = ("ä".repeat(20_000), "b".repeat(40_000));
        let files = collected(
            &[("AGENTS.md", &large), ("a/AGENTS.md", &tail), ("a/b/AGENTS.md", "c")],
            "a/b",
        );
        assert_eq!(files.cut, ["a/AGENTS.md", "a/b/AGENTS.md"]);
        let sizes: Vec<_> = files.files.iter().map(|file| file.text.len()).collect();
        let notice = "\n[The rest is left out: context files have 64 KB in all.]".len();
        assert_eq!(sizes, [40_000, CONTEXT_FILE_LIMIT - 40_000 + notice, notice]);
        assert!(files.files[1].text.ends_with("64 KB in all.]"));
        let cut_character = collected(&[("AGENTS.md", &format!("a{}", "ä".repeat(40_000)))], "");
        assert!(cut_character.files[0].text.starts_with("aä"));
    }

    #[test]
    fn what_is_empty_or_no_text_is_no_trouble() {
        assert_eq!(pairs(&collected(&[("AGENTS.md", " \n")], "")), []);
        let mut files = ContextFiles::default();
        files.add(file("A\u{1b}[2J.md", b"\xff a"));
        files.add(file("B.md", b"\xef\xbb\xbfb\r\nc"));
        files.add(file("C.md", b"\xff\xfed\0"));
        assert_eq!(pairs(&files), [("A[2J.md", "ÿ a"), ("B.md", "b\r\nc"), ("C.md", "d")]);
        assert_eq!(files.foreign, [("A[2J.md".to_owned(), ForeignBytes::Windows1252(1))]);
        // A file of which only the beginning was read ends anywhere.
        for end in 0..4 {
            let mut files = ContextFiles::default();
            let long = "🚀".repeat(CONTEXT_FILE_LIMIT / 4 + 1);
            files.add(file("A.md", &long.as_bytes()[..CONTEXT_FILE_LIMIT + end]));
            assert_eq!(files.foreign, [], "{end}");
            let units = "a🚀".repeat(CONTEXT_FILE_LIMIT / 4);
            for unit in [u16::to_le_bytes, u16::to_be_bytes] {
                let bytes = [0xfeff].into_iter().chain(units.encode_utf16()).flat_map(unit);
                let beginning: Vec<u8> = bytes.take(CONTEXT_FILE_LIMIT + end).collect();
                files.add(file("B.md", &beginning));
                assert_eq!(files.foreign, [], "{end}");
            }
        }
    }
}
