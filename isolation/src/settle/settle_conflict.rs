//! What a choice makes of the paths of one conflict.

use engine::ports::{SettleChoice, WrittenFile};
use protocol::{Conflict, ConflictReason, RepoPath};

use super::conflict_paths::{concerned_paths, entry_of, versions_of};
use super::conflict_sides::{Entries, Sides};
use super::names_beside::free_name;
use super::settle_content::{content, merged_mode};
use super::settle_renames::{both_renamed, renamed_and_removed, renamed_twice};
use crate::error::Result;
use crate::file_entry::{Entry, Mode};

/// Returns the entries that a choice makes of the paths of a conflict; `None` if the choice does not
/// settle this kind of conflict.
pub(crate) fn settle(
    conflict: &Conflict,
    choice: &SettleChoice,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    if let SettleChoice::Written(file) = choice {
        return written(conflict, file, sides);
    }
    match conflict.reason {
        ConflictReason::Kind if conflict.renamed.is_some() => both_renamed(conflict, choice),
        ConflictReason::Content
        | ConflictReason::Binary
        | ConflictReason::BothAdded
        | ConflictReason::ChangedAndRemoved
        | ConflictReason::Mode
        | ConflictReason::Kind
        | ConflictReason::Setup
        | ConflictReason::Untracked
        | ConflictReason::NotCheckedOut
        | ConflictReason::TooLarge => content(conflict, choice, sides),
        ConflictReason::RenamedTwice => renamed_twice(conflict, choice, sides),
        ConflictReason::RenamedAndRemoved => renamed_and_removed(conflict, choice, sides),
        ConflictReason::SameName => whole_sides(conflict, choice, sides),
        ConflictReason::Case => other_case(conflict, choice, sides),
        // The files of a folder without one new name stay where they were added, as in git.
        ConflictReason::FolderSplit => match choice {
            SettleChoice::Union => Ok(None),
            _ => Ok(Some(Entries::new())),
        },
        ConflictReason::InTheWay | ConflictReason::Submodule => in_the_way(conflict, choice, sides),
        // The file is being written, or the work cannot be committed: only what stands can stay.
        ConflictReason::Contested
        | ConflictReason::Unwritable
        | ConflictReason::Uncommitted
        | ConflictReason::MissingCommit
        | ConflictReason::GitmodulesLink
        | ConflictReason::Filter
        | ConflictReason::Encoding => match choice {
            SettleChoice::Ours => whole_sides(conflict, choice, sides),
            _ => Ok(None),
        },
    }
}

/// Settles a conflict of two names that the file system takes for one: there is a file with the
/// name, and the content, of one side.
fn other_case(
    conflict: &Conflict,
    choice: &SettleChoice,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let stands = (sides.ours)(&conflict.path)?;
    let twin = conflict.renamed.as_ref().and_then(|names| names.ours.as_ref());
    Ok(match (choice, twin) {
        (SettleChoice::Ours, _) => Some(Entries::from([(conflict.path.clone(), stands)])),
        // A folder of another case is not removed for a file.
        (SettleChoice::Theirs, Some(twin)) if (sides.ours)(twin)?.is_some() => {
            let theirs = entry_of(conflict.theirs.as_ref());
            Some(Entries::from([(twin.clone(), None), (conflict.path.clone(), theirs)]))
        }
        _ => None,
    })
}

/// Takes all paths of a conflict from one side.
fn whole_sides(
    conflict: &Conflict,
    choice: &SettleChoice,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let mut entries = Entries::new();
    for path in concerned_paths(conflict) {
        let entry = match choice {
            SettleChoice::Ours => (sides.ours)(&path)?,
            SettleChoice::Theirs => match (sides.theirs)(&path) {
                Some(entry) => entry,
                None => (sides.ours)(&path)?,
            },
            SettleChoice::Union | SettleChoice::Markers | SettleChoice::Written(_) => {
                return Ok(None);
            }
        };
        entries.insert(path, entry);
    }
    Ok(Some(entries))
}

/// Settles a conflict of a file and a folder, or of something that must not be touched.
fn in_the_way(
    conflict: &Conflict,
    choice: &SettleChoice,
    sides: &Sides<'_>,
) -> Result<Option<Entries>> {
    let path = &conflict.path;
    let stands = (sides.ours)(path)?;
    let above = |entries: &mut Entries| -> Result<Option<RepoPath>> {
        for folder in path.folders() {
            if (sides.ours)(&folder)?.is_some() {
                entries.insert(folder.clone(), None);
                return Ok(Some(folder));
            }
        }
        Ok(None)
    };
    let theirs = (sides.theirs)(path).unwrap_or(entry_of(conflict.theirs.as_ref()));
    let mut entries = Entries::new();
    match choice {
        SettleChoice::Ours => {
            entries.insert(path.clone(), stands);
        }
        SettleChoice::Union | SettleChoice::Written(_) => return Ok(None),
        SettleChoice::Theirs | SettleChoice::Markers => {
            if (sides.is_foreign)(path)? {
                return Ok(None);
            }
            let is_markers = matches!(choice, SettleChoice::Markers);
            if let Some(file) = above(&mut entries)? {
                entries.insert(path.clone(), theirs);
                if is_markers {
                    let Some(beside) = free_name(&file, "ours", sides)? else { return Ok(None) };
                    entries.insert(beside, (sides.ours)(&file)?);
                }
            } else if is_markers {
                let moved = entry_of(conflict.ours.as_ref()).filter(|_| stands.is_none());
                // Where ours has the file, which both have changed, the folder is theirs.
                let is_theirs = theirs.is_some() && stands.is_none();
                let side = if is_theirs { "theirs" } else { "ours" };
                let Some(file) = theirs.or(moved) else { return Ok(None) };
                let Some(beside) = free_name(path, side, sides)? else { return Ok(None) };
                entries.extend([(path.clone(), None), (beside, Some(file))]);
            } else {
                // A folder of the user's is not removed for a file.
                return Ok(None);
            }
        }
    }
    Ok(Some(entries))
}

/// Takes the content that a program or a person made of the sides, if these are the same as then.
fn written(conflict: &Conflict, file: &WrittenFile, sides: &Sides<'_>) -> Result<Option<Entries>> {
    if conflict.ours != file.ours || conflict.theirs != file.theirs {
        return Ok(None);
    }
    let [base, ours, theirs] = versions_of(conflict);
    let entry = match (&file.bytes, ours.or(theirs)) {
        (None, _) => None,
        (Some(bytes), Some(one)) => {
            let mode = match (ours, theirs) {
                (Some(ours), Some(theirs)) => merged_mode(base, ours, theirs),
                _ => one.mode,
            };
            let mode = if mode == Mode::Link { Mode::File } else { mode };
            Some(Entry { mode, oid: sides.blobs.write(bytes)? })
        }
        (Some(_), None) => return Ok(None),
    };
    Ok(Some(Entries::from([(conflict.path.clone(), entry)])))
}
