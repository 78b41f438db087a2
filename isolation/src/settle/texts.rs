//! The merged text of a conflict: with git's markers, or with the lines of both sides.

use protocol::{RenamedFile, RepoPath};

use crate::error::Result;
use crate::file_entry::Entry;
use crate::merge::{
    Blobs, Budget, Favor, LARGEST_TEXT, Labels, MARKER_LENGTH, Refinement, TextMerge, merge_text,
};

/// The merged text of a conflict.
pub(crate) enum ConflictText {
    /// The merged text.
    Text(Vec<u8>),
    /// A version has no lines, or comparing them would take too long.
    NoLines,
}

/// Merges the text of three versions; a missing base counts as empty. Lines that both sides changed
/// get markers, or are joined. Behind the markers stand the sides, and the names of a renamed file.
pub(crate) fn conflict_text(
    blobs: &dyn Blobs,
    renamed: Option<&RenamedFile>,
    base: Option<Entry>,
    [ours, theirs]: [Entry; 2],
    favor: Favor,
) -> Result<ConflictText> {
    let read = |entry: Entry| blobs.read(entry.oid);
    let base = base.map(read).transpose()?.unwrap_or_default();
    let texts = [base, read(ours)?, read(theirs)?];
    if texts.iter().any(|text| text.contains(&0) || text.len() > LARGEST_TEXT) {
        return Ok(ConflictText::NoLines);
    }
    let [base, ours, theirs] = &texts;
    let budget = &mut Budget::of_a_merge();
    Ok(match merge_text([base, ours, theirs], favor, Refinement::Zealous, budget) {
        TextMerge::Clean(text) => ConflictText::Text(text),
        TextMerge::Conflicts(text) => ConflictText::Text({
            let label = |side: &str, name: Option<&RepoPath>| match name {
                Some(name) => format!("{side}:{}", String::from_utf8_lossy(name.as_bytes())),
                None => side.to_owned(),
            };
            // git makes the markers of a file with two new names longer.
            let is_renamed_twice = renamed.is_some_and(|names| {
                names.ours.as_ref() != Some(&names.from)
                    && names.theirs.as_ref() != Some(&names.from)
            });
            let length = MARKER_LENGTH + usize::from(is_renamed_twice);
            let ours = label("ours", renamed.and_then(|names| names.ours.as_ref()));
            let theirs = label("theirs", renamed.and_then(|names| names.theirs.as_ref()));
            text.with_markers(&Labels { ours: &ours, theirs: &theirs, length })
        }),
        TextMerge::TooLarge => ConflictText::NoLines,
    })
}
