//! What `git merge-tree` makes of two trees: the tree that it leaves, and the conflicts.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use git2::{ObjectType, Oid, Repository};

use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::merge::Blobs;
use crate::merge::tree_samples::Files;

/// The files of a tree by path.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// What a merge comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The merged tree. Where there are conflicts, with git's markers.
    pub(crate) tree: Entries,
    /// Whether there are conflicts. Some have no path.
    pub(crate) is_clean: bool,
    /// The paths that are unmerged, without what marks those of a file that is put beside another.
    pub(crate) unmerged: BTreeSet<String>,
    /// What is said about the conflicts.
    pub(crate) said: Vec<String>,
}

/// A bare repository that holds all trees and blobs.
pub(crate) struct Judge {
    pub(crate) git: Repository,
    folder: tempfile::TempDir,
    /// What git does with files that were added to a renamed folder.
    directory_renames: &'static str,
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

impl Judge {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(folder.path()).unwrap();
        Self { git, folder, directory_renames: "true", written: RefCell::default() }
    }

    /// Returns a judge in whose merges no file follows a renamed folder.
    pub(crate) fn of_reverts() -> Self {
        Self { directory_renames: "false", ..Self::new() }
    }

    /// Commits three trees each, in one pack, which is written faster than a file for each object.
    /// Returns the commits of the two sides.
    pub(crate) fn commit_all(&self, trees: &[[Entries; 3]]) -> Vec<[Oid; 2]> {
        // What is written through this handle is in memory until it is packed.
        let git = Repository::open_bare(self.folder.path()).unwrap();
        let odb = git.odb().unwrap();
        let objects = odb.add_new_mempack_backend(1_000).unwrap();
        for bytes in self.written.borrow().values() {
            git.blob(bytes).unwrap();
        }
        let commits = trees.iter().map(|trees| commits(&git, trees)).collect();
        let mut pack = git2::Buf::new();
        objects.dump(&git, &mut pack).unwrap();
        let mut writer = odb.packwriter().unwrap();
        writer.write_all(&pack).unwrap();
        writer.commit().unwrap();
        commits
    }

    pub(crate) fn entries(&self, files: &Files) -> Entries {
        let entry = |(mode, bytes): &(Mode, Vec<u8>)| Entry {
            mode: *mode,
            oid: self.write(bytes).unwrap(),
        };
        files.iter().map(|(path, file)| (path.clone(), entry(file))).collect()
    }

    /// Merges each pair of commits with git. Returns `None` for those at which an assertion of git fails.
    pub(crate) fn merge_all(&self, pairs: &[[Oid; 2]]) -> Vec<Option<Outcome>> {
        if let Some(outcomes) = self.merge(pairs) {
            return outcomes.into_iter().map(Some).collect();
        }
        let alone = |pair: &[Oid; 2]| self.merge(std::slice::from_ref(pair))?.pop();
        pairs.iter().map(alone).collect()
    }

    fn merge(&self, pairs: &[[Oid; 2]]) -> Option<Vec<Outcome>> {
        let mut git = Command::new("git")
            .current_dir(self.folder.path())
            .arg("-c")
            .arg(format!("merge.directoryRenames={}", self.directory_renames))
            .args(["merge-tree", "--stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines: String = pairs.iter().map(|[one, two]| format!("{one} {two}\n")).collect();
        let mut input = git.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let _shorter_if_git_has_ended = input.write_all(lines.as_bytes());
        });
        let output = git.wait_with_output().unwrap();
        writer.join().unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("Assertion"), "{:?}: {said}", output.status);
            return None;
        }
        // Objects that git has written since.
        self.git.odb().unwrap().refresh().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split('\0');
        let outcomes = pairs.iter().map(|pair| self.outcome(&mut words, pair)).collect();
        assert_eq!(words.collect::<Vec<_>>(), [""], "there is nothing more");
        Some(outcomes)
    }

    /// Reads what git says about one merge: a status, the id of the tree, the unmerged entries, and, if
    /// there are conflicts, messages. A list ends with an empty word.
    fn outcome<'w>(&self, words: &mut impl Iterator<Item = &'w str>, sides: &[Oid; 2]) -> Outcome {
        let is_clean = words.next().unwrap() == "1";
        let tree = words.next().unwrap().parse().unwrap();
        let mut unmerged = BTreeSet::new();
        for entry in words.by_ref().take_while(|word| !word.is_empty()) {
            let (_, path) = entry.split_once('\t').unwrap();
            unmerged.insert(without_side(&named(path, sides)));
        }
        let mut said = Vec::new();
        if !is_clean {
            while let Some(count) = words.next().filter(|word| !word.is_empty()) {
                let count: usize = count.parse().unwrap();
                words.nth(count - 1).unwrap();
                let kind = words.next().unwrap();
                let message = words.next().unwrap();
                if kind.starts_with("CONFLICT") {
                    said.push(named(message.trim(), sides));
                }
            }
        }
        Outcome { tree: self.read_tree(tree, sides), is_clean, unmerged, said }
    }

    /// Reads a tree that git has written, with the names of the sides instead of their ids.
    fn read_tree(&self, tree: Oid, sides: &[Oid; 2]) -> Entries {
        let mut entries = Entries::new();
        let tree = self.git.find_tree(tree).unwrap();
        tree.walk(git2::TreeWalkMode::PreOrder, |folder, entry| {
            if let Some(mode) = Mode::from_git(entry.filemode().cast_unsigned()) {
                let path = format!("{folder}{}", entry.name().unwrap());
                let known = self.written.borrow().contains_key(&entry.id());
                let oid = if known { entry.id() } else { self.written_by_git(entry.id(), sides) };
                entries.insert(named(&path, sides), Entry { mode, oid });
            }
            git2::TreeWalkResult::Ok
        })
        .unwrap();
        entries
    }

    fn written_by_git(&self, oid: Oid, sides: &[Oid; 2]) -> Oid {
        let blob = self.git.find_blob(oid).unwrap();
        match std::str::from_utf8(blob.content()) {
            Ok(text) => self.write(named(text, sides).as_bytes()).unwrap(),
            Err(_) => self.write(blob.content()).unwrap(),
        }
    }
}

/// Commits three trees. Returns the commits of the two sides.
fn commits(git: &Repository, [base, ours, theirs]: &[Entries; 3]) -> [Oid; 2] {
    let base = commit(git, base, &[]);
    [commit(git, ours, &[base]), commit(git, theirs, &[base])]
}

fn tree(git: &Repository, entries: &Entries) -> Oid {
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
    index.write_tree_to(git).unwrap()
}

fn commit(git: &Repository, entries: &Entries, parents: &[Oid]) -> Oid {
    let tree = git.find_tree(tree(git, entries)).unwrap();
    let author = git2::Signature::new("a", "a@b", &git2::Time::new(0, 0)).unwrap();
    let parents: Vec<_> = parents.iter().map(|id| git.find_commit(*id).unwrap()).collect();
    let parents: Vec<_> = parents.iter().collect();
    git.commit(None, &author, &author, "m", &tree, &parents).unwrap()
}

/// Returns a text with the names of the sides instead of their commits.
fn named(text: &str, [ours, theirs]: &[Oid; 2]) -> String {
    text.replace(&ours.to_string(), "ours").replace(&theirs.to_string(), "theirs")
}

/// Returns the path beside which a file stands whose name says of which side it is.
fn without_side(path: &str) -> String {
    path.split_once('~').map_or(path, |(path, _)| path).to_owned()
}
