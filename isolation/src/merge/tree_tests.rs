//! Random trees, merged here and by `git merge-tree`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use git2::{ObjectType, Oid, Repository};
use protocol::{Conflict, RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry, Mode};
use crate::merge::random::{Random, cases};
use crate::merge::{Blobs, EntryState, MergeTarget, Merger};

type Files = BTreeMap<String, (Mode, Vec<u8>)>;
type Entries = BTreeMap<String, Entry>;

/// A bare repository that holds all trees and blobs.
struct Judge {
    git: Repository,
    folder: tempfile::TempDir,
    written: RefCell<BTreeMap<Oid, Vec<u8>>>,
}

impl Blobs for Judge {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        Ok(self.written.borrow()[&oid].clone())
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        let oid = Oid::hash_object(ObjectType::Blob, bytes).unwrap();
        self.written.borrow_mut().insert(oid, bytes.to_vec());
        Ok(oid)
    }
}

/// What a merge comes to: the merged tree, or the kinds of its conflicts.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Merged(Entries),
    Conflicts(String),
}

impl Judge {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(folder.path()).unwrap();
        Self { git, folder, written: RefCell::default() }
    }

    fn entries(&self, files: &Files) -> Entries {
        let entry = |(mode, bytes): &(Mode, Vec<u8>)| {
            self.git.blob(bytes).unwrap();
            Entry { mode: *mode, oid: self.write(bytes).unwrap() }
        };
        files.iter().map(|(path, file)| (path.clone(), entry(file))).collect()
    }

    fn tree(&self, entries: &Entries) -> Oid {
        let mut index = git2::Index::new().unwrap();
        for (path, entry) in entries {
            let time = git2::IndexTime::new(0, 0);
            let entry = git2::IndexEntry {
                ctime: time,
                mtime: time,
                dev: 0,
                ino: 0,
                mode: entry.mode.to_git(),
                uid: 0,
                gid: 0,
                file_size: 0,
                id: entry.oid,
                flags: 0,
                flags_extended: 0,
                path: path.clone().into_bytes(),
            };
            index.add(&entry).unwrap();
        }
        index.write_tree_to(&self.git).unwrap()
    }

    fn commit(&self, entries: &Entries, parents: &[Oid]) -> Oid {
        let tree = self.git.find_tree(self.tree(entries)).unwrap();
        let author = git2::Signature::new("a", "a@b", &git2::Time::new(0, 0)).unwrap();
        let parents: Vec<_> = parents.iter().map(|id| self.git.find_commit(*id).unwrap()).collect();
        let parents: Vec<_> = parents.iter().collect();
        self.git.commit(None, &author, &author, "m", &tree, &parents).unwrap()
    }

    fn gits(&self, [base, ours, theirs]: [&Entries; 3]) -> Outcome {
        let base = self.commit(base, &[]);
        let (ours, theirs) = (self.commit(ours, &[base]), self.commit(theirs, &[base]));
        let output = Command::new("git")
            .current_dir(self.folder.path())
            .args(["-c", "merge.directoryRenames=true", "merge-tree", "--write-tree"])
            .args([ours.to_string(), theirs.to_string()])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.code() {
            Some(0) => Outcome::Merged(self.read_tree(text.trim().parse().unwrap())),
            Some(1) => Outcome::Conflicts(text),
            code => panic!("{code:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    fn read_tree(&self, tree: Oid) -> Entries {
        let mut entries = Entries::new();
        let tree = self.git.find_tree(tree).unwrap();
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if let Some(mode) = Mode::from_git(entry.filemode().cast_unsigned()) {
                let name = format!("{folder}{}", entry.name().unwrap());
                entries.insert(name, Entry { mode, oid: entry.id() });
            }
            git2::TreeWalkResult::Ok
        })
        .unwrap();
        entries
    }

    fn ours(&self, [base, ours, theirs]: [&Entries; 3]) -> Outcome {
        let target = TreeTarget(base.clone());
        let mut merger = Merger::over(&target, self);
        let none = BTreeSet::new();
        let added = merger.add(&name(0), &none, &changes(base, ours)).unwrap();
        assert_eq!(added, Ok(Vec::new()), "the first task has nothing to conflict with");
        if let Err(conflicts) = merger.add(&name(1), &none, &changes(base, theirs)).unwrap() {
            let show = |conflict: &Conflict| format!("{:?} {}", conflict.reason, conflict.path);
            return Outcome::Conflicts(conflicts.iter().map(show).collect::<Vec<_>>().join("\n"));
        }
        let mut merged = base.clone();
        for (path, now) in merger.finish() {
            match now.after {
                Some(entry) => drop(merged.insert(path.to_string(), entry)),
                None => drop(merged.remove(&path.to_string())),
            }
        }
        Outcome::Merged(merged)
    }
}

/// A tree in memory as the target of a merge.
struct TreeTarget(Entries);

impl MergeTarget for TreeTarget {
    fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        let path = path.to_string();
        Ok(match self.0.get(&path) {
            Some(entry) => EntryState::Entry(*entry),
            None if self.0.keys().any(|other| other.starts_with(&format!("{path}/"))) => {
                EntryState::Folder
            }
            None => EntryState::Missing,
        })
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        let mut paths = self.0.keys().map(|path| RepoPath::new(path.as_str()).unwrap());
        Ok(paths.find(|path| path.is_below(folder) && !goes(path)))
    }
}

fn name(number: usize) -> TaskName {
    format!("t{number}").parse().unwrap()
}

fn changes(base: &Entries, task: &Entries) -> Vec<Change> {
    let paths: BTreeSet<&String> = base.keys().chain(task.keys()).collect();
    let change = |path: &String| Change {
        path: RepoPath::new(path.as_str()).unwrap(),
        base: base.get(path).copied(),
        task: task.get(path).copied(),
    };
    paths.into_iter().map(change).filter(|change| change.base != change.task).collect()
}

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

fn three_trees(random: &mut Random) -> [Files; 3] {
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

fn names(path: &Path) -> String {
    path.display().to_string()
}

/// The number of tests that the cases are shared among.
const SHARES: u64 = 5;

#[test]
fn trees_merge_as_git_merges_them_with_renames_of_files_and_folders() {
    compare(0);
}

#[test]
fn more_trees_merge_as_git_merges_them() {
    compare(1);
}

#[test]
fn still_more_trees_merge_as_git_merges_them() {
    compare(2);
}

#[test]
fn a_fourth_share_of_trees_merges_as_git_merges_them() {
    compare(3);
}

#[test]
fn a_fifth_share_of_trees_merges_as_git_merges_them() {
    compare(4);
}

/// Compares the trees of every fifth seed.
fn compare(share: u64) {
    let judge = Judge::new();
    let cases = cases(300) / SHARES;
    let (mut conflicts, mut different) = (0, Vec::new());
    for case in 0..cases {
        let seed = case * SHARES + share;
        let files = three_trees(&mut Random::new(seed));
        let entries = files.each_ref().map(|files| judge.entries(files));
        let trees = entries.each_ref();
        let (git, ours) = (judge.gits(trees), judge.ours(trees));
        conflicts += u64::from(matches!(git, Outcome::Conflicts(_)));
        let same = match (&git, &ours) {
            (Outcome::Conflicts(_), Outcome::Conflicts(_)) => true,
            _ => git == ours,
        };
        if !same {
            let [base, one, two] = trees;
            let shown = |side: &Entries| {
                let lines = changes(base, side).into_iter().map(|change| {
                    let short = |entry: Option<Entry>| {
                        entry
                            .map_or("-".into(), |entry| format!("{:?}{:.6}", entry.mode, entry.oid))
                    };
                    format!("  {} {} {}", change.path, short(change.base), short(change.task))
                });
                lines.collect::<Vec<_>>().join("\n")
            };
            different.push(format!(
                "seed {seed} in {}\nbase {:?}\nours\n{}\ntheirs\n{}\ngit {git:?}\nhere {ours:?}\n",
                names(judge.folder.path()),
                base.keys().collect::<Vec<_>>(),
                shown(one),
                shown(two),
            ));
        }
    }
    assert!(
        different.is_empty(),
        "{} differ\n{}",
        different.len(),
        different[..different.len().min(4)].join("\n")
    );
    assert!(conflicts * 10 >= cases * 3, "{conflicts} conflicts in {cases} cases");
}
