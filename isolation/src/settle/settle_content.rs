//! What a choice makes of versions of one file.

use engine::ports::SettleChoice;
use protocol::{Conflict, ConflictReason};

use super::conflict_paths::versions_of;
use super::conflict_sides::{Entries, Sides};
use super::names_beside::free_name;
use super::texts::{ConflictLines, ConflictText, attributes_path, conflict_text};
use crate::error::Result;
use crate::file_entry::{Entry, Mode};

/// Settles a conflict of versions of one file.
pub(super) fn content(
    conflict: &Conflict,
    choice: &SettleChoice,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let [base, ours, theirs] = versions_of(conflict);
    let one = |entry| Ok(Some(Entries::from([(conflict.path.clone(), entry)])));
    match choice {
        SettleChoice::Ours => one(ours),
        SettleChoice::Theirs => one(theirs),
        SettleChoice::Union | SettleChoice::Markers => {
            let is_union = matches!(choice, SettleChoice::Union);
            let (Some(our), Some(their)) = (ours, theirs) else {
                if is_union || conflict.reason == ConflictReason::NotCheckedOut {
                    return Ok(None);
                }
                if let (None, Some(theirs)) = (ours, theirs)
                    && (sides.is_folder)(&conflict.path)?
                {
                    return beside_the_folder(conflict, theirs, sides);
                }
                // git leaves the changed version in the tree.
                return one(ours.or(theirs));
            };
            if [our, their].iter().any(|side| side.mode == Mode::Link) {
                return match (is_union, our.mode == their.mode) {
                    (true, _) => Ok(None),
                    (false, true) => one(ours),
                    (false, false) => both_kinds(conflict, [our, their], sides),
                };
            }
            let lines = match is_union {
                true => ConflictLines::Joined,
                false => ConflictLines::Marked((sides.markers)(attributes_path(conflict))?),
            };
            match conflict_text(sides.blobs, conflict.renamed.as_ref(), base, [our, their], lines)?
            {
                ConflictText::Text(text) => {
                    let mode = merged_mode(base, our, their);
                    one(Some(Entry { mode, oid: sides.blobs.write(&text)? }))
                }
                ConflictText::NoLines if is_union => Ok(None),
                // git leaves our version in the tree, with the merged mode.
                ConflictText::NoLines => {
                    one(Some(Entry { mode: merged_mode(base, our, their), ..our }))
                }
            }
        }
        SettleChoice::Written(_) => Ok(None),
    }
}

/// Leaves a symlink at the path and the file beside it, as git does.
fn both_kinds(
    conflict: &Conflict,
    [ours, theirs]: [Entry; 2],
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let (link, file, name) = match ours.mode {
        Mode::Link => (ours, theirs, "theirs"),
        Mode::File | Mode::Executable => (theirs, ours, "ours"),
    };
    let Some(beside) = free_name(&conflict.path, name, sides)? else { return Ok(None) };
    Ok(Some(Entries::from([(conflict.path.clone(), Some(link)), (beside, Some(file))])))
}

/// Leaves their version of a file that ours replaced by a folder beside the folder, as git does.
fn beside_the_folder(
    conflict: &Conflict,
    theirs: Entry,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let Some(beside) = free_name(&conflict.path, "theirs", sides)? else { return Ok(None) };
    Ok(Some(Entries::from([(conflict.path.clone(), None), (beside, Some(theirs))])))
}

/// Returns the mode of a merged file.
pub(super) fn merged_mode(base: Option<Entry>, ours: Entry, theirs: Entry) -> Mode {
    match base {
        Some(base) if ours.mode == base.mode => theirs.mode,
        _ => ours.mode,
    }
}
