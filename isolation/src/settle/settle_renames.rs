//! What a choice makes of a file that a side has renamed.

use engine::ports::SettleChoice;
use protocol::{Conflict, RenamedFile, RepoPath};

use super::conflict_paths::{entry_of, versions_of};
use super::conflict_sides::{Entries, Sides};
use super::settle_content::merged_mode;
use super::texts::{ConflictLines, ConflictText, attributes_path, conflict_text};
use crate::error::Result;
use crate::file_entry::Entry;
use crate::merge::{MergeRule, three_way};

/// Settles a conflict of a file that one side renamed and the other replaced; as in git, both can stay.
pub(super) fn both_renamed(conflict: &Conflict, choice: &SettleChoice) -> Result<Option<Entries>> {
    let Some(RenamedFile { ours: Some(our_name), theirs: Some(their_name), .. }) =
        &conflict.renamed
    else {
        return Ok(None);
    };
    let [ours, theirs] = [&conflict.ours, &conflict.theirs].map(|side| entry_of(side.as_ref()));
    let [keeps_ours, keeps_theirs] = match choice {
        SettleChoice::Ours => [true, false],
        SettleChoice::Theirs => [false, true],
        SettleChoice::Markers => [true, true],
        SettleChoice::Union | SettleChoice::Written(_) => return Ok(None),
    };
    Ok(Some(Entries::from([
        (our_name.clone(), ours.filter(|_| keeps_ours)),
        (their_name.clone(), theirs.filter(|_| keeps_theirs)),
    ])))
}

/// Settles a conflict of two names: the file has the merged content at the chosen name.
pub(super) fn renamed_twice(
    conflict: &Conflict,
    choice: &SettleChoice,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let Some(RenamedFile { ours: Some(our_name), theirs: Some(their_name), .. }) =
        &conflict.renamed
    else {
        return Ok(None);
    };
    let [base, Some(ours), Some(theirs)] = versions_of(conflict) else {
        return Ok(None);
    };
    let merged = three_way(sides.blobs, &|| Ok(MergeRule::Text), base, Some(ours), Some(theirs))?;
    let merged = merged.ok().and_then(|merged| merged.entry);
    let at = |name: &RepoPath, entry| (name.clone(), Some(entry));
    Ok(Some(match choice {
        SettleChoice::Ours => {
            let stands = (sides.ours)(their_name)?;
            Entries::from([at(our_name, merged.unwrap_or(ours)), (their_name.clone(), stands)])
        }
        SettleChoice::Theirs => {
            let left = (sides.theirs)(our_name).flatten();
            Entries::from([at(their_name, merged.unwrap_or(theirs)), (our_name.clone(), left)])
        }
        SettleChoice::Markers => {
            let [at_ours, at_theirs] = match merged {
                Some(merged) => [merged, merged],
                None => match conflict_text(
                    sides.blobs,
                    conflict.renamed.as_ref(),
                    base,
                    [ours, theirs],
                    ConflictLines::Marked((sides.markers)(attributes_path(conflict))?),
                )? {
                    ConflictText::Text(text) => {
                        let mode = merged_mode(base, ours, theirs);
                        [Entry { mode, oid: sides.blobs.write(&text)? }; 2]
                    }
                    // Each name keeps its own version, as in git, and ours gets the merged mode.
                    ConflictText::NoLines => {
                        [Entry { mode: merged_mode(base, ours, theirs), ..ours }, theirs]
                    }
                },
            };
            Entries::from([at(our_name, at_ours), at(their_name, at_theirs)])
        }
        SettleChoice::Union | SettleChoice::Written(_) => return Ok(None),
    }))
}

/// Settles a conflict of a renamed and a removed file.
pub(super) fn renamed_and_removed(
    conflict: &Conflict,
    choice: &SettleChoice,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let Some(renamed) = &conflict.renamed else { return Ok(None) };
    let (name, by_ours) = match (&renamed.ours, &renamed.theirs) {
        (Some(name), None) => (name, true),
        (None, Some(name)) => (name, false),
        _ => return Ok(None),
    };
    let version = if by_ours { &conflict.ours } else { &conflict.theirs };
    let keep = match choice {
        SettleChoice::Ours => by_ours,
        SettleChoice::Theirs => !by_ours,
        SettleChoice::Markers => true,
        SettleChoice::Union | SettleChoice::Written(_) => return Ok(None),
    };
    let entry = if keep { entry_of(version.as_ref()) } else { None };
    if keep && entry.is_none() {
        return Ok(None);
    }
    let old = (sides.ours)(&renamed.from)?;
    Ok(Some(Entries::from([(name.clone(), entry), (renamed.from.clone(), old)])))
}
