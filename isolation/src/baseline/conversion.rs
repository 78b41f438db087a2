//! What git does to a blob when it checks it out, and the bytes of files that the user's tree no
//! longer has: of their blobs, with other line ends where the file had them.

use git2::{AttrCheckFlags, AttrValue, Config, Oid, Repository};
use protocol::RepoPath;

use crate::baseline::{ContentLocation, FrozenEntry};
use crate::entry::Mode;
use crate::error::{OrCannot, Result, cannot};

/// What happens to a blob on its way into the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// Nothing.
    None,
    /// Something libgit2 does itself.
    BuiltIn,
    /// Something a program would have to do; this attribute says so.
    Program(String),
}

/// Returns the bytes of a clean file that the working tree no longer has: those of its blob.
pub(super) fn restored(
    git: &Repository,
    path: &RepoPath,
    blob: Oid,
    frozen: &FrozenEntry,
) -> Result<Vec<u8>> {
    let what = || format!("restore {path} as it was");
    let found = git.find_blob(blob).or_cannot(what)?;
    if let ContentLocation::Crlf(_) = frozen.source {
        return Ok(with_crlf(found.content()));
    }
    let conversion = match frozen.mode {
        Mode::Link => Conversion::None,
        Mode::File | Mode::Executable => conversion(git, path).or_cannot(what)?,
    };
    match conversion {
        // A file that had other bytes than its blob is pinned.
        Conversion::None | Conversion::BuiltIn => Ok(found.content().to_vec()),
        Conversion::Program(attribute) => Err(cannot(
            what(),
            format!("it has changed since the run began, and {attribute} names a program"),
        )),
    }
}

/// Returns what happens to the bytes at `path` on their way in and out.
pub(crate) fn conversion(
    git: &Repository,
    path: &RepoPath,
) -> std::result::Result<Conversion, git2::Error> {
    let value = |name: &str| -> std::result::Result<Option<String>, git2::Error> {
        let bytes = git.get_attr_bytes(path.as_path(), name, AttrCheckFlags::FILE_THEN_INDEX)?;
        Ok(match AttrValue::from_bytes(bytes) {
            AttrValue::True => Some("true".to_owned()),
            AttrValue::String(text) => Some(text.to_owned()),
            AttrValue::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            AttrValue::False | AttrValue::Unspecified => None,
        })
    };
    for name in ["filter", "working-tree-encoding"] {
        if let Some(value) = value(name)? {
            return Ok(Conversion::Program(format!("{name}={value}")));
        }
    }
    for name in ["text", "eol", "crlf", "ident"] {
        if value(name)?.is_some() {
            return Ok(Conversion::BuiltIn);
        }
    }
    let automatic = is_automatic(&git.config()?.snapshot()?);
    Ok(if automatic { Conversion::BuiltIn } else { Conversion::None })
}

/// Returns whether line ends are converted without attributes: `true`, and `input`, which converts
/// on the way in only.
pub(super) fn is_automatic(config: &Config) -> bool {
    config.get_str("core.autocrlf").is_ok_and(|value| value != "false")
}

/// Returns a text whose lines all end with CRLF with LF instead; nothing for any other.
pub(super) fn without_crlf(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut unix = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                unix.extend_from_slice(line.strip_suffix(b"\r")?);
                unix.push(b'\n');
            }
            None => unix.extend_from_slice(line),
        }
    }
    Some(unix)
}

/// The reverse of [`without_crlf`].
fn with_crlf(unix: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(unix.len() + unix.len() / 16);
    for byte in unix.iter().copied() {
        if byte == b'\n' {
            bytes.push(b'\r');
        }
        bytes.push(byte);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_whose_lines_all_end_with_crlf_can_do_without_it() {
        for (text, unix) in [
            ("a\r\nb\r\n", Some("a\nb\n")),
            ("a\r\n\r\nb", Some("a\n\nb")),
            ("a\rb\r\r\n\0\r", Some("a\rb\r\n\0\r")),
            ("a", Some("a")),
            ("", Some("")),
            ("a\n", None),
            ("a\r\nb\n", None),
        ] {
            assert_eq!(
                without_crlf(text.as_bytes()).as_deref(),
                unix.map(str::as_bytes),
                "{text:?}"
            );
            if let Some(unix) = unix {
                assert_eq!(with_crlf(unix.as_bytes()), text.as_bytes());
            }
        }
    }
}
