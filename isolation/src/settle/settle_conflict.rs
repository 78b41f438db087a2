//! What a choice makes of the paths of one conflict.

use std::collections::BTreeMap;

use engine::ports::{SettleChoice, WrittenFile};
use protocol::{Conflict, ConflictReason, RenamedFile, RepoPath};

use super::conflict_paths::{concerned_paths, entry_of, versions_of};
use super::texts::{ConflictLines, ConflictText, attributes_path, conflict_text};
use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::merge::{Blobs, MarkerForm, MergeRule, three_way};

/// The new entries of paths; `None` for a path that is removed.
pub(crate) type Entries = BTreeMap<RepoPath, Option<Entry>>;

/// The two sides as trees, besides the versions in the conflict.
pub(crate) struct Sides<'a> {
    /// Returns the entry at a path of the tree into which the task is merged.
    pub(crate) ours: &'a dyn Fn(&RepoPath) -> Result<Option<Entry>>,
    /// Returns the entry that the task left at a path; `None` if the task did not change the path.
    pub(crate) theirs: &'a dyn Fn(&RepoPath) -> Option<Option<Entry>>,
    /// Returns whether something else than a file is at a path, or above it, that must not be
    /// touched.
    pub(crate) is_foreign: &'a dyn Fn(&RepoPath) -> Result<bool>,
    /// Returns whether ours has files below a path.
    pub(crate) is_folder: &'a dyn Fn(&RepoPath) -> Result<bool>,
    /// Returns what the markers of conflicts in a file look like.
    pub(crate) markers: &'a dyn Fn(&RepoPath) -> Result<MarkerForm>,
    pub(crate) blobs: &'a dyn Blobs,
}

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

/// Settles a conflict of versions of one file.
fn content(
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
fn merged_mode(base: Option<Entry>, ours: Entry, theirs: Entry) -> Mode {
    match base {
        Some(base) if ours.mode == base.mode => theirs.mode,
        _ => ours.mode,
    }
}

/// The most names that are tried for a file that is put beside another.
const MOST_NAMES: u32 = 100;

/// Returns the names of a file that is put beside another: `PATH~SIDE`, `PATH~SIDE_0` and so on, as in
/// git.
pub(super) fn names_beside(path: &RepoPath, side: &str) -> impl Iterator<Item = RepoPath> {
    (0..MOST_NAMES).filter_map(move |number| {
        let end = if number == 0 { String::new() } else { format!("_{}", number - 1) };
        RepoPath::new([path.as_bytes(), b"~", side.as_bytes(), end.as_bytes()].concat())
    })
}

/// Returns a free name beside a path.
fn free_name(path: &RepoPath, side: &str, sides: &Sides<'_>) -> Result<Option<RepoPath>> {
    for name in names_beside(path, side) {
        let taken = (sides.ours)(&name)?.is_some()
            || (sides.theirs)(&name).flatten().is_some()
            || (sides.is_foreign)(&name)?;
        if !taken {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Settles a conflict of a file that one side renamed and the other replaced; as in git, both can stay.
fn both_renamed(conflict: &Conflict, choice: &SettleChoice) -> Result<Option<Entries>> {
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
fn renamed_twice(
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
fn renamed_and_removed(
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
                let side = if theirs.is_some() { "theirs" } else { "ours" };
                let Some(file) = theirs.or(moved) else { return Ok(None) };
                let Some(beside) = free_name(path, side, sides)? else { return Ok(None) };
                entries.extend([(path.clone(), stands), (beside, Some(file))]);
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
