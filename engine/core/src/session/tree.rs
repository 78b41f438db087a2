//! The entries of a session as a tree. Each entry but the first of a branch has a parent; the leaf
//! is the entry to which the next one is appended.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use protocol::{EntryId, Timestamp};

/// The entries of a session in the order of their file, and the leaf. `B` is what an entry says.
///
/// A file may be damaged or hostile: a parent may be missing, may come later in the file, and
/// parents may form a cycle. Each walk visits an entry once.
#[derive(Clone, Debug)]
pub struct SessionTree<B> {
    nodes: Vec<Node<B>>,
    // Only looked up, never iterated. Of equal ids the last one counts.
    index: HashMap<EntryId, usize>,
    leaf: Option<usize>,
    labels: BTreeMap<EntryId, String>,
}

/// An entry of the tree.
#[derive(Clone, Debug)]
pub struct Node<B> {
    /// The id of the entry.
    pub id: EntryId,
    /// The id of its parent, which may be missing; `None` for the first entry of a branch.
    pub parent: Option<EntryId>,
    /// When the entry was added.
    pub at: Timestamp,
    /// What the entry says.
    pub body: B,
    /// The place of the parent, if it comes before the entry.
    earlier_parent: Option<usize>,
}

/// The tree from its roots: every entry is a root or the child of one other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// The places of the entries without a parent, in the order of their time.
    pub roots: Vec<usize>,
    /// For each entry, the places of its children in the order of their time.
    pub children: Vec<Vec<usize>>,
}

/// The error for an id that no entry has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session has no entry `{0}`")]
pub struct UnknownEntry(pub EntryId);

impl<B> Default for SessionTree<B> {
    fn default() -> Self {
        Self { nodes: Vec::new(), index: HashMap::new(), leaf: None, labels: BTreeMap::new() }
    }
}

impl<B> SessionTree<B> {
    /// Adds an entry of a file, which becomes the leaf. Returns its place.
    pub fn push(&mut self, id: EntryId, parent: Option<EntryId>, at: Timestamp, body: B) -> usize {
        let earlier_parent = parent.as_ref().and_then(|parent| self.index.get(parent).copied());
        let place = self.nodes.len();
        self.index.insert(id.clone(), place);
        self.nodes.push(Node { id, parent, at, body, earlier_parent });
        self.leaf = Some(place);
        place
    }

    /// Adds an entry of a file whose parent stood in a damaged line: it follows the entry at `before`.
    /// It becomes the leaf. Returns its place.
    pub fn push_after_gap(
        &mut self,
        before: usize,
        node: (EntryId, Option<EntryId>),
        at: Timestamp,
        body: B,
    ) -> usize {
        let place = self.push(node.0, node.1, at, body);
        self.nodes[place].earlier_parent.get_or_insert(before);
        place
    }

    /// Appends a new entry to the leaf and makes it the leaf. Returns its place.
    pub fn append(&mut self, id: EntryId, at: Timestamp, body: B) -> usize {
        let parent = self.leaf_id().cloned();
        self.push(id, parent, at, body)
    }

    /// Makes an entry the leaf.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn branch(&mut self, id: &EntryId) -> Result<(), UnknownEntry> {
        self.leaf = Some(self.place(id).ok_or_else(|| UnknownEntry(id.clone()))?);
        Ok(())
    }

    /// Makes the next entry the first of a branch.
    pub fn reset_leaf(&mut self) {
        self.leaf = None;
    }

    /// Returns the id of the leaf.
    #[must_use]
    pub fn leaf_id(&self) -> Option<&EntryId> {
        self.leaf.map(|place| &self.nodes[place].id)
    }

    /// Returns the place of an entry.
    #[must_use]
    pub fn place(&self, id: &EntryId) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// Returns all entries in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> &[Node<B>] {
        &self.nodes
    }

    /// Returns what an entry says, to be changed.
    pub fn body_mut(&mut self, place: usize) -> Option<&mut B> {
        self.nodes.get_mut(place).map(|node| &mut node.body)
    }

    /// Returns the places of the entries from the root to the leaf. The cost depends on the length
    /// of the path only.
    #[must_use]
    pub fn path(&self) -> Vec<usize> {
        self.leaf.map(|leaf| self.path_to(leaf)).unwrap_or_default()
    }

    /// Returns the places of the entries from the root to the one at `place`.
    #[must_use]
    pub fn path_to(&self, place: usize) -> Vec<usize> {
        let mut path = vec![place];
        // A cycle has a step to a later entry, so nothing is remembered before there is one.
        let mut seen: Option<BTreeSet<usize>> = None;
        let mut at = place;
        while let Some(parent) = self.parent_of(at) {
            if parent >= at && seen.is_none() {
                seen = Some(path.iter().copied().collect());
            }
            if seen.as_mut().is_some_and(|seen| !seen.insert(parent)) {
                break;
            }
            path.push(parent);
            at = parent;
        }
        path.reverse();
        path
    }

    fn parent_of(&self, place: usize) -> Option<usize> {
        let node = &self.nodes[place];
        node.earlier_parent.or_else(|| self.place(node.parent.as_ref()?))
    }

    /// Returns the id of the entry that the one at `place` follows. If that stood in a damaged line, it
    /// is the id of the entry before it.
    #[must_use]
    pub fn parent_id(&self, place: usize) -> Option<&EntryId> {
        self.parent_of(place).map(|parent| &self.nodes[parent].id)
    }

    /// Returns the same tree without what its entries say.
    #[must_use]
    pub fn outline(&self) -> SessionTree<()> {
        let nodes = self.nodes.iter().map(|node| Node {
            id: node.id.clone(),
            parent: node.parent.clone(),
            at: node.at,
            body: (),
            earlier_parent: node.earlier_parent,
        });
        SessionTree {
            nodes: nodes.collect(),
            index: self.index.clone(),
            leaf: self.leaf,
            labels: self.labels.clone(),
        }
    }

    /// Returns the places of the entries that a move of the leaf to `target` leaves, from the oldest
    /// to the leaf: those which are not on the path to `target`.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn left_by_move_to(&self, target: &EntryId) -> Result<Vec<usize>, UnknownEntry> {
        let place = self.place(target).ok_or_else(|| UnknownEntry(target.clone()))?;
        let stays: BTreeSet<usize> = self.path_to(place).into_iter().collect();
        Ok(self.path().into_iter().filter(|place| !stays.contains(place)).collect())
    }

    /// Gives an entry a name, or takes it away.
    pub fn set_label(&mut self, target: EntryId, label: Option<String>) {
        match label.filter(|label| !label.is_empty()) {
            Some(label) => self.labels.insert(target, label),
            None => self.labels.remove(&target),
        };
    }

    /// Returns the names of entries.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<EntryId, String> {
        &self.labels
    }

    /// Returns the tree from its roots. An entry whose parent is missing is a root, and so is one
    /// entry of each cycle.
    #[must_use]
    pub fn shape(&self) -> TreeShape {
        let mut children = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        for place in 0..self.nodes.len() {
            match self.parent_of(place) {
                Some(parent) => children[parent].push(place),
                None => roots.push(place),
            }
        }
        let mut reached = vec![false; self.nodes.len()];
        roots.iter().for_each(|root| reach(*root, &mut children, &mut reached));
        for place in 0..self.nodes.len() {
            if !reached[place] {
                roots.push(place);
                reach(place, &mut children, &mut reached);
            }
        }
        let in_time = |places: &mut Vec<usize>| places.sort_by_key(|place| self.nodes[*place].at);
        children.iter_mut().for_each(in_time);
        in_time(&mut roots);
        TreeShape { roots, children }
    }
}

/// Marks what is below `root`, and removes the steps that lead back to something that is marked.
fn reach(root: usize, children: &mut [Vec<usize>], reached: &mut [bool]) {
    let mut next = vec![root];
    reached[root] = true;
    while let Some(place) = next.pop() {
        children[place].retain(|child| !std::mem::replace(&mut reached[*child], true));
        next.extend(&children[place]);
    }
}

#[cfg(test)]
mod tests;
