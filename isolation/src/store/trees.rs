//! Trees of the task store, converted from and to flat lists of paths.

use std::iter::Peekable;
use std::slice::Iter;

use git2::{Error, ObjectType, Oid, Repository};

use crate::file_entry::{Entry, Mode};

/// The mode of a folder in a git tree.
const FOLDER: i32 = 0o040_000;

/// The maximum depth of nested trees. Paths of a file system nest less deeply, because they have at
/// most 4,096 bytes.
const DEEPEST: usize = 2_100;

/// The components of a path, and its entry.
type Split<'a> = (Vec<&'a [u8]>, Entry);

/// Writes one object, and returns its id.
pub(crate) type WriteObject<'a> = &'a mut dyn FnMut(ObjectType, Vec<u8>) -> Result<Oid, Error>;

/// Writes the tree with `entries` and every tree below it, and returns its id.
pub(crate) fn write(write: WriteObject<'_>, entries: &[(Vec<u8>, Entry)]) -> Result<Oid, Error> {
    let mut split: Vec<Split<'_>> = entries
        .iter()
        .map(|(path, entry)| (path.split(|byte| *byte == b'/').collect(), *entry))
        .collect();
    split.sort_by(|(left, _), (right, _)| left.cmp(right));
    folder(write, &mut split.iter().peekable(), &[])
}

/// Writes the tree of the folder `here` from the entries at the head of `rest` that lie in it.
fn folder(
    write: WriteObject<'_>,
    rest: &mut Peekable<Iter<'_, Split<'_>>>,
    here: &[&[u8]],
) -> Result<Oid, Error> {
    let mut found: Vec<(&[u8], i32, Oid)> = Vec::new();
    while let Some((path, entry)) = rest.peek() {
        if !path.starts_with(here) || path.len() <= here.len() {
            break;
        }
        let name = path[here.len()];
        if path.len() == here.len() + 1 {
            found.push((name, entry.mode.to_git().cast_signed(), entry.oid));
            rest.next();
        } else {
            let below = folder(write, rest, &path[..=here.len()])?;
            found.push((name, FOLDER, below));
        }
    }
    // git sorts folders as if their names ended with a slash.
    let key = |(name, mode, _): &(&[u8], i32, Oid)| {
        [*name, if *mode == FOLDER { b"/" } else { b"" }].concat()
    };
    found.sort_by_cached_key(key);
    let mut tree = Vec::new();
    for (name, mode, oid) in found {
        tree.extend_from_slice(format!("{mode:o} ").as_bytes());
        tree.extend_from_slice(name);
        tree.push(0);
        tree.extend_from_slice(oid.as_bytes());
    }
    write(ObjectType::Tree, tree)
}

/// Returns every file and symlink of a tree with its path, sorted as git sorts.
pub(crate) fn read(git: &Repository, tree: Oid) -> Result<Vec<(Vec<u8>, Entry)>, Error> {
    let mut found = Vec::new();
    collect(git, tree, &mut Vec::new(), DEEPEST, &mut found)?;
    Ok(found)
}

fn collect(
    git: &Repository,
    tree: Oid,
    prefix: &mut Vec<u8>,
    depth: usize,
    found: &mut Vec<(Vec<u8>, Entry)>,
) -> Result<(), Error> {
    let tree = git.find_tree(tree)?;
    for entry in &tree {
        let kept = prefix.len();
        prefix.extend_from_slice(entry.name_bytes());
        let mode = Mode::from_git(entry.filemode().cast_unsigned());
        match (entry.kind(), mode) {
            (Some(ObjectType::Tree), _) if depth > 0 => {
                prefix.push(b'/');
                collect(git, entry.id(), prefix, depth - 1, found)?;
            }
            (Some(ObjectType::Blob), Some(mode)) => {
                found.push((prefix.clone(), Entry { mode, oid: entry.id() }));
            }
            _ => {
                return Err(Error::from_str(
                    "a tree in the task store has an unknown kind of entry",
                ));
            }
        }
        prefix.truncate(kept);
    }
    Ok(())
}
