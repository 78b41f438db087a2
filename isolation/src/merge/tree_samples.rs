//! Random trees: a base, and two trees that were made from it by edits, renames and the like.

use std::collections::BTreeMap;

use crate::file_entry::Mode;
use crate::merge::random::Random;

/// The files of a tree: mode and content by path.
pub(crate) type Files = BTreeMap<String, (Mode, Vec<u8>)>;

const FOLDERS: [&str; 7] = ["", "a", "b", "a/x", "a/x/deep", "c", "lib"];

/// A base, two trees made from it, and what each of these has renamed.
pub(crate) struct Sample {
    base: Files,
    sides: [Side; 2],
}

/// One of the two trees.
struct Side {
    files: Files,
    /// The old names of renamed files by their new ones.
    renamed: BTreeMap<String, String>,
}

impl Sample {
    /// Returns the base and the two trees.
    pub(crate) fn trees(&self) -> [&Files; 3] {
        let [ours, theirs] = &self.sides;
        [&self.base, &ours.files, &theirs.files]
    }
}

/// How many renamed files of samples are how much alike.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// At least 65 %, but not all of the content.
    pub(crate) alike: u64,
    /// At most 35 %.
    pub(crate) unlike: u64,
    /// Between the two, where the score decides.
    pub(crate) between: u64,
}

impl Counted {
    /// Counts the renamed files of a sample.
    pub(crate) fn add(&mut self, sample: &Sample) {
        for side in &sample.sides {
            for (new, old) in &side.renamed {
                let (Some((_, new)), Some((_, old))) = (side.files.get(new), sample.base.get(old))
                else {
                    continue;
                };
                match percent(old, new) {
                    0..=35 => self.unlike += 1,
                    36..=64 => self.between += 1,
                    65..=99 => self.alike += 1,
                    _ => {}
                }
            }
        }
    }
}

/// Returns how much of the larger of two texts is in lines that both have.
fn percent(old: &[u8], new: &[u8]) -> usize {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let mut left = lines(new);
    let mut same = 0;
    for line in lines(old) {
        if let Some(at) = left.iter().position(|other| *other == line) {
            same += left.swap_remove(at).len();
        }
    }
    same * 100 / old.len().max(new.len()).max(1)
}

fn free_path(random: &mut Random, files: &Files, folders: &[&str]) -> Option<String> {
    let folder = folders[random.below(folders.len())];
    let name = format!("f{}.{}", random.below(12), ["rs", "txt"][random.below(2)]);
    let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
    is_free(files, &path).then_some(path)
}

pub(super) fn is_free(files: &Files, path: &str) -> bool {
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

impl Side {
    /// Removes a file that gets another name.
    fn take(&mut self, from: &str, to: &str) -> (Mode, Vec<u8>) {
        let old = self.renamed.remove(from).unwrap_or_else(|| from.to_owned());
        self.renamed.insert(to.to_owned(), old);
        self.files.remove(from).unwrap()
    }
}

/// Rewrites a file, or most of it.
fn rewrite(random: &mut Random, file: &mut (Mode, Vec<u8>)) {
    let old = std::mem::replace(&mut file.1, new_file(random).1);
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let kept = [0, 0, lines.len() / 6, lines.len() / 2][random.below(4)];
    file.1.splice(..0, lines[..kept].concat());
}

fn rename_folder(random: &mut Random, side: &mut Side) {
    let from = FOLDERS[1 + random.below(FOLDERS.len() - 1)];
    let to = ["moved", "c", "a/y", "b", "moved/in", "lib2"][random.below(6)];
    if to == from || to.starts_with(&format!("{from}/")) {
        return;
    }
    let below = format!("{from}/");
    let inside: Vec<String> =
        side.files.keys().filter(|path| path.starts_with(&below)).cloned().collect();
    for path in inside {
        let new = format!("{to}/{}", &path[below.len()..]);
        if is_free(&side.files, &new) {
            let mut file = side.take(&path, &new);
            if random.below(4) == 0 && file.0 != Mode::Link {
                edit(random, &mut file);
            }
            side.files.insert(new, file);
        }
    }
}

/// One change to a tree.
fn change(random: &mut Random, side: &mut Side) {
    let files = &mut side.files;
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
            let mut file = side.take(&path, &new);
            match random.below(4) {
                0 => edit(random, &mut file),
                1 if file.0 != Mode::Link => rewrite(random, &mut file),
                _ => {}
            }
            side.files.insert(new, file);
        }
        6 | 7 => rename_folder(random, side),
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
pub(crate) fn sample(random: &mut Random) -> Sample {
    let mut base = Files::new();
    for _ in 0..2 + random.below(14) {
        if let Some(path) = free_path(random, &base, &FOLDERS) {
            base.insert(path, new_file(random));
        }
    }
    let mut side = || {
        let mut side = Side { files: base.clone(), renamed: BTreeMap::new() };
        for _ in 0..2 + random.below(5) {
            change(random, &mut side);
        }
        side
    };
    let sides = [side(), side()];
    Sample { base, sides }
}
