//! Names that some file system takes for `.gitmodules`. git refuses symlinks with such a name, because
//! it would read the file to which one leads.

use crate::RepoPath;
use crate::path::without_ignorable;

const NAME: &[u8] = b"gitmodules";

/// How the short names begin that NTFS makes of `.gitmodules` once simpler ones are taken.
const HASHED: &[u8] = b"gi7eba";

impl RepoPath {
    /// Returns whether a component of the path is taken for `.gitmodules` by some file system: in any
    /// letter case, with code points that HFS+ ignores, as a short name or with a stream of NTFS, also
    /// behind a backslash.
    #[must_use]
    pub fn names_gitmodules(&self) -> bool {
        self.as_bytes().split(|byte| *byte == b'/').any(|component| {
            without_ignorable(component).eq_ignore_ascii_case(".gitmodules")
                || component.split(|byte| *byte == b'\\').any(is_on_ntfs)
        })
    }
}

fn is_on_ntfs(name: &[u8]) -> bool {
    let name = name.split(|byte| *byte == b':').next().unwrap_or_default();
    let end = name.iter().rposition(|byte| !matches!(byte, b' ' | b'.')).map_or(0, |last| last + 1);
    let name = name[..end].to_ascii_lowercase();
    name.strip_prefix(b".").is_some_and(|rest| rest == NAME)
        || name.strip_prefix(&NAME[..6]).is_some_and(|rest| matches!(rest, [b'~', b'1'..=b'4']))
        || is_hashed(&name)
}

/// Returns whether a name is `gi7eba~1` and so on: eight bytes, of which the number has as many as it
/// needs.
fn is_hashed(name: &[u8]) -> bool {
    let Some(tilde) = name.iter().position(|byte| *byte == b'~') else { return false };
    let (begin, number) = (&name[..tilde], &name[tilde + 1..]);
    name.len() == 8
        && HASHED.starts_with(begin)
        && matches!(number, [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use crate::RepoPath;

    #[test]
    fn names_that_a_file_system_takes_for_it_are_known_and_others_are_not() {
        let names = |text: &str| RepoPath::new(text).is_some_and(|path| path.names_gitmodules());
        for name in [
            ".gitmodules",
            ".GITMODULES",
            "a/.gitmodules",
            ".gitmodules/x",
            ".gitmodules . ",
            ".gitmodules:stream",
            "gitmod~1",
            "GITMOD~4 .",
            "gi7eba~1",
            "gi7eb~99",
            "g~123456",
            ".git\u{200c}modules",
            "a\\.gitmodules",
        ] {
            assert!(names(name), "{name}");
        }
        for name in [
            "gitmodules",
            ".gitmodules2",
            "gitmod~5",
            "gitmod~0",
            "gi7eba~0",
            "gi7ebb~1",
            "gi7eba~10",
            ".gitignore",
            ".gitattributes",
            "~1234567x",
        ] {
            assert!(!names(name), "{name}");
        }
    }
}
