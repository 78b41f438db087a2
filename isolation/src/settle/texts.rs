//! The merged text of a conflict: with git's markers, or with the lines of both sides.

use protocol::{Conflict, ConflictHunk, RenamedFile, RepoPath};

use super::conflict_paths::entry_of;
use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::merge::{
    Blobs, Budget, Favor, LARGEST_TEXT, Labels, MarkerForm, MarkerStyle, MergeRules, Refinement,
    TextMerge, merge_text,
};

/// Returns the places at which both sides of a conflict changed the same lines. Empty if a version
/// is missing or has no lines.
pub(crate) fn conflict_hunks(blobs: &dyn Blobs, conflict: &Conflict) -> Result<Vec<ConflictHunk>> {
    let versions = [&conflict.base, &conflict.ours, &conflict.theirs];
    let [base, Some(ours), Some(theirs)] = versions.map(|side| entry_of(side.as_ref())) else {
        return Ok(Vec::new());
    };
    if [ours, theirs].iter().any(|entry| entry.mode == Mode::Link) {
        return Ok(Vec::new());
    }
    let Some(texts) = texts(blobs, base, [ours, theirs])? else { return Ok(Vec::new()) };
    let [base, ours, theirs] = &texts;
    let budget = &mut Budget::of_a_merge();
    let merged = merge_text([base, ours, theirs], Favor::Conflicts, Refinement::Whole, budget);
    Ok(match merged {
        TextMerge::Conflicts(text) => text.conflict_hunks(),
        TextMerge::Clean(_) | TextMerge::TooLarge => Vec::new(),
    })
}

/// Returns the text of a conflict with git's markers; `None` if a version is missing or has no lines.
pub(crate) fn marked_text(
    blobs: &dyn Blobs,
    rules: &MergeRules,
    conflict: &Conflict,
) -> Result<Option<Vec<u8>>> {
    let versions = [&conflict.base, &conflict.ours, &conflict.theirs];
    let [base, Some(ours), Some(theirs)] = versions.map(|side| entry_of(side.as_ref())) else {
        return Ok(None);
    };
    let form = rules.markers(attributes_path(conflict))?;
    let names = conflict.renamed.as_ref();
    Ok(match conflict_text(blobs, names, base, [ours, theirs], ConflictLines::Marked(form))? {
        ConflictText::Text(text) => Some(text),
        ConflictText::NoLines => None,
    })
}

/// Returns the path whose attributes say what the markers of a conflict look like: as in git, the
/// old name of a file with two new ones.
pub(crate) fn attributes_path(conflict: &Conflict) -> &RepoPath {
    match &conflict.renamed {
        Some(names) if is_renamed_twice(names) => &names.from,
        _ => &conflict.path,
    }
}

fn is_renamed_twice(names: &RenamedFile) -> bool {
    names.ours.as_ref() != Some(&names.from) && names.theirs.as_ref() != Some(&names.from)
}

/// Returns the bytes of three versions; `None` if one has no lines or is too large. A symlink that both
/// sides replaced by a file has no lines in common with them.
fn texts(
    blobs: &dyn Blobs,
    base: Option<Entry>,
    sides: [Entry; 2],
) -> Result<Option<[Vec<u8>; 3]>> {
    let read = |entry: Entry| blobs.read(entry.oid);
    let base = base.filter(|base| base.mode != Mode::Link);
    let base = base.map(read).transpose()?.unwrap_or_default();
    let texts = [base, read(sides[0])?, read(sides[1])?];
    let has_lines = |text: &Vec<u8>| !text.contains(&0) && text.len() <= LARGEST_TEXT;
    Ok(texts.iter().all(has_lines).then_some(texts))
}

/// The merged text of a conflict.
pub(crate) enum ConflictText {
    /// The merged text.
    Text(Vec<u8>),
    /// A version has no lines, or comparing them would take too long.
    NoLines,
}

/// What happens to lines that both sides changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictLines {
    /// They get markers.
    Marked(MarkerForm),
    /// The lines of both are kept.
    Joined,
}

/// Merges the text of three versions; a missing base counts as empty. Behind the markers stand the
/// sides, and the names of a renamed file.
pub(crate) fn conflict_text(
    blobs: &dyn Blobs,
    renamed: Option<&RenamedFile>,
    base: Option<Entry>,
    sides: [Entry; 2],
    lines: ConflictLines,
) -> Result<ConflictText> {
    let Some(texts) = texts(blobs, base, sides)? else { return Ok(ConflictText::NoLines) };
    let [base, ours, theirs] = &texts;
    let budget = &mut Budget::of_a_merge();
    let (favor, form) = match lines {
        ConflictLines::Marked(form) => (Favor::Conflicts, form),
        ConflictLines::Joined => (Favor::Union, MarkerForm::default()),
    };
    let merged = merge_text([base, ours, theirs], favor, form.style.refinement(), budget);
    Ok(match merged {
        TextMerge::Clean(text) => ConflictText::Text(text),
        TextMerge::Conflicts(text) => ConflictText::Text({
            let label = |side: &str, name: Option<&RepoPath>| match name {
                Some(name) => format!("{side}:{}", String::from_utf8_lossy(name.as_bytes())),
                None => side.to_owned(),
            };
            // git makes the markers of a file with two new names longer.
            let longer = usize::from(renamed.is_some_and(is_renamed_twice));
            let base = label("base", renamed.map(|names| &names.from));
            let ours = label("ours", renamed.and_then(|names| names.ours.as_ref()));
            let theirs = label("theirs", renamed.and_then(|names| names.theirs.as_ref()));
            text.with_markers(&Labels {
                base: (form.style != MarkerStyle::Merge).then_some(base.as_str()),
                ours: &ours,
                theirs: &theirs,
                length: form.length + longer,
            })
        }),
        TextMerge::TooLarge => ConflictText::NoLines,
    })
}
