//! Makes repositories with the git program, and asks it to judge them.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use super::Fingerprint;
use super::git_watch::GitWatch;

/// What each repository is configured with. Whether something is to be tidied up is asked by a process
/// that takes longer than the commit it comes after.
const SETTINGS: &str = "[user]\n\tname = Ada\n\temail = ada@example.org\n[gc]\n\tauto = 0\n\
                        [maintenance]\n\tauto = false\n";

/// A repository of the user's.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
    /// The watch over its `.git`, if there is one.
    watch: Option<Arc<GitWatch>>,
}

/// What the user's uncommitted work looked like at one moment, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirt {
    index: Vec<u8>,
    stash: String,
    head: String,
    git: Fingerprint,
}

impl Repository {
    /// Makes an empty repository at `root`, on the branch `main`.
    #[must_use]
    pub fn init(root: &Path) -> Self {
        Self::init_with(root, &[])
    }

    /// The same with more arguments for `git init`.
    #[must_use]
    pub fn init_with(root: &Path, arguments: &[&str]) -> Self {
        std::fs::create_dir_all(root).expect("a folder can be made");
        let root = root.canonicalize().expect("it was just made");
        let made = Self { root, watch: None };
        made.git(&[&["init", "--quiet", "--initial-branch=main"], arguments].concat());
        let file = if made.has(".git") { ".git/config" } else { "config" };
        let file = std::fs::OpenOptions::new().append(true).open(made.path(file));
        let written = file.and_then(|mut file| file.write_all(SETTINGS.as_bytes()));
        written.expect("the configuration can be written");
        made
    }

    /// Returns the repository that is already there.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { root: root.canonicalize().expect("it is there"), watch: None }
    }

    /// Returns the repository, of which only this value and its clones may change `.git` from now on:
    /// that is checked before each of their changes, and when the last of them is dropped.
    #[must_use]
    pub fn watched(self) -> Self {
        let watch = Some(Arc::new(GitWatch::of(&self.path(".git"))));
        Self { watch, ..self }
    }

    /// Does what may change `.git` on purpose.
    pub fn changing_git<T>(&self, change: impl FnOnce() -> T) -> T {
        match &self.watch {
            Some(watch) => watch.around(change),
            None => change(),
        }
    }

    /// Returns the root of its working tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the place of a path in its working tree.
    #[must_use]
    pub fn path(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.root.join(Path::new(path.as_ref()))
    }

    /// Writes a file, with its folders.
    pub fn write(&self, path: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) {
        let is_git = Path::new(path.as_ref()).starts_with(".git");
        let path = self.path(path);
        let write = || {
            let folder = path.parent().expect("a path in a tree has a parent");
            std::fs::create_dir_all(folder).expect("a folder can be made");
            std::fs::write(&path, bytes).expect("a file can be written");
        };
        if is_git { self.changing_git(write) } else { write() }
    }

    /// Makes a file executable.
    pub fn make_executable(&self, path: &str) {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(path), mode).expect("a mode can be set");
    }

    /// Returns the bytes of a file.
    #[must_use]
    pub fn read(&self, path: impl AsRef<OsStr>) -> Vec<u8> {
        let path = self.path(path);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns a file as text.
    #[must_use]
    pub fn text(&self, path: impl AsRef<OsStr>) -> String {
        String::from_utf8_lossy(&self.read(path)).into_owned()
    }

    /// Returns whether a path is there, whatever it is.
    #[must_use]
    pub fn has(&self, path: impl AsRef<OsStr>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// Commits everything there is.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--no-verify", "--message", message]);
    }

    /// Runs git in it and returns what it wrote.
    ///
    /// # Panics
    /// When git fails.
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git in it, whatever comes of it.
    #[must_use]
    pub fn try_git(&self, arguments: &[&str]) -> Output {
        let mut git = git_in(&self.root);
        self.changing_git(|| git.args(arguments).output().expect("git can be run"))
    }

    /// Feeds `input` to git and returns whether it liked it.
    #[must_use]
    pub fn git_accepts(&self, arguments: &[&str], input: &[u8]) -> bool {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        std::fs::write(file.path(), input).expect("a file can be written");
        let stdin = file.reopen().expect("it can be read");
        let mut git = git_in(&self.root);
        let status = self.changing_git(|| git.args(arguments).stdin(stdin).status());
        status.expect("git can be run").success()
    }

    /// Leaves a stash, staged and unstaged changes, a staged new file and untracked files, none of
    /// which touches a path outside `mine/`.
    pub fn make_dirty(&self) {
        for name in ["staged", "unstaged", "both", "stashed"] {
            self.write(format!("mine/{name}.txt"), format!("{name}\n"));
        }
        self.commit("what the user is at");
        self.write("mine/stashed.txt", "stashed\nfor later\n");
        self.git(&["stash", "push", "--quiet"]);
        self.write("mine/staged.txt", "staged\nin the index\n");
        self.write("mine/both.txt", "both\nin the index\n");
        self.write("mine/new.txt", "new in the index\n");
        self.git(&["add", "mine"]);
        self.write("mine/both.txt", "both\nin the index\nand then again\n");
        self.write("mine/unstaged.txt", "unstaged\nin the tree\n");
        self.write("mine/untracked/notes.txt", "never added\n");
    }

    /// Takes down everything that is the user's and not ours: the index, the stash, HEAD, and every
    /// file under `mine/`.
    #[must_use]
    pub fn dirt(&self) -> Dirt {
        Dirt {
            index: self.read(".git/index"),
            stash: self.git(&["stash", "list", "--format=%H %gs"]),
            head: self.git(&["rev-parse", "HEAD"]),
            git: Fingerprint::of(&self.path("mine")),
        }
    }

    /// Takes down the working tree without `.git`.
    #[must_use]
    pub fn tree(&self) -> Fingerprint {
        Fingerprint::without(&self.root, &[".git"])
    }

    /// Takes down `.git`.
    #[must_use]
    pub fn dot_git(&self) -> Fingerprint {
        Fingerprint::of(&self.path(".git"))
    }

    /// Returns the id of the tree that git would make of the working tree as it is, using an index
    /// of its own.
    #[must_use]
    pub fn tree_id(&self) -> String {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let index = folder.path().join("index");
        let git = |arguments: &[&str]| {
            let mut git = git_in(&self.root);
            git.env("GIT_INDEX_FILE", &index).args(arguments);
            let output = self.changing_git(|| git.output().expect("git can be run"));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        git(&["add", "--all"]);
        git(&["write-tree"])
    }

    /// Returns what `git fsck` complains about; empty if nothing.
    #[must_use]
    pub fn faults(&self) -> String {
        let output = self.try_git(&["fsck", "--full", "--strict", "--no-dangling"]);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let lines = said.lines().filter(|line| !line.starts_with("notice:"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns what an engine may have left behind in it: temporary files and locks.
    #[must_use]
    pub fn leftovers(&self) -> Vec<String> {
        let everything = Fingerprint::of(&self.root);
        let ours = everything.paths().filter(|path| {
            let name = path.file_name().unwrap_or_default().as_bytes();
            let lock = path.starts_with(".git") && name.ends_with(b".lock");
            lock || name.starts_with(b".regatta-")
        });
        ours.map(|path| path.display().to_string()).collect()
    }
}

/// Returns a git program that reads no settings but the repository's and refreshes no index.
fn git_in(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .env("LC_ALL", "C");
    for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        git.env_remove(variable);
    }
    git
}
