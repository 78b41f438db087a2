//! Which folders each side of a merge removed, and for which of them it matters where their files
//! went.

use std::collections::{BTreeMap, BTreeSet};

use protocol::RepoPath;

use crate::error::Result;
use crate::merge::renames::{Folder, Relevance, folder_of};
use crate::merge::side_renames::RemovedSide;
use crate::merge::tree_merge::{Untouched, Versions};

/// What is in a folder.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    in_base: bool,
    on_sides: [bool; 2],
    /// Sides that added a file directly to the folder that no other version has.
    added_by: [bool; 2],
}

/// Returns the folders that each side removed.
pub(crate) fn removed_folders(
    paths: &BTreeMap<RepoPath, Versions>,
    untouched: &dyn Untouched,
) -> Result<[RemovedSide; 2]> {
    let folders = contents(paths, untouched)?;
    let mut result = [RemovedSide::default(), RemovedSide::default()];
    // Of the folders above, whose places are of interest whatever is in them.
    let mut wanted: BTreeSet<Folder> = BTreeSet::new();
    for (folder, content) in &folders {
        if !content.in_base {
            continue;
        }
        let is_inherited = !folder.is_empty() && wanted.contains(folder_of(folder));
        let mut is_wanted = is_inherited;
        for side in 0..2 {
            let other = 1 - side;
            let one_removed = !content.on_sides[side] && content.on_sides[other];
            is_wanted |= one_removed && content.added_by[other];
        }
        if is_wanted {
            wanted.insert(folder.clone());
        }
        for (side, result) in result.iter_mut().enumerate() {
            if content.on_sides[side] {
                continue;
            }
            let relevance = if is_wanted && content.added_by[1 - side] {
                Relevance::ForItself
            } else if is_inherited {
                Relevance::ForAncestor
            } else {
                Relevance::None
            };
            result.removed.insert(folder.clone(), relevance);
        }
    }
    for side in &mut result {
        side.wanted.clone_from(&wanted);
    }
    Ok(result)
}

/// Returns what is in each folder in which anything changed.
fn contents(
    paths: &BTreeMap<RepoPath, Versions>,
    untouched: &dyn Untouched,
) -> Result<BTreeMap<Folder, Content>> {
    let mut folders: BTreeMap<Folder, Content> = BTreeMap::new();
    for (path, versions) in paths {
        let mut folder = folder_of(path.as_bytes());
        let is_of = |side: usize| versions.sides[side].is_some();
        for side in 0..2 {
            let is_new = versions.base.is_none() && is_of(side) && !is_of(1 - side);
            folders.entry(folder.to_vec()).or_default().added_by[side] |= is_new;
        }
        loop {
            let content = folders.entry(folder.to_vec()).or_default();
            content.in_base |= versions.base.is_some();
            content.on_sides = [content.on_sides[0] || is_of(0), content.on_sides[1] || is_of(1)];
            if folder.is_empty() {
                break;
            }
            folder = folder_of(folder);
        }
    }
    for (folder, content) in &mut folders {
        let is_everywhere = content.in_base && content.on_sides == [true, true];
        if !is_everywhere && untouched.is_below(folder)? {
            *content = Content { in_base: true, on_sides: [true, true], ..*content };
        }
    }
    Ok(folders)
}
