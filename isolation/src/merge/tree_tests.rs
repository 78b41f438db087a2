//! Random trees, merged here and by `git merge-tree`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use git2::{ObjectType, Oid, Repository};
use protocol::{Conflict, RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Change, Entry, Mode};
use crate::merge::random::{Random, cases};
use crate::merge::tree_samples::{Files, three_trees};
use crate::merge::{Blobs, EntryState, MergeTarget, Merger};

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

/// The note of a conflict about a file that renamed folders bring back to its old name.
const BACK: &str = " (back at its old name)";

impl Judge {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(folder.path()).unwrap();
        Self { git, folder, written: RefCell::default() }
    }

    /// Returns the trees of a seed.
    fn sample(&self, seed: u64) -> [Entries; 3] {
        three_trees(&mut Random::new(seed)).each_ref().map(|files| self.entries(files))
    }

    /// Commits three trees, and returns the commits of the two sides.
    fn commits(&self, [base, ours, theirs]: &[Entries; 3]) -> [Oid; 2] {
        let base = self.commit(base, &[]);
        [self.commit(ours, &[base]), self.commit(theirs, &[base])]
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

    /// Merges each pair of commits with git.
    fn gits(&self, pairs: &[[Oid; 2]]) -> Vec<Outcome> {
        let mut git = Command::new("git")
            .current_dir(self.folder.path())
            .args(["-c", "merge.directoryRenames=true", "merge-tree", "--stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines: String = pairs.iter().map(|[one, two]| format!("{one} {two}\n")).collect();
        let mut input = git.stdin.take().unwrap();
        let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
        let output = git.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(output.status.success(), "{:?}", output.status);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = text.split('\0').collect();
        // Each merge begins with its status and the id of a tree, after an empty word.
        let begins = |at: &usize| {
            let is_id = |word: &&str| word.len() == 40 && word.parse::<Oid>().is_ok();
            matches!(words[*at], "0" | "1")
                && words.get(*at + 1).is_some_and(is_id)
                && (*at == 0 || words[*at - 1].is_empty())
        };
        let starts: Vec<usize> = (0..words.len()).filter(begins).collect();
        assert_eq!(starts.len(), pairs.len(), "{text}");
        let outcome = |(number, start): (usize, &usize)| {
            let end = starts.get(number + 1).copied().unwrap_or(words.len());
            match words[*start] {
                "1" => Outcome::Merged(self.read_tree(words[start + 1].parse().unwrap())),
                _ => Outcome::Conflicts(words[start + 2..end].join(" ")),
            }
        };
        starts.iter().enumerate().map(outcome).collect()
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
            // Here git loses the file, which is mended in later versions of git.
            let is_back = |conflict: &Conflict| {
                let renamed = conflict.renamed.as_ref();
                renamed.is_some_and(|renamed| renamed.from == conflict.path)
            };
            let show = |conflict: &Conflict| {
                let note = if is_back(conflict) { BACK } else { "" };
                format!("{:?} {}{note}", conflict.reason, conflict.path)
            };
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

/// Compares the trees of every fifth seed, in groups of which git merges all at once.
fn compare(share: u64) {
    let cases = cases(300) / SHARES;
    let (mut conflicts, mut different) = (0, Vec::new());
    let seeds: Vec<u64> = (0..cases).map(|case| case * SHARES + share).collect();
    for seeds in seeds.chunks(200) {
        let judge = Judge::new();
        let odb = judge.git.odb().unwrap();
        // One pack is written faster than a file for each object.
        let objects = odb.add_new_mempack_backend(1_000).unwrap();
        let trees: Vec<[Entries; 3]> = seeds.iter().map(|seed| judge.sample(*seed)).collect();
        let commits: Vec<[Oid; 2]> = trees.iter().map(|trees| judge.commits(trees)).collect();
        let mut pack = git2::Buf::new();
        objects.dump(&judge.git, &mut pack).unwrap();
        let mut writer = odb.packwriter().unwrap();
        writer.write_all(&pack).unwrap();
        writer.commit().unwrap();
        for ((seed, trees), git) in seeds.iter().zip(&trees).zip(judge.gits(&commits)) {
            let here = judge.ours(trees.each_ref());
            let both = [&git, &here].map(|outcome| matches!(outcome, Outcome::Conflicts(_)));
            conflicts += u64::from(both[0]);
            if both != [true, true] && git != here && !git_loses_a_file(trees, &git, &here) {
                different.push(described(*seed, trees, &git, &here));
            }
        }
    }
    let some = different.iter().take(4).cloned().collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{} differ\n{some}", different.len());
    assert!(conflicts * 10 >= cases * 3, "{conflicts} conflicts in {cases} cases");
}

/// Returns whether git lost a file. Here there is a conflict if renamed folders bring the file back to
/// its old name, or put another file where its folder is. A file that follows a folder to where
/// another was renamed away is there.
fn git_loses_a_file([base, ours, theirs]: &[Entries; 3], git: &Outcome, here: &Outcome) -> bool {
    let Outcome::Merged(merged) = git else { return false };
    let is_in = |tree: &Entries, oid: Oid| tree.values().any(|entry| entry.oid == oid);
    let is_lost = |oid: Oid| {
        let is_new = |side: &Entries| {
            side.iter().any(|(path, entry)| entry.oid == oid && !base.contains_key(path))
        };
        [ours, theirs].into_iter().any(is_new) && !is_in(base, oid) && !is_in(merged, oid)
    };
    match here {
        Outcome::Conflicts(here) => {
            let mut added = ours.values().chain(theirs.values());
            let any_lost = added.any(|entry| is_lost(entry.oid));
            here.lines()
                .all(|line| line.ends_with(BACK) || line.starts_with("InTheWay ") && any_lost)
        }
        Outcome::Merged(here) => {
            let mut rest = here.clone();
            rest.retain(|_, entry| !is_lost(entry.oid));
            rest.len() < here.len() && rest == *merged
        }
    }
}

fn described(
    seed: u64,
    [base, ours, theirs]: &[Entries; 3],
    git: &Outcome,
    here: &Outcome,
) -> String {
    let side = |side: &Entries| {
        let short = |entry: Option<Entry>| {
            entry.map_or("-".into(), |entry| format!("{:?} {:.6}", entry.mode, entry.oid))
        };
        let line = |change: Change| {
            format!("  {}: {} -> {}\n", change.path, short(change.base), short(change.task))
        };
        changes(base, side).into_iter().map(line).collect::<String>()
    };
    let names: Vec<_> = base.keys().collect();
    let (ours, theirs) = (side(ours), side(theirs));
    format!("seed {seed}\nbase {names:?}\nours\n{ours}theirs\n{theirs}git {git:?}\nhere {here:?}\n")
}
