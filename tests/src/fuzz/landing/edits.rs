//! Random edits of a tree in memory: what a task, or the user, might do to it.

use super::{content, names};
use crate::fuzz::Random;
use crate::fuzz::files::{Files, Name, Node, folders, is_below};

/// Paths that no edit touches, because they decide what the other paths mean.
const FIXED: &[&[u8]] = &[b".gitignore", b".gitattributes"];

/// What everybody who edits one repository knows of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Common {
    /// Changes that several tasks make alike.
    pub(super) alike: Vec<(Name, Node)>,
    /// Paths that are worth being created, because something is there that nobody was given.
    pub(super) taken: Vec<Name>,
}

/// Puts `node` at `path`, with room for it: what stands below it or on the way to it goes.
pub(super) fn put(files: &mut Files, path: &[u8], node: Node) {
    if FIXED.iter().any(|fixed| *fixed == path || is_below(path, fixed)) {
        return;
    }
    files.retain(|other, _| !is_below(other, path));
    for folder in folders(path) {
        files.remove(folder);
    }
    files.insert(path.to_vec(), node);
}

/// Makes `count` edits.
pub(super) fn edit(random: &mut Random, files: &mut Files, common: &Common, count: usize) {
    for _ in 0..count {
        edit_once(random, files, common);
    }
}

fn edit_once(random: &mut Random, files: &mut Files, common: &Common) {
    let kind = random.below(100);
    if kind < 12 {
        let node = node(random);
        return put(files, &names::path(random), node);
    }
    if kind < 15 {
        return put(files, &names::ignored(random), Node::file("ignored\n"));
    }
    if kind < 18 && !common.taken.is_empty() {
        let mut path = random.pick(&common.taken).clone();
        if random.chance(30) {
            path.extend_from_slice(b"/below");
        }
        return put(files, &path, Node::file("in the way\n"));
    }
    if kind < 24 && !common.alike.is_empty() {
        let (path, node) = random.pick(&common.alike).clone();
        return put(files, &path, node);
    }
    let Some(path) = existing(random, files) else { return };
    let old = files[&path].clone();
    match kind {
        24..28 => drop(files.remove(&path)),
        28..33 => {
            files.remove(&path);
            let old = if random.chance(50) { change_content(random, &old) } else { old };
            put(files, &names::path(random), old);
        }
        33..39 => drop(files.insert(path, change_kind(random, &old))),
        39..42 => {
            // A file becomes a folder.
            files.remove(&path);
            put(files, &[&path[..], b"/inside"].concat(), old);
        }
        42..45 => {
            // A folder becomes a file.
            if let Some(folder) = folders(&path).last() {
                put(files, folder, Node::file("was a folder\n"));
            }
        }
        45..47 => {
            if let Some(folder) = folders(&path).last() {
                files.retain(|other, _| !is_below(other, folder));
            }
        }
        47..50 => drop(files.insert(path, node(random))),
        _ => drop(files.insert(path, change_content(random, &old))),
    }
}

/// Returns a path that is there; one of the first few more often than the others.
fn existing(random: &mut Random, files: &Files) -> Option<Name> {
    let all: Vec<_> = files.keys().filter(|path| !FIXED.contains(&path.as_slice())).collect();
    if all.is_empty() {
        return None;
    }
    let end = if random.chance(60) { all.len().min(3) } else { all.len() };
    Some(all[random.below(end)].clone())
}

/// Returns something new to put anywhere.
pub(super) fn node(random: &mut Random) -> Node {
    match random.below(10) {
        0 => Node::Link(target(random)),
        number => Node::File { executable: number < 3, bytes: content::fresh(random) },
    }
}

fn target(random: &mut Random) -> Name {
    let targets: &[&[u8]] = &[b"a", b"..", b"/nowhere/at/all", b"src", b"not \xff utf-8"];
    random.pick(targets).to_vec()
}

fn change_content(random: &mut Random, old: &Node) -> Node {
    match old {
        Node::Link(_) => Node::Link(target(random)),
        Node::File { executable, bytes } => {
            let executable = *executable ^ random.chance(5);
            Node::File { executable, bytes: content::edited(random, bytes) }
        }
    }
}

/// A file becomes executable or no longer is, or becomes a symlink; a symlink becomes a file.
fn change_kind(random: &mut Random, old: &Node) -> Node {
    match old {
        Node::Link(target) => Node::file(target.clone()),
        Node::File { .. } if random.chance(25) => Node::Link(target(random)),
        Node::File { executable, bytes } => {
            Node::File { executable: !executable, bytes: bytes.clone() }
        }
    }
}
