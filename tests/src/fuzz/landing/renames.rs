//! Whether a landing follows a rename. What the judge says of each path does not hold then; such
//! landings are compared with `git merge-tree` elsewhere.

use std::collections::BTreeMap;

use super::scenario::Scenario;
use crate::fuzz::files::{Files, Name, Node, folders, is_below};

/// Whether the rename of one task may concern what another did.
pub(super) fn are_followed(scenario: &Scenario) -> bool {
    let mut changes: Vec<(&Name, Option<&Node>, Option<&Node>)> = Vec::new();
    for task in &scenario.tasks {
        let own = task.changes.iter();
        changes
            .extend(own.map(|(path, change)| (path, change.base.as_ref(), change.task.as_ref())));
    }
    let (before, after) = (&scenario.tree, scenario.tree_at_landing());
    changes.extend(differing(before, after));
    let added: Vec<(&Name, &Node)> = changes
        .iter()
        .filter(|(_, base, _)| base.is_none())
        .filter_map(|(path, _, now)| Some((*path, (*now)?)))
        .collect();
    let removed = changes.iter().filter(|(_, _, now)| now.is_none());
    removed.filter_map(|(path, base, _)| Some((*path, (*base)?))).any(|(path, base)| {
        let is_touched_twice = changes.iter().filter(|(other, ..)| *other == path).count() > 1;
        let is_added_beside =
            folders(path).any(|folder| added.iter().any(|(other, _)| is_below(other, folder)));
        (is_touched_twice || is_added_beside)
            && added.iter().any(|(_, now)| may_be_renamed(base, now))
    })
}

fn differing<'f>(
    before: &'f Files,
    after: &'f Files,
) -> impl Iterator<Item = (&'f Name, Option<&'f Node>, Option<&'f Node>)> {
    let both = before.iter().map(|(path, node)| (path, Some(node), after.get(path)));
    let new = after.iter().filter(|(path, _)| !before.contains_key(*path));
    both.chain(new.map(|(path, node)| (path, None, Some(node)))).filter(|(_, was, is)| was != is)
}

/// Whether two files have a quarter of their bytes in common, in pieces of a line or of 64 bytes.
fn may_be_renamed(one: &Node, other: &Node) -> bool {
    if one == other {
        return true;
    }
    let mut left: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for piece in pieces(one.bytes()) {
        *left.entry(piece).or_default() += 1;
    }
    let mut common = 0;
    for piece in pieces(other.bytes()) {
        if let Some(count) = left.get_mut(&piece).filter(|count| **count > 0) {
            *count -= 1;
            common += piece.len();
        }
    }
    common * 4 >= one.bytes().len().max(other.bytes().len())
}

fn pieces(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let pieces = lines.flat_map(|line| line.chunks(64));
    pieces.map(|piece| piece.iter().copied().filter(|byte| *byte != b'\r').collect()).collect()
}
