//! What `git merge-tree` loses of two trees, and is not compared.

use std::collections::BTreeSet;

use git2::Oid;
use protocol::ConflictReason;

use crate::file_entry::Entry;
use crate::merge::tree_judge_tests::{Entries, Outcome};
use crate::merge::tree_tests::{Here, beside};
use crate::settle::concerned_paths;

/// Returns the paths of files that git has lost: those that renamed folders bring back to their old
/// names, those that are put where another file has its folder, or at a name from which the same side
/// renamed another away, one of two files that get one name, and one whose new name another file keeps.
pub(super) fn lost_by_git(
    [base, ours, theirs]: &[Entries; 3],
    git: &Outcome,
    here: &Here,
) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for conflict in &here.conflicts {
        let Some(names) = &conflict.renamed else { continue };
        let from = Some(&names.from);
        if conflict.reason == ConflictReason::SameName
            && [names.ours.as_ref(), names.theirs.as_ref()] == [from, from]
        {
            paths.insert(names.from.to_string());
        }
    }
    let sides = [ours, theirs];
    paths.extend(one_of_two_files(base, sides, git, here));
    // The old name of a file that both sides renamed, where one of them has put a folder: git does not say in its
    // index that it is unmerged.
    for conflict in &here.conflicts {
        let Some(names) = &conflict.renamed else { continue };
        let (from, folder) = (names.from.to_string(), format!("{}/", names.from));
        let is_folder = sides.iter().any(|side| side.keys().any(|path| path.starts_with(&folder)));
        if conflict.reason == ConflictReason::RenamedTwice && is_folder {
            paths.insert(from);
        }
    }
    // A file that neither side removed or renamed, whose name git gives to a folder.
    let stays = |path: &&String| {
        sides.iter().all(|side| side.contains_key(*path)) && !git.tree.contains_key(*path)
    };
    for path in base.keys().filter(stays) {
        let below = git.tree.keys().filter(|other| other.starts_with(&format!("{path}/")));
        paths.extend(beside(path).into_iter().chain(below.cloned()));
    }
    // A file whose name the other side has given to a folder.
    for conflict in here.left.iter().filter(|conflict| conflict.renamed.is_some()) {
        let path = conflict.path.to_string();
        let below = sides.into_iter().flat_map(|side| side.keys());
        let below = below.filter(|other| other.starts_with(&format!("{path}/")));
        if conflict.reason == ConflictReason::InTheWay {
            paths.extend(below.chain([&path]).flat_map(|path| beside(path)));
        }
    }
    // A renamed file that is still at its old name, because markers leave another file at its new one.
    let stays = |path: &&String| base.contains_key(*path) && !theirs.contains_key(*path);
    let stays = here.settled.iter().filter(stays);
    paths.extend(stays.filter(|path| !git.tree.contains_key(*path)).cloned());
    // A file that follows a folder to a name that its side has cleared.
    let follows = |(path, entry): &(&String, &Entry)| {
        let is_known = [base, ours, theirs].iter().any(|tree| tree.get(*path) == Some(*entry));
        base.contains_key(*path) && !git.tree.contains_key(*path) && !is_known
    };
    paths.extend(here.tree.iter().filter(follows).map(|(path, _)| path.clone()));
    // A renamed file whose conflict git names and leaves out of the index.
    let named = git.said.iter().filter_map(|said| {
        let renamed = said.strip_prefix("CONFLICT (rename involved in collision): rename of ")?;
        renamed.split_once(" -> ")?.1.split_once(" has content conflicts").map(|(name, _)| name)
    });
    paths.extend(named.filter(|name| !git.unmerged.contains(*name)).map(ToOwned::to_owned));
    // A file that both sides have, wherever it is.
    let everywhere = base.values().filter(|entry| {
        sides.iter().all(|side| is_in(side, entry.oid)) && !is_in(&git.tree, entry.oid)
    });
    for entry in everywhere {
        let kept = here.tree.iter().filter(|(_, here)| here.oid == entry.oid);
        for (path, _) in kept {
            paths.insert(path.clone());
            paths.extend(removals_beside(path, here));
        }
    }
    let new = sides.iter().flat_map(|side| side.iter()).filter(|(path, entry)| {
        !base.contains_key(*path) && !is_in(base, entry.oid) && !is_in(&git.tree, entry.oid)
    });
    for (_, entry) in new {
        // A file that has lines of both sides is not the one that either has added.
        for (path, _) in here.tree.iter().filter(|(_, here)| here.oid == entry.oid) {
            if git.tree.get(path).is_none_or(|git| is_in(base, git.oid)) {
                paths.insert(path.clone());
            }
        }
    }
    // A file that git has at the name of a folder is beside it here. Some versions leave both in one tree.
    for path in git.tree.keys().chain(&paths.clone()) {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        for folder in folders.filter(|folder| git.tree.contains_key(*folder)) {
            paths.extend(beside(folder));
        }
    }
    paths
}

/// Returns the paths of files that one side renamed and the other removed, where a file that git has lost
/// follows a folder to the old name: git does not see the removal either.
fn removals_beside(lost: &str, here: &Here) -> Vec<String> {
    let name = |path: &str| path.rsplit('/').next().map(ToOwned::to_owned);
    let removals = here.conflicts.iter().filter(|conflict| {
        let old = conflict.renamed.as_ref().map(|names| names.from.to_string());
        conflict.reason == ConflictReason::RenamedAndRemoved
            && old.is_some_and(|old| old != lost && name(&old) == name(lost))
    });
    removals.map(|conflict| conflict.path.to_string()).collect()
}

fn is_in(tree: &Entries, oid: Oid) -> bool {
    tree.values().any(|entry| entry.oid == oid)
}

/// Returns the names that two files get, where git takes one of the files for the merged one: it does not
/// look again at a name at which it has put the merged content of a renamed file.
fn one_of_two_files(
    base: &Entries,
    [ours, theirs]: [&Entries; 2],
    git: &Outcome,
    here: &Here,
) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let is_lost = |entry: &Entry| !is_in(&git.tree, entry.oid);
    for conflict in &here.conflicts {
        let names = concerned_paths(conflict);
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let both = |name: &&String| ours.contains_key(*name) && theirs.contains_key(*name);
        let versions = names.iter().flat_map(|name| [ours.get(name), theirs.get(name)]);
        if conflict.reason == ConflictReason::SameName && versions.flatten().any(is_lost) {
            let is_new = |name: &&String| !base.contains_key(*name);
            let merged = names.iter().filter(|name| !git.unmerged.contains(*name));
            paths.extend(merged.filter(is_new).filter(both).cloned());
        }
        // Of a file without lines, both new names have our version if they differ in mode.
        let sides = [&conflict.ours, &conflict.theirs];
        let sides = sides.map(|side| Oid::from_str(&side.as_ref()?.oid).ok());
        if let (ConflictReason::RenamedTwice, [Some(our), Some(their)]) = (conflict.reason, sides)
            && let their_name = conflict.path.to_string()
            && git.tree.get(&their_name).is_some_and(|git| git.oid == our)
            && !is_in(&git.tree, their)
        {
            paths.insert(their_name);
        }
    }
    paths
}
