//! The objects of a task store that references and ids lead to.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid};

use crate::error::{Cause, OrCannot, Result};
use crate::store::ExclusiveStore;

/// The mode of a submodule in a tree, whose commit is in another repository.
const GITLINK: i32 = 0o160_000;

/// The objects that were found so far.
#[derive(Debug, Default)]
pub(crate) struct Reachable {
    /// Each object, with the last component of a path to it.
    objects: BTreeMap<Oid, Vec<u8>>,
}

impl Reachable {
    /// Adds an object and everything that it leads to. Returns the sizes of the new objects together,
    /// in bytes.
    ///
    /// # Errors
    /// An object is missing or damaged.
    pub(crate) fn add(&mut self, store: &ExclusiveStore, from: Oid) -> Result<u64> {
        let path = store.path().display();
        let mut last = from;
        self.try_add(store, from, &mut last)
            .or_cannot(|| format!("read {last} from the task store {path}"))
    }

    fn try_add(
        &mut self,
        store: &ExclusiveStore,
        from: Oid,
        last: &mut Oid,
    ) -> std::result::Result<u64, Cause> {
        let git = store.store.reader();
        let odb = git.odb()?;
        let mut open = vec![(from, Vec::new())];
        let mut added = 0;
        while let Some((oid, name)) = open.pop() {
            if self.objects.contains_key(&oid) {
                continue;
            }
            *last = oid;
            let (size, kind) = odb.read_header(oid)?;
            added += u64::try_from(size).unwrap_or(u64::MAX);
            self.objects.insert(oid, name);
            match kind {
                ObjectType::Commit => {
                    let commit = git.find_commit(oid)?;
                    open.push((commit.tree_id(), Vec::new()));
                    open.extend(commit.parent_ids().map(|parent| (parent, Vec::new())));
                }
                ObjectType::Tree => {
                    let tree = git.find_tree(oid)?;
                    let inside = tree.iter().filter(|entry| entry.filemode_raw() != GITLINK);
                    open.extend(inside.map(|entry| (entry.id(), entry.name_bytes().to_vec())));
                }
                ObjectType::Tag => open.push((git.find_tag(oid)?.target_id(), Vec::new())),
                _ => {}
            }
        }
        Ok(added)
    }

    /// Adds an object that a record outside of the store names, if the store has it.
    ///
    /// # Errors
    /// The object is damaged.
    pub(crate) fn add_named(&mut self, store: &ExclusiveStore, oid: Oid) -> Result<u64> {
        let what = || format!("read the task store {}", store.path().display());
        let is_there = store.store.reader().odb().or_cannot(what)?.exists(oid);
        if is_there { self.add(store, oid) } else { Ok(0) }
    }

    /// Returns the objects, each with the last component of a path to it.
    pub(super) fn objects(&self) -> &BTreeMap<Oid, Vec<u8>> {
        &self.objects
    }
}
