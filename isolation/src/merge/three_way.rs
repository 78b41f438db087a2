//! Merges three versions of one path: its kind, its mode and its bytes.

use protocol::ConflictReason;

use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::merge::Blobs;
use crate::merge::text::{Budget, Favor, Refinement, TextMerge, merge_text};

/// How the lines of a file are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MergeRule {
    /// Line by line; the same lines changed twice are a conflict.
    #[default]
    Text,
    /// Line by line; of the same lines changed twice, both versions are kept, ours first.
    Union,
    /// Not at all: any two changes are a conflict.
    Binary,
}

/// The merged version of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MergedEntry {
    /// The entry; `None` if the path is removed.
    pub(crate) entry: Option<Entry>,
    /// Whether both sides' versions of the same lines were kept.
    pub(crate) joined: Joined,
}

/// Whether a file has both sides' versions of the same lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// It was joined under [`MergeRule::Union`]; any other rule would have made it a conflict.
    Union,
    /// It has no such lines.
    No,
}

impl MergedEntry {
    fn of(entry: Option<Entry>) -> Self {
        Self { entry, joined: Joined::No }
    }
}

/// Merges two changed versions of a path. If they conflict, nothing is written, and the reason is
/// returned.
pub(crate) fn three_way(
    blobs: &dyn Blobs,
    rule: &dyn Fn() -> Result<MergeRule>,
    base: Option<Entry>,
    ours: Option<Entry>,
    theirs: Option<Entry>,
) -> Result<std::result::Result<MergedEntry, ConflictReason>> {
    if ours == theirs || base == theirs {
        return Ok(Ok(MergedEntry::of(ours)));
    }
    if base == ours {
        return Ok(Ok(MergedEntry::of(theirs)));
    }
    match (base, ours, theirs) {
        (None, Some(ours), Some(theirs)) => both_added(blobs, rule, ours, theirs),
        (Some(base), Some(ours), Some(theirs)) => three_entries(blobs, rule, base, ours, theirs),
        (_, _, _) => Ok(Err(ConflictReason::ChangedAndRemoved)),
    }
}

/// Merges two new files of one path as changes of an empty one.
fn both_added(
    blobs: &dyn Blobs,
    rule: &dyn Fn() -> Result<MergeRule>,
    ours: Entry,
    theirs: Entry,
) -> Result<std::result::Result<MergedEntry, ConflictReason>> {
    if ours.mode != theirs.mode || ours.mode == Mode::Link {
        let same_content = ours.oid == theirs.oid;
        let files = ours.mode != Mode::Link && theirs.mode != Mode::Link;
        let reason =
            if same_content && files { ConflictReason::Mode } else { ConflictReason::BothAdded };
        return Ok(Err(reason));
    }
    let texts = [Vec::new(), blobs.read(ours.oid)?, blobs.read(theirs.oid)?];
    Ok(match merge_bytes(&texts, rule()?) {
        Merged::Bytes(bytes, joined) => {
            Ok(MergedEntry { entry: Some(Entry { oid: blobs.write(&bytes)?, ..ours }), joined })
        }
        Merged::SameLines | Merged::Binary | Merged::TooLarge => Err(ConflictReason::BothAdded),
    })
}

fn three_entries(
    blobs: &dyn Blobs,
    rule: &dyn Fn() -> Result<MergeRule>,
    base: Entry,
    ours: Entry,
    theirs: Entry,
) -> Result<std::result::Result<MergedEntry, ConflictReason>> {
    match [base, ours, theirs].map(|side| side.mode == Mode::Link) {
        [false, false, false] => {}
        // A symlink's target is a single line, and both sides changed it.
        [true, true, true] => return Ok(Err(ConflictReason::Content)),
        // A symlink has no lines that the two files could have in common: as in git, they are merged as
        // if each side had added its own.
        [true, false, false] => {
            let merged = both_added(blobs, rule, ours, theirs)?;
            return Ok(merged.map_err(|reason| match reason {
                ConflictReason::BothAdded => ConflictReason::Content,
                reason => reason,
            }));
        }
        _ => return Ok(Err(ConflictReason::Kind)),
    }
    // A file has one of two modes. If both sides change the mode, they set the same one.
    let mode = if ours.mode == base.mode { theirs.mode } else { ours.mode };
    let merged = |oid, joined| Ok(Ok(MergedEntry { entry: Some(Entry { mode, oid }), joined }));
    if base.oid == ours.oid || ours.oid == theirs.oid {
        return merged(theirs.oid, Joined::No);
    }
    if base.oid == theirs.oid {
        return merged(ours.oid, Joined::No);
    }
    let texts = [blobs.read(base.oid)?, blobs.read(ours.oid)?, blobs.read(theirs.oid)?];
    match merge_bytes(&texts, rule()?) {
        Merged::Bytes(bytes, joined) => merged(blobs.write(&bytes)?, joined),
        Merged::SameLines => Ok(Err(ConflictReason::Content)),
        Merged::Binary => Ok(Err(ConflictReason::Binary)),
        Merged::TooLarge => Ok(Err(ConflictReason::TooLarge)),
    }
}

/// The result of merging the content of a file.
#[derive(Debug, PartialEq, Eq)]
enum Merged {
    /// The merged content.
    Bytes(Vec<u8>, Joined),
    /// Both sides changed the same lines.
    SameLines,
    /// One version is binary.
    Binary,
    /// Comparing the versions line by line would take too long.
    TooLarge,
}

/// The size above which a file is not merged line by line.
pub(crate) const LARGEST_TEXT: usize = 256 << 20;

/// The number of lines of all versions above which a file is not merged line by line: each line takes
/// some memory before any is compared.
const MOST_LINES: usize = 12 << 20;

/// Merges two versions line by line. Line endings are part of a line, so that they stay as they
/// are.
fn merge_bytes(texts: &[Vec<u8>; 3], rule: MergeRule) -> Merged {
    // The whole content is checked, not only its beginning as in git: a file that is binary further
    // on cannot be merged by lines either.
    if rule == MergeRule::Binary || texts.iter().any(|text| text.contains(&0)) {
        return Merged::Binary;
    }
    let lines = |text: &Vec<u8>| text.iter().filter(|byte| **byte == b'\n').count();
    if texts.iter().any(|text| text.len() > LARGEST_TEXT)
        || texts.iter().map(lines).sum::<usize>() > MOST_LINES
    {
        return Merged::TooLarge;
    }
    let [base, ours, theirs] = texts;
    let budget = &mut Budget::of_a_merge();
    let merge = |favor, budget: &mut Budget| match merge_text(
        [base, ours, theirs],
        favor,
        Refinement::Zealous,
        budget,
    ) {
        TextMerge::Clean(bytes) => Merged::Bytes(bytes, Joined::No),
        TextMerge::Conflicts(_) => Merged::SameLines,
        TextMerge::TooLarge => Merged::TooLarge,
    };
    match (merge(Favor::Conflicts, budget), rule) {
        (Merged::SameLines, MergeRule::Union) => match merge(Favor::Union, budget) {
            Merged::Bytes(bytes, _) => Merged::Bytes(bytes, Joined::Union),
            failed => failed,
        },
        (merged, _) => merged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Merged {
        merge_bytes(&[base, ours, theirs].map(|text| text.as_bytes().to_vec()), MergeRule::Text)
    }

    fn bytes(text: &str) -> Merged {
        Merged::Bytes(text.as_bytes().to_vec(), Joined::No)
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
        let texts = [b"a\n".to_vec(), late, b"b\n".to_vec()];
        assert_eq!(merge_bytes(&texts, MergeRule::Union), Merged::Binary);
    }
    #[test]
    fn texts_of_too_many_lines_are_not_merged_whatever_their_size() {
        let lines = |count: usize| vec![b'\n'; count];
        let texts = [lines(MOST_LINES / 2), lines(MOST_LINES / 4), lines(MOST_LINES / 4 + 1)];
        assert_eq!(merge_bytes(&texts, MergeRule::Text), Merged::TooLarge);
    }
}
