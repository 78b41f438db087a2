//! Adds or removes many references at once, by writing git's file of packed references anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use git2::Oid;

use crate::store::sync;

/// The first line: the references are sorted, and those to tags have a second line.
const HEADER: &str = "# pack-refs with: peeled fully-peeled sorted \n";

/// Adds or replaces references, durably. The caller holds the lock on the store's folder.
pub(super) fn add(store: &Path, references: &BTreeMap<String, Oid>) -> io::Result<()> {
    let before = read(store)?;
    let mut all = parse(&before);
    for (name, oid) in references {
        all.insert(name, format!("{oid} {name}\n"));
    }
    write(store, &all)?;
    for name in references.keys() {
        // A reference with a file of its own would hide the packed one.
        remove(&store.join(name))?;
    }
    Ok(())
}

/// Removes references, durably. The caller holds the lock on the store's folder. A kill in between
/// leaves some of them.
pub(super) fn remove_all(store: &Path, references: &BTreeSet<String>) -> io::Result<()> {
    let before = read(store)?;
    let mut all = parse(&before);
    let known = all.len();
    all.retain(|name, _| !references.contains(*name));
    if all.len() < known {
        write(store, &all)?;
    }
    let mut folders = BTreeSet::new();
    for name in references {
        let file = store.join(name);
        remove(&file)?;
        folders.extend(file.parent().map(Path::to_path_buf));
    }
    let kinds = store.components().count() + 2;
    let mut changed = BTreeSet::new();
    for folder in &folders {
        // A folder that has become empty goes with those above it, up to that of the kind.
        let mut left = folder.as_path();
        while left.components().count() > kinds && is_gone(left) {
            left = left.parent().unwrap_or(store);
        }
        changed.insert(left.to_path_buf());
    }
    changed.iter().try_for_each(|folder| sync::sync(folder))
}

/// Removes a folder if it is empty, and returns whether it is gone.
fn is_gone(folder: &Path) -> bool {
    match fs::remove_dir(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

fn read(store: &Path) -> io::Result<String> {
    match fs::read_to_string(store.join("packed-refs")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        before => before,
    }
}

/// Replaces the file of packed references, durably.
fn write(store: &Path, all: &BTreeMap<&str, String>) -> io::Result<()> {
    let lines: Vec<&str> = all.values().map(String::as_str).collect();
    let lock = store.join("packed-refs.lock");
    // No other writer lives: each holds the lock on the folder.
    remove(&lock)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&lock)?;
    file.write_all(HEADER.as_bytes())?;
    file.write_all(lines.concat().as_bytes())?;
    file.sync_all()?;
    fs::rename(&lock, store.join("packed-refs"))?;
    sync::sync(store)
}

/// Removes a file. Succeeds if there is none.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(io::Error::new(error.kind(), format!("cannot remove {}: {error}", file.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the lines of each reference, by its name.
fn parse(text: &str) -> BTreeMap<&str, String> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    let mut last = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match (line.split_once(' '), last) {
            (Some((_oid, name)), _) => {
                found.insert(name, format!("{line}\n"));
                last = Some(name);
            }
            // The object that the tag before it names.
            (None, Some(name)) => {
                if let Some(lines) = found.get_mut(name) {
                    lines.push_str(&format!("{line}\n"));
                }
            }
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_added_and_replaced_and_the_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let oid = |digit: &str| Oid::from_str(&digit.repeat(40)).unwrap();
        let tag = format!("{} refs/tags/v1\n^{}\n", oid("1"), oid("2"));
        let old = format!("# pack-refs with: peeled \n{} refs/tasks/r/b/1\n{tag}", oid("3"));
        fs::write(home.path().join("packed-refs"), old).unwrap();
        fs::create_dir_all(home.path().join("refs/tasks/r/a")).unwrap();
        fs::write(home.path().join("refs/tasks/r/a/1"), "hides").unwrap();
        let new =
            [("refs/tasks/r/a/1".to_owned(), oid("4")), ("refs/tasks/r/b/1".to_owned(), oid("5"))];
        add(home.path(), &BTreeMap::from(new)).unwrap();
        let expected =
            format!("{HEADER}{tag}{} refs/tasks/r/a/1\n{} refs/tasks/r/b/1\n", oid("4"), oid("5"));
        assert_eq!(fs::read_to_string(home.path().join("packed-refs")).unwrap(), expected);
        assert!(!home.path().join("refs/tasks/r/a/1").exists());
    }

    #[test]
    fn a_file_that_would_hide_a_packed_reference_and_stays_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let oid = Oid::from_str(&"4".repeat(40)).unwrap();
        let name = "refs/tasks/r/a/1";
        // As one that the system does not let go.
        fs::create_dir_all(home.path().join(name)).unwrap();
        let error = add(home.path(), &BTreeMap::from([(name.to_owned(), oid)])).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        fs::remove_dir(home.path().join(name)).unwrap();
        add(home.path(), &BTreeMap::from([(name.to_owned(), oid)])).unwrap();
    }
}
