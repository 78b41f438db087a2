//! The names of the folders of sessions: of the path of the working folder. A name is never too long for
//! a file system.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The longest name that is made of a text alone, in bytes.
const LONGEST: usize = 200;

/// The longest name that file systems take, in bytes.
const LONGEST_OF_FILES: usize = 255;

/// How many digits of a hash are in a name.
const DIGITS: usize = 12;

/// The folders in which the sessions of a working folder may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FolderNames {
    /// The one for new sessions.
    pub(super) own: String,
    /// The one for new sessions if the first is taken by another working folder, or one in which earlier
    /// versions of this program have put them.
    pub(super) other: Option<String>,
}

impl FolderNames {
    /// Returns the names for the working folder `cwd`: its path with `-` for each `/` and `:`, and the
    /// same with a hash of the path.
    pub(super) fn of(cwd: &Path) -> Self {
        let path = cwd.to_string_lossy();
        let name = path.trim_start_matches('/').replace(['/', '\\', ':'], "-");
        let plain = format!("--{name}--");
        let room = LONGEST - "----".len();
        let hashed = format!("--{}--", with_hash(&name, room, cwd.as_os_str().as_bytes()));
        if cwd.to_str().is_none() {
            // The header cannot hold the path, so that only the hash knows the folder.
            return Self { own: hashed, other: None };
        }
        if plain.len() <= LONGEST {
            return Self { own: plain, other: Some(hashed) };
        }
        Self { own: hashed, other: Some(plain).filter(|plain| plain.len() <= LONGEST_OF_FILES) }
    }
}

/// Returns `name`, or its end and a hash of it if it is too long for the name of a file.
pub(super) fn bounded(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    with_hash(name, LONGEST, name.as_bytes())
}

/// Returns the end of `name` and a hash of `whole`, in `room` bytes.
fn with_hash(name: &str, room: usize, whole: &[u8]) -> String {
    let mut begin = name.len().saturating_sub(room - DIGITS - 1);
    while !name.is_char_boundary(begin) {
        begin += 1;
    }
    let digest = Sha256::digest(whole);
    let digits: String = digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digits}", &name[begin..])
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn names(path: &str) -> (String, Option<String>) {
        let FolderNames { own, other } = FolderNames::of(Path::new(path));
        (own, other)
    }

    #[test]
    fn a_name_is_the_path_and_a_long_one_its_end_with_a_hash() {
        let (own, other) = names("/a/b:c");
        assert_eq!(own, "--a-b-c--");
        assert_eq!(other.as_deref(), Some("--a-b-c-ecd162a24492--"));
        assert_eq!(names("/a-b-c").0, own);
        assert_ne!(names("/a-b-c").1, other);

        let of_length = |length: usize| format!("/{}", "ä/".repeat(length / 3 + 1));
        for length in [190, 210, 250, 260, 4_000] {
            let path = &of_length(length)[..=length - length % 3];
            let plain = format!("--{}--", path.trim_start_matches('/').replace('/', "-"));
            let (own, other) = names(path);
            assert!(own.len() <= LONGEST && own.ends_with("--"), "{length}: {own}");
            assert_eq!(own == plain, plain.len() <= LONGEST, "{length}: {own}");
            let has_plain = own == plain || other.as_ref() == Some(&plain);
            assert_eq!(has_plain, plain.len() <= LONGEST_OF_FILES, "{length}: {other:?}");
            let longer = names(&format!("/x{path}")).0;
            assert_ne!(own, longer, "{length}");
        }
    }

    #[test]
    fn paths_that_json_cannot_hold_have_names_of_their_own() {
        let of = |path: &[u8]| FolderNames::of(Path::new(OsStr::from_bytes(path)));
        let (one, other) = (of(b"/a\xff"), of(b"/a\xfe"));
        assert_ne!(one.own, other.own);
        assert_eq!((one.other, other.other), (None, None));
    }
}
