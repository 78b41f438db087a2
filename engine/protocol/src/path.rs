//! Paths inside a repository, as bytes, and the names of temporary files.

use std::ffi::OsStr;
use std::fmt;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::control_characters::is_unseen;

/// A path relative to the root of a repository: bytes with `/` between its components.
///
/// It is displayed unchanged if it is printable UTF-8, and otherwise quoted as git does, for
/// instance `"a\377b\n"` including the double quotes. It is serialized in the same form.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
pub struct RepoPath(#[schemars(with = "String")] Vec<u8>);

impl RepoPath {
    /// Returns the path, or `None` if it could lead out of the repository or into its `.git`: it
    /// must not be absolute or contain NUL, an empty component, `.`, `..` or a component that some
    /// file system treats as `.git`.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        let stays = !bytes.contains(&0) && bytes.split(|byte| *byte == b'/').all(is_plain);
        stays.then_some(Self(bytes))
    }

    /// Returns the bytes of the path.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path as a relative file system path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Returns the folders that contain this path, innermost first, without the root.
    pub fn folders(&self) -> impl Iterator<Item = RepoPath> + '_ {
        self.0.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/').map(|(end, _)| {
            // A prefix of a valid path that ends before a slash is a valid path.
            RepoPath(self.0[..end].to_vec())
        })
    }

    /// Returns whether this path lies below `folder`.
    #[must_use]
    pub fn is_below(&self, folder: &RepoPath) -> bool {
        self.0.strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'))
    }
}

/// Returns whether a component is an ordinary name. A name that some file system treats as `.git`
/// is not, as in git: `.git` in any letter case, with code points that HFS+ ignores, as an NTFS short
/// name or with an NTFS stream, also before or after a backslash, which NTFS takes for a slash.
fn is_plain(component: &[u8]) -> bool {
    if matches!(component, b"" | b"." | b"..") {
        return false;
    }
    !is_git_on_hfs(component) && !component.split(|byte| *byte == b'\\').any(is_git_on_ntfs)
}

/// Returns whether HFS+ takes a name for `.git`.
fn is_git_on_hfs(name: &[u8]) -> bool {
    without_ignorable(name).eq_ignore_ascii_case(".git")
}

/// Returns a name as HFS+ compares it. As in git, it ends where it is not UTF-8.
pub(crate) fn without_ignorable(name: &[u8]) -> String {
    let text = match std::str::from_utf8(name) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&name[..error.valid_up_to()]).unwrap_or_default(),
    };
    text.chars().filter(|letter| !is_ignorable(*letter)).collect()
}

/// Returns whether NTFS takes a name for `.git`, which has the short name `git~1`.
fn is_git_on_ntfs(name: &[u8]) -> bool {
    let name = name.split(|byte| *byte == b':').next().unwrap_or_default();
    let end = name.iter().rposition(|byte| !matches!(byte, b' ' | b'.')).map_or(0, |last| last + 1);
    name[..end].eq_ignore_ascii_case(b".git") || name[..end].eq_ignore_ascii_case(b"git~1")
}

/// Returns whether HFS+ ignores this code point when it compares names.
fn is_ignorable(letter: char) -> bool {
    matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&quote_path(&self.0))
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Quotes a path as git does: unchanged if every character is printable, and otherwise in double
/// quotes with C escapes and octal numbers.
#[must_use]
pub fn quote_path(bytes: &[u8]) -> String {
    let plain = std::str::from_utf8(bytes).ok().filter(|text| {
        !text.chars().any(|c| is_unseen(c) || matches!(c, '"' | '\\') || is_ignorable(c))
    });
    if let Some(text) = plain {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(char::from(*byte)),
            other => out.push_str(&format!("\\{other:03o}")),
        }
    }
    out.push('"');
    out
}

/// Reverses [`quote_path`].
fn unquoted(text: &str) -> Option<Vec<u8>> {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Some(text.as_bytes().to_vec());
    };
    let mut out = Vec::new();
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            high @ b'0'..=b'3' => {
                let (middle, low) = (bytes.next()?, bytes.next()?);
                let octal = |digit: u8| digit.checked_sub(b'0').filter(|value| *value < 8);
                octal(high)? * 64 + octal(middle)? * 8 + octal(low)?
            }
            other => other,
        });
    }
    Some(out)
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&quote_path(&self.0))
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        unquoted(&text)
            .and_then(RepoPath::new)
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not a path in a repository")))
    }
}

const TEMPORARY_PREFIX: &str = ".regatta-";
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Returns the name of a temporary file, which exists only while another file is written. `maker`
/// and `number` together have to be unique. A killed process may leave such a file behind. The
/// name marks the file as no work of a user or a task.
#[must_use]
pub fn temporary_name(maker: impl fmt::Display, number: impl fmt::Display) -> String {
    format!("{TEMPORARY_PREFIX}{maker}-{number}{TEMPORARY_SUFFIX}")
}

/// Returns whether this is the name of a temporary file.
#[must_use]
pub fn is_temporary_name(name: &[u8]) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX.as_bytes())
        .and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX.as_bytes()))
        .is_some_and(|middle| middle.contains(&b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_inside_and_out_of_git() {
        for bad in [
            "",
            "/a",
            "a//b",
            "../a",
            "a/..",
            "a/.",
            ".git",
            "a/.GIT/x",
            ".g\u{200c}it",
            "git~1",
            ".git::$DATA",
            ".git. /config",
            "a\\.git",
            ".Git\\config",
            "a/b\\GIT~1 .\\hooks",
            "\u{feff}.gi\u{202a}T",
        ] {
            assert_eq!(RepoPath::new(bad), None, "{bad}");
        }
        assert_eq!(RepoPath::new(b".git\xff".to_vec()), None);
        for good in [
            "a",
            "a/b",
            ".gitignore",
            "a b\n",
            "…",
            ".github/x",
            "a\\b",
            "git~2",
            "x.git",
            ".git~1",
        ] {
            assert!(RepoPath::new(good).is_some(), "{good}");
        }
        assert_eq!(RepoPath::new(b"a\0b".to_vec()), None);
    }

    #[test]
    fn a_path_reads_back_from_json_whatever_its_bytes() {
        for bytes in [
            &b"a/b"[..],
            b"sp ace",
            b"new\nline",
            b"quo\"te",
            b"back\\slash",
            b"\xff\x01",
            "ö".as_bytes(),
        ] {
            let path = RepoPath::new(bytes).unwrap();
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path, "{json}");
        }
    }

    #[test]
    fn the_folders_of_a_path_are_named_nearest_first() {
        let path = RepoPath::new("a/b/c").unwrap();
        let folders: Vec<_> = path.folders().map(|folder| folder.to_string()).collect();
        assert_eq!(folders, ["a/b", "a"]);
        assert!(path.is_below(&RepoPath::new("a").unwrap()));
        assert!(!path.is_below(&RepoPath::new("a/b/c").unwrap()));
    }

    #[test]
    fn temporary_files_are_known_by_their_names_and_no_others() {
        assert!(is_temporary_name(temporary_name("r7k3f", 3).as_bytes()));
        assert!(is_temporary_name(temporary_name(4711, 0).as_bytes()));
        for other in [".regatta", ".regatta-.tmp", ".regatta-a-1.tmp~", "x.regatta-a-1.tmp"] {
            assert!(!is_temporary_name(other.as_bytes()), "{other}");
        }
    }
}
