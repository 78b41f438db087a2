//! Random trees: a base, and two trees that were made from it by edits, renames and the like.

use std::collections::BTreeMap;

use crate::file_entry::Mode;
use crate::merge::random::Random;

/// The files of a tree: mode and content by path.
pub(crate) type Files = BTreeMap<String, (Mode, Vec<u8>)>;

const FOLDERS: [&str; 7] = ["", "a", "b", "a/x", "a/x/deep", "c", "lib"];

fn free_path(random: &mut Random, files: &Files, folders: &[&str]) -> Option<String> {
    let folder = folders[random.below(folders.len())];
    let name = format!("f{}.{}", random.below(12), ["rs", "txt"][random.below(2)]);
    let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
    is_free(files, &path).then_some(path)
}

fn is_free(files: &Files, path: &str) -> bool {
    let below = format!("{path}/");
    !files.keys().any(|other| {
        other == path || other.starts_with(&below) || path.starts_with(&format!("{other}/"))
    })
}

fn new_line(random: &mut Random) -> String {
    format!("{} {}", random.below(1 << 40), random.below(1 << 40))
}

fn new_file(random: &mut Random) -> (Mode, Vec<u8>) {
    if random.below(25) == 0 {
        return (Mode::Link, new_line(random).into_bytes());
    }
    let ending = if random.below(8) == 0 { "\r\n" } else { "\n" };
    let lines: String =
        (0..12 + random.below(20)).map(|_| format!("{}{ending}", new_line(random))).collect();
    let mut bytes = lines.into_bytes();
    if random.below(12) == 0 {
        bytes[5] = 0;
    }
    (if random.below(6) == 0 { Mode::Executable } else { Mode::File }, bytes)
}

/// Changes a few lines.
fn edit(random: &mut Random, file: &mut (Mode, Vec<u8>)) {
    if file.0 == Mode::Link {
        file.1 = new_line(random).into_bytes();
        return;
    }
    let mut lines: Vec<Vec<u8>> =
        file.1.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(2).min(lines.len().saturating_sub(1)) {
        if lines.is_empty() {
            break;
        }
        let at = random.below(lines.len());
        let ending: &str = if lines[at].ends_with(b"\r\n") { "\r\n" } else { "\n" };
        let new = format!("{}{ending}", new_line(random)).into_bytes();
        match random.below(3) {
            0 => lines[at] = new,
            1 => lines.insert(at, new),
            _ => drop(lines.remove(at)),
        }
    }
    file.1 = lines.concat();
}

fn any_path(random: &mut Random, files: &Files) -> Option<String> {
    files.keys().nth(random.below(files.len().max(1))).cloned()
}

fn rename_folder(random: &mut Random, files: &mut Files) {
    let from = FOLDERS[1 + random.below(FOLDERS.len() - 1)];
    let to = ["moved", "c", "a/y", "b", "moved/in", "lib2"][random.below(6)];
    if to == from || to.starts_with(&format!("{from}/")) {
        return;
    }
    let below = format!("{from}/");
    let inside: Vec<String> =
        files.keys().filter(|path| path.starts_with(&below)).cloned().collect();
    for path in inside {
        let new = format!("{to}/{}", &path[below.len()..]);
        if is_free(files, &new) {
            let mut file = files.remove(&path).unwrap();
            if random.below(4) == 0 && file.0 != Mode::Link {
                edit(random, &mut file);
            }
            files.insert(new, file);
        }
    }
}

/// One change to a tree.
fn change(random: &mut Random, files: &mut Files) {
    let Some(path) = any_path(random, files) else { return };
    match random.below(13) {
        0..=3 => edit(random, files.get_mut(&path).unwrap()),
        4 | 5 => {
            let Some(new) = free_path(random, files, &FOLDERS) else { return };
            let new = match random.below(2) {
                0 => new,
                _ => {
                    let name = path.rsplit('/').next().unwrap();
                    let folder = new.rsplit_once('/').map_or("", |(folder, _)| folder);
                    let kept =
                        if folder.is_empty() { name.into() } else { format!("{folder}/{name}") };
                    if is_free(files, &kept) { kept } else { new }
                }
            };
            let mut file = files.remove(&path).unwrap();
            match random.below(4) {
                0 => edit(random, &mut file),
                1 if file.0 != Mode::Link => file.1 = new_file(random).1,
                _ => {}
            }
            files.insert(new, file);
        }
        6 | 7 => rename_folder(random, files),
        8 => drop(files.remove(&path)),
        9 | 10 => {
            if let Some(new) = free_path(random, files, &FOLDERS) {
                files.insert(new, new_file(random));
            }
        }
        11 => {
            let file = files.get_mut(&path).unwrap();
            file.0 = match file.0 {
                Mode::File => Mode::Executable,
                Mode::Executable => Mode::File,
                Mode::Link => Mode::Link,
            };
        }
        _ => {
            let mut file = new_file(random);
            let new = match random.below(3) {
                0 => {
                    file.0 = Mode::Link;
                    file.1 = b"target".to_vec();
                    path.clone()
                }
                1 => format!("{path}/inside"),
                _ => path.clone(),
            };
            files.remove(&path);
            if is_free(files, &new) {
                files.insert(new, file);
            }
        }
    }
}

/// Returns a base and two trees made from it.
pub(crate) fn three_trees(random: &mut Random) -> [Files; 3] {
    let mut base = Files::new();
    for _ in 0..2 + random.below(14) {
        if let Some(path) = free_path(random, &base, &FOLDERS) {
            base.insert(path, new_file(random));
        }
    }
    let mut side = || {
        let mut files = base.clone();
        for _ in 0..2 + random.below(5) {
            change(random, &mut files);
        }
        files
    };
    let (ours, theirs) = (side(), side());
    [base, ours, theirs]
}
