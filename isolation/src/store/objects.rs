//! The objects of a capture before they are written to the task store: trees, commits and the
//! bytes of small files, in memory.

use std::collections::BTreeMap;

use git2::{Error, ObjectType, Oid, Signature};
use sha1::{Digest as _, Sha1};

/// The most bytes that one capture holds in memory.
pub(super) const LARGEST: usize = 4 << 20;

/// Objects in memory, in the order in which they were added.
#[derive(Default)]
pub(crate) struct Objects {
    added: Vec<(ObjectType, Vec<u8>)>,
    positions: BTreeMap<Oid, usize>,
    bytes: usize,
}

/// An object with its bytes.
pub(crate) type Object = (ObjectType, Vec<u8>);

impl Objects {
    /// Adds an object. Returns its bytes if the capture has become too large to be held in memory.
    pub(super) fn add(&mut self, kind: ObjectType, bytes: Vec<u8>) -> Result<Added, Error> {
        let oid = Oid::hash_object(kind, &bytes)?;
        if self.positions.contains_key(&oid) {
            return Ok(Added::Held(oid));
        }
        if self.bytes + bytes.len() > LARGEST {
            return Ok(Added::TooLarge(bytes));
        }
        self.bytes += bytes.len();
        self.positions.insert(oid, self.added.len());
        self.added.push((kind, bytes));
        Ok(Added::Held(oid))
    }

    /// Returns the bytes of an object.
    pub(super) fn get(&self, oid: Oid) -> Option<&[u8]> {
        let at = self.positions.get(&oid)?;
        Some(&self.added[*at].1)
    }

    /// Returns whether an object was added.
    pub(super) fn has(&self, oid: Oid) -> bool {
        self.positions.contains_key(&oid)
    }

    /// Returns the objects in the order in which they were added.
    pub(super) fn into_list(self) -> Vec<Object> {
        self.added
    }
}

/// Returns the id of a blob, to compare it with known ones. This takes a fraction of the time of
/// `Oid::hash_object`, which also looks for bytes that were made to have the id of others: use that
/// for what is stored.
pub(crate) fn blob_id(bytes: &[u8]) -> Result<Oid, Error> {
    let mut hash = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
    hash.update(bytes);
    Oid::from_bytes(&hash.finalize())
}

/// The result of adding an object.
pub(super) enum Added {
    /// The object is held in memory.
    Held(Oid),
    /// The objects would become too large together.
    TooLarge(Vec<u8>),
}

/// Returns the bytes of a commit without parents.
pub(super) fn commit(tree: Oid, message: &str) -> Result<Vec<u8>, Error> {
    let author = Signature::now("Regatta", "regatta@localhost")?;
    let (seconds, offset) = (author.when().seconds(), author.when().offset_minutes());
    let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
    let by = format!(
        "Regatta <regatta@localhost> {seconds} {}{hours:02}{minutes:02}",
        author.when().sign()
    );
    Ok(format!("tree {tree}\nauthor {by}\ncommitter {by}\n\n{message}").into_bytes())
}
