//! Merges three versions of one path: its kind, its mode and its bytes.

use git2::{MergeFileInput, Oid};
use protocol::ConflictReason;

use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::merge::Blobs;

/// Merges two changed versions of a path. If they conflict, nothing is written, and the reason is
/// returned.
pub(crate) fn three_way(
    blobs: &dyn Blobs,
    base: Option<Entry>,
    ours: Option<Entry>,
    theirs: Option<Entry>,
) -> Result<std::result::Result<Option<Entry>, ConflictReason>> {
    if ours == theirs || base == theirs {
        return Ok(Ok(ours));
    }
    if base == ours {
        return Ok(Ok(theirs));
    }
    match (base, ours, theirs) {
        (None, _, _) => Ok(Err(ConflictReason::BothAdded)),
        (Some(base), Some(ours), Some(theirs)) => three_entries(blobs, base, ours, theirs),
        (Some(_), _, _) => Ok(Err(ConflictReason::ChangedAndRemoved)),
    }
}

fn three_entries(
    blobs: &dyn Blobs,
    base: Entry,
    ours: Entry,
    theirs: Entry,
) -> Result<std::result::Result<Option<Entry>, ConflictReason>> {
    let links = [base, ours, theirs].iter().filter(|side| side.mode == Mode::Link).count();
    match links {
        0 => {}
        // A symlink's target is a single line, and both sides changed it.
        3 => return Ok(Err(ConflictReason::Content)),
        _ => return Ok(Err(ConflictReason::Kind)),
    }
    // A file has one of two modes. If both sides change the mode, they set the same one.
    let mode = if ours.mode == base.mode { theirs.mode } else { ours.mode };
    let merged = |oid| Ok(Ok(Some(Entry { mode, oid })));
    if base.oid == ours.oid || ours.oid == theirs.oid {
        return merged(theirs.oid);
    }
    if base.oid == theirs.oid {
        return merged(ours.oid);
    }
    let bytes = [blobs.read(base.oid)?, blobs.read(ours.oid)?, blobs.read(theirs.oid)?];
    match merge_bytes(&bytes[0], &bytes[1], &bytes[2])? {
        Merged::Bytes(bytes) => merged(blobs.write(&bytes)?),
        Merged::SameLines => Ok(Err(ConflictReason::Content)),
        Merged::Binary => Ok(Err(ConflictReason::Binary)),
    }
}

/// The result of merging the content of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// The merged content.
    Bytes(Vec<u8>),
    /// Both sides changed the same lines.
    SameLines,
    /// One version is binary.
    Binary,
}

/// The size above which a file is not merged line by line. libgit2 counts lines in 32 bits.
const LARGEST: usize = 256 << 20;

/// Merges two changed versions line by line. Line endings are part of a line, so that they stay as
/// they are.
fn merge_bytes(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Merged> {
    // The whole content is checked, not only its beginning as in git: a file that is binary further
    // on cannot be merged by lines either.
    if [base, ours, theirs].iter().any(|side| side.len() > LARGEST || side.contains(&0)) {
        return Ok(Merged::Binary);
    }
    if ours == theirs || base == theirs {
        return Ok(Merged::Bytes(ours.to_vec()));
    }
    if base == ours {
        return Ok(Merged::Bytes(theirs.to_vec()));
    }
    // One side removed every line, or both added lines to an empty file. libgit2 must not merge
    // such versions: it returns a null pointer as the content of an empty merge.
    if [base, ours, theirs].iter().any(|side| side.is_empty()) {
        return Ok(Merged::SameLines);
    }
    // `merge_file` needs an initialized libgit2; hashing initializes it.
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
        merge_bytes(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).unwrap()
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
        assert_eq!(merge_bytes(b"a\n", &late, b"b\n").unwrap(), Merged::Binary);
    }
}
