//! Random chains of tasks: a base, and for each task the tree that it began with and the one that it left.
//! Most of what they do is to rename files and folders.

use crate::file_entry::Mode;
use crate::merge::random::Random;
use crate::merge::tree_samples::{Files, is_free};

const FOLDERS: [&str; 7] = ["a", "a/x", "b", "c", "c/d", "e", "z/w"];

/// Where folders are moved, besides these.
const NEW_FOLDERS: [&str; 5] = ["moved", "moved/in", "q", "z", "c/d/y"];

/// How many lines a file has.
const LINES: usize = 24;

/// One task of a chain.
pub(crate) struct ChainStep {
    /// The task whose work this one began with; none if it began with the base.
    pub(crate) after: Option<usize>,
    /// What the task left.
    pub(crate) files: Files,
}

/// A base, and the tasks that were made from it.
pub(crate) struct Chain {
    pub(crate) base: Files,
    pub(crate) steps: Vec<ChainStep>,
    /// How many changes there are, and how many rename a folder.
    pub(crate) changes: u64,
    pub(crate) folder_renames: u64,
}

impl Chain {
    /// Returns the chain of a seed.
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut base = Files::new();
        for _ in 0..4 + random.below(8) {
            add(random, &mut base);
        }
        let mut chain = Self { base, steps: Vec::new(), changes: 0, folder_renames: 0 };
        for number in 0..2 + random.below(5) {
            let after = (number > 0 && random.below(4) == 0).then(|| random.below(number));
            let mut files = chain.start(after).clone();
            for _ in 0..=random.below(2) {
                chain.change(random, &mut files);
            }
            chain.steps.push(ChainStep { after, files });
        }
        chain
    }

    /// Returns a chain in which files and folders change places by a third name: in one task, or with a
    /// task for each of the three renames.
    pub(crate) fn of_swaps(random: &mut Random) -> Self {
        let mut base = Files::new();
        for _ in 0..3 + random.below(6) {
            add(random, &mut base);
        }
        let mut chain = Self { base, steps: Vec::new(), changes: 0, folder_renames: 0 };
        for number in 0..2 + random.below(3) {
            let mut after = chain.steps.len().checked_sub(1).filter(|_| random.below(4) > 0);
            let mut files = chain.start(after).clone();
            let Some([one, other]) = two_places(random, &files) else { continue };
            let third = format!("third{number}/place");
            let is_one_task = random.below(2) == 0;
            for (from, to) in [(&one, &third), (&other, &one), (&third, &other)] {
                rename(&mut files, from, to);
                if random.below(3) == 0 {
                    chain.change(random, &mut files);
                }
                if !is_one_task {
                    chain.steps.push(ChainStep { after, files: files.clone() });
                    after = chain.steps.len().checked_sub(1);
                }
            }
            if is_one_task {
                chain.steps.push(ChainStep { after, files });
            }
        }
        chain
    }

    /// Returns the files with which a task after another one begins.
    pub(crate) fn start(&self, after: Option<usize>) -> &Files {
        after.map_or(&self.base, |after| &self.steps[after].files)
    }

    fn change(&mut self, random: &mut Random, files: &mut Files) {
        self.changes += 1;
        let Some(path) = files.keys().nth(random.below(files.len().max(1))).cloned() else {
            return;
        };
        match random.below(12) {
            0..=5 => {
                self.folder_renames += 1;
                rename_folder(random, files, &path);
            }
            6 | 7 => {
                if let Some(new) = free_path(random, files) {
                    let mut file = files.remove(&path).unwrap();
                    if random.below(3) == 0 {
                        edit(random, &mut file.1);
                    }
                    files.insert(new, file);
                }
            }
            8 => drop(files.remove(&path)),
            9 | 10 => edit(random, &mut files.get_mut(&path).unwrap().1),
            _ => add(random, files),
        }
    }
}

/// Adds a file with lines of its own.
fn add(random: &mut Random, files: &mut Files) {
    let Some(path) = free_path(random, files) else { return };
    let lines: String = (0..LINES).map(|_| line(random)).collect();
    files.insert(path, (Mode::File, lines.into_bytes()));
}

fn line(random: &mut Random) -> String {
    format!("{} {}\n", random.below(1 << 40), random.below(1 << 40))
}

fn free_path(random: &mut Random, files: &Files) -> Option<String> {
    let folder = FOLDERS[random.below(FOLDERS.len())];
    let path = format!("{folder}/f{}.txt", random.below(30));
    is_free(files, &path).then_some(path)
}

/// Returns two files, or two folders of which none is in the other.
fn two_places(random: &mut Random, files: &Files) -> Option<[String; 2]> {
    let mut any = || files.keys().nth(random.below(files.len().max(1))).cloned();
    let [one, other] = [any()?, any()?];
    let folders = [&one, &other].map(|path| path.rsplit_once('/').unwrap().0);
    let are_apart = !is_within(folders[0], folders[1]) && !is_within(folders[1], folders[0]);
    if are_apart && random.below(3) > 0 {
        return Some(folders.map(str::to_owned));
    }
    (one != other).then_some([one, other])
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Renames a file, or a folder with all that is in it.
fn rename(files: &mut Files, from: &str, to: &str) {
    let inside: Vec<String> = files.keys().filter(|path| is_within(path, from)).cloned().collect();
    for path in inside {
        let new = format!("{to}{}", &path[from.len()..]);
        if let Some(file) = files.remove(&path).filter(|_| is_free(files, &new)) {
            files.insert(new, file);
        }
    }
}

/// Changes one line.
fn edit(random: &mut Random, text: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> =
        text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let at = random.below(lines.len());
    lines[at] = line(random).into_bytes();
    *text = lines.concat();
}

/// Renames the folder of a file, or the one above.
fn rename_folder(random: &mut Random, files: &mut Files, path: &str) {
    let mut from = path.rsplit_once('/').unwrap().0;
    if let Some((above, _)) = from.rsplit_once('/').filter(|_| random.below(3) == 0) {
        from = above;
    }
    let at = random.below(FOLDERS.len() + NEW_FOLDERS.len());
    let to = FOLDERS.iter().chain(&NEW_FOLDERS).nth(at).unwrap();
    let below = format!("{from}/");
    if *to == from || to.starts_with(&below) {
        return;
    }
    let inside: Vec<String> =
        files.keys().filter(|path| path.starts_with(&below)).cloned().collect();
    for path in inside {
        let new = format!("{to}/{}", &path[below.len()..]);
        if is_free(files, &new) {
            let file = files.remove(&path).unwrap();
            files.insert(new, file);
        }
    }
}
