//! Merges three versions of a file's bytes.

use git2::{MergeFileInput, Oid};

use crate::error::{OrCannot, Result};

/// What became of three versions of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// They go together.
    Bytes(Vec<u8>),
    /// Two of them changed the same lines.
    SameLines,
    /// One of them has no lines.
    Binary,
}

/// Above this size a file is not merged line by line. Nobody reads such a file, and libgit2 counts
/// its lines in 32 bits.
const LARGEST: usize = 256 << 20;

/// Merges what `ours` and `theirs` made of `base`, line by line. Line breaks are part of a line, so
/// that those of a file stay as they are.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Merged> {
    // The whole content is asked, not only its beginning as git does: a file that turns binary
    // later on is not mended by lines either.
    if [base, ours, theirs].iter().any(|side| side.len() > LARGEST || side.contains(&0)) {
        return Ok(Merged::Binary);
    }
    if ours == theirs || base == theirs {
        return Ok(Merged::Bytes(ours.to_vec()));
    }
    if base == ours {
        return Ok(Merged::Bytes(theirs.to_vec()));
    }
    // One side took every line away, or both put lines where there were none. It must not reach
    // libgit2 either: a merge that comes to nothing has a null pointer for its content.
    if [base, ours, theirs].iter().any(|side| side.is_empty()) {
        return Ok(Merged::SameLines);
    }
    // `merge_file` relies on a libgit2 that is already set up; hashing sets it up.
    let _empty = Oid::hash_object(git2::ObjectType::Blob, b"").or_cannot(|| "set libgit2 up")?;
    let (mut first, mut second, mut third) =
        (MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new());
    let merged =
        git2::merge_file(first.content(base), second.content(ours), third.content(theirs), None)
            .or_cannot(|| "merge three versions of a file")?;
    if !merged.is_automergeable() {
        return Ok(Merged::SameLines);
    }
    Ok(Merged::Bytes(merged.content().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Merged {
        merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap()
    }

    fn bytes(text: &str) -> Merged {
        Merged::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn insertions_one_line_apart_go_together() {
        assert_eq!(merged("a\nb\nc\n", "a\n1\nb\nc\n", "a\nb\n2\nc\n"), bytes("a\n1\nb\n2\nc\n"));
    }

    #[test]
    fn the_same_line_rewritten_twice_does_not() {
        assert_eq!(merged("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n"), Merged::SameLines);
        assert_eq!(merged("a\n", "a\n1\n", "a\n2\n"), Merged::SameLines);
    }

    #[test]
    fn the_same_change_made_twice_is_made_once() {
        assert_eq!(merged("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n"), bytes("a\nX\nc\n"));
        assert_eq!(merged("a\n", "a\n1\n", "a\n1\n"), bytes("a\n1\n"));
    }

    #[test]
    fn line_breaks_stay_as_they_are() {
        let theirs = "1\r\n2\r\nthree\r\n";
        assert_eq!(
            merged("1\r\n2\r\n3\r\n", "one\r\n2\r\n3\r\n", theirs),
            bytes("one\r\n2\r\nthree\r\n")
        );
        assert_eq!(merged("1\n2\n3", "1\n2\n3\n4", "0\n1\n2\n3"), bytes("0\n1\n2\n3\n4"));
        assert_eq!(merged("1\n2\n3\n", "1\n2\n3", "0\n2\n3\n"), bytes("0\n2\n3"));
    }

    #[test]
    fn nothing_can_be_merged_into_everything() {
        assert_eq!(merged("a\nb\n", "", "a\nb\n"), bytes(""));
        assert_eq!(merged("", "", "x\n"), bytes("x\n"));
        assert_eq!(merged("a\nb\n", "", "a\nX\n"), Merged::SameLines);
    }

    #[test]
    fn bytes_without_lines_are_never_merged_wherever_the_nul_is() {
        let late = [vec![b'\n'; 9_000], vec![0]].concat();
        assert_eq!(merge(b"a\n", &late, b"b\n").unwrap(), Merged::Binary);
    }
}
