//! The user's repository with everything new kept in memory, and the way of what is new into it.

use std::collections::BTreeSet;

use git2::{Commit, Mempack, ObjectType, Odb, Oid, Repository};

use crate::error::{OrCannot, Result};
use crate::repository::Repo;

/// New objects come before the ones that are there.
const FIRST: i32 = 1_000;

/// Makes objects in memory be what `git` writes from now on.
pub(super) fn keep_in_memory<'odb>(odb: &'odb Odb<'_>) -> Result<Mempack<'odb>> {
    odb.add_new_mempack_backend(FIRST).or_cannot(|| "keep objects in memory")
}

/// Puts `commit`, and everything of it that `repo` does not have, into `repo` as one pack.
pub(super) fn write_pack(git: &Repository, repo: &Repo, commit: Oid) -> Result<()> {
    let what = || format!("write commit {commit} to {}", repo.common_dir.display());
    let real = repo.git()?;
    let there = real.odb().or_cannot(what)?;
    let mut new = BTreeSet::new();
    let mut next = vec![commit];
    while let Some(id) = next.pop() {
        if there.exists(id) || !new.insert(id) {
            continue;
        }
        let object = git.find_object(id, None).or_cannot(what)?;
        match object.kind() {
            Some(ObjectType::Commit) => {
                let commit = object.peel_to_commit().or_cannot(what)?;
                next.push(commit.tree_id());
                next.extend(Commit::parent_ids(&commit));
            }
            Some(ObjectType::Tree) => {
                let tree = object.peel_to_tree().or_cannot(what)?;
                let below = tree.iter().filter(|entry| entry.kind() != Some(ObjectType::Commit));
                next.extend(below.map(|entry| entry.id()));
            }
            _ => {}
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    let mut pack = git.packbuilder().or_cannot(what)?;
    for id in new {
        pack.insert_object(id, None).or_cannot(what)?;
    }
    pack.write(&repo.common_dir.join("objects/pack"), 0).or_cannot(what)
}
