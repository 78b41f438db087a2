//! A commit's tree with some paths changed.

use std::collections::BTreeMap;

use git2::{Error, ObjectType, Oid, Repository, Tree};
use protocol::RepoPath;

use crate::entry::Entry;
use crate::merge::MergedPath;

/// The mode of a tree in a tree.
const FOLDER: i32 = 0o040_000;

/// Changes below one folder, by the first component of what is left of their paths.
#[derive(Default)]
struct FolderChanges<'a> {
    /// What a name itself becomes.
    own: BTreeMap<&'a [u8], Option<Entry>>,
    below: BTreeMap<&'a [u8], FolderChanges<'a>>,
}

/// Returns the id of `tree` with the paths of `touched` as they are after, and everything else as
/// it is. Folders with nothing in them go.
pub(super) fn changed(
    git: &Repository,
    tree: Option<&Tree<'_>>,
    touched: &BTreeMap<RepoPath, MergedPath>,
) -> Result<Oid, Error> {
    let mut root = FolderChanges::default();
    for (path, touched) in touched {
        let mut level = &mut root;
        let mut rest = path.as_bytes();
        while let Some(slash) = rest.iter().position(|byte| *byte == b'/') {
            level = level.below.entry(&rest[..slash]).or_default();
            rest = &rest[slash + 1..];
        }
        level.own.insert(rest, touched.after);
    }
    match folder(git, tree, &root)? {
        Some(id) => Ok(id),
        None => git.treebuilder(None)?.write(),
    }
}

fn folder(
    git: &Repository,
    tree: Option<&Tree<'_>>,
    level: &FolderChanges<'_>,
) -> Result<Option<Oid>, Error> {
    let mut builder = git.treebuilder(tree)?;
    for (name, below) in &level.below {
        let had = builder.get(*name)?.map(|entry| (entry.kind(), entry.id()));
        let tree = match had {
            Some((Some(ObjectType::Tree), id)) => Some(git.find_tree(id)?),
            _ => None,
        };
        match folder(git, tree.as_ref(), below)? {
            Some(id) => drop(builder.insert(*name, id, FOLDER)?),
            None if tree.is_some() => builder.remove(*name)?,
            None => {}
        }
    }
    // After what is below: a folder that becomes a file has lost its files by now.
    for (name, entry) in &level.own {
        match entry {
            Some(entry) => {
                drop(builder.insert(*name, entry.oid, entry.mode.to_git().cast_signed())?);
            }
            // A file that becomes a folder is one by now.
            None => {
                let is_file = builder.get(*name)?.is_some_and(|now| now.filemode() != FOLDER);
                if is_file {
                    builder.remove(*name)?;
                }
            }
        }
    }
    if builder.is_empty() { Ok(None) } else { builder.write().map(Some) }
}
