//! What tasks do to their workspaces, and what a task sees of one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, lgetxattr, llistxattr, lsetxattr, mknodat};
use tests::fuzz::Random;

/// Returns what no other file or folder has, also none that comes later.
pub(super) fn identity(path: &Path) -> Option<(u64, SystemTime)> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.ino(), meta.created().ok()?))
}

/// What can be seen of one entry.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Seen {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    /// When it was changed, if it is a file or a symlink.
    modified: Option<(i64, i64)>,
    bytes: Vec<u8>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mode, owner, links, modified, bytes, xattrs } = self;
        let bytes = bytes[..bytes.len().min(60)].escape_ascii();
        write!(f, "{mode:o} {owner:?} {links} {modified:?} {xattrs:?} \"{bytes}\"")
    }
}

/// Takes down everything in `folder`. `own` is written as `OWN` where it is in a file. The work of
/// predecessors, at the paths in `written` below the tree, has the time at which it was written.
pub(super) fn observe(
    folder: &Path,
    own: &str,
    written: &BTreeSet<PathBuf>,
) -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let meta = fs::symlink_metadata(&path).expect("it is there");
        let bytes = if meta.is_dir() {
            let entries = fs::read_dir(&path).expect("it can be listed");
            waiting.extend(entries.map(|entry| entry.expect("it can be listed").path()));
            Vec::new()
        } else if meta.is_symlink() {
            fs::read_link(&path).expect("it can be read").into_os_string().into_encoded_bytes()
        } else {
            replaced(&fs::read(&path).expect("it can be read"), own.as_bytes())
        };
        let name = path.strip_prefix(folder).expect("it is below").to_path_buf();
        if name == Path::new("marker") {
            continue;
        }
        // The link is written for each task, and most of what is git's for each run.
        let is_tree = name.starts_with("tree") && name != Path::new("tree/.git");
        let is_dated = match name.strip_prefix("tree") {
            Ok(below) => is_tree && !meta.is_dir() && !written.contains(below),
            Err(_) => name == Path::new("git/index") && written.is_empty(),
        };
        let entry = Seen {
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            links: if meta.is_dir() { 0 } else { meta.nlink() },
            modified: is_dated.then(|| (meta.mtime(), meta.mtime_nsec())),
            bytes,
            xattrs: xattrs(&path),
        };
        seen.insert(name, entry);
    }
    seen
}

fn replaced(bytes: &[u8], own: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(own.len()).position(|part| part == own) {
        found.extend_from_slice(&rest[..at]);
        found.extend_from_slice(b"OWN");
        rest = &rest[at + own.len()..];
    }
    [found, rest.to_vec()].concat()
}

fn xattrs(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 1 << 12];
    let length = llistxattr(path, &mut names[..]).unwrap_or_default();
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; 1 << 12];
        let length = lgetxattr(path, OsStr::from_bytes(name), &mut value[..]).unwrap_or_default();
        value.truncate(length);
        (name.to_vec(), value)
    };
    names.map(value).collect()
}

/// A task that does things at random.
pub(super) struct RandomTask<'a> {
    pub(super) root: &'a Path,
    pub(super) random: &'a mut Random,
}

/// Names that are odd in some way.
const NAMES: &[&[u8]] = &[
    b"new",
    b"new.log",
    b"-odd \n\"name",
    b"not-text-\xff",
    b".GIT",
    b".git ",
    b"git~1",
    b"build",
    b"deps",
    b".gitignore",
    b"\xc3\xa4",
    b"a\\b",
];

/// What git is asked to do.
const GIT: &[&str] = &[
    "add -A",
    "add -f .",
    "commit -qam mine",
    "commit -q --allow-empty -m empty",
    "stash -q",
    "stash -q -u",
    "branch mine",
    "checkout -q -b other",
    "config user.name Eve",
    "config core.autocrlf true",
    "config core.hooksPath hooks",
    "reset -q --hard",
    "rm -q --cached one",
    "mv one moved",
    "tag mine",
    "gc -q",
    "update-index --assume-unchanged one",
    "worktree add -q ../other-tree",
    "init -q nested",
    "status",
];

impl RandomTask<'_> {
    /// Does `steps` things. What fails, as much does, fails in every workspace alike.
    pub(super) fn work(&mut self, steps: usize) {
        for _ in 0..steps {
            let _may_fail = self.step();
        }
    }

    fn step(&mut self) -> std::io::Result<()> {
        let entries = self.entries();
        let path = self.random.pick(&entries).clone();
        let new = self.new_path(&entries);
        match self.random.below(25) {
            0 => fs::write(&path, "other\n"),
            1 => self.overwrite(&path),
            2 => fs::remove_file(&path),
            3 => fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)),
            4 | 5 => {
                let mode = *self.random.pick(&[0o755, 0o644, 0o600, 0o444, 0, 0o4755, 0o1777]);
                fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            }
            6 => fs::hard_link(&path, &new),
            7 => symlink(self.random.pick(&["one", "sub", "wide/a", "nowhere"]), &new),
            8 | 9 => fs::rename(&path, &new),
            10 => fs::write(&new, "new\n"),
            11 => fs::create_dir(&new).and_then(|()| fs::write(new.join("file"), "new\n")),
            12 | 13 => self.set_xattr(&path),
            14 | 15 => self.git(),
            16 => fs::File::create(&path).map(drop),
            17 => fs::create_dir_all(new.join(".git")).and_then(|()| fs::write(new.join("x"), "x")),
            18 => {
                fs::remove_file(&path)?;
                fs::create_dir(&path)?;
                fs::write(path.join("below"), "folder now\n")
            }
            19 => {
                fs::remove_dir_all(&path)?;
                fs::write(&path, "file now\n")
            }
            20 => {
                let bytes = fs::read(&path)?;
                fs::write(&new, bytes)?;
                fs::rename(&new, &path)
            }
            // Git would wait for ever to read one with a name that it looks for.
            21 => Ok(mknodat(CWD, self.root.join("fifo"), FileType::Fifo, Mode::RWXU, 0)?),
            22 => fs::read(&path).and_then(|bytes| fs::write(&path, bytes)),
            23 => self.outside(),
            _ => fs::copy(&path, &new).map(drop),
        }
    }

    /// Writes as many other bytes, and gives the file its time back.
    pub(super) fn overwrite(&self, path: &Path) -> std::io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        if !meta.is_file() {
            return Ok(());
        }
        let bytes: Vec<u8> = fs::read(path)?.iter().map(|byte| byte ^ 1).collect();
        fs::write(path, bytes)?;
        fs::File::open(path)?.set_modified(meta.modified()?)
    }

    fn set_xattr(&mut self, path: &Path) -> std::io::Result<()> {
        let name = *self.random.pick(&["user.mine", "user.other"]);
        Ok(lsetxattr(path, name, b"value", XattrFlags::empty())?)
    }

    fn git(&mut self) -> std::io::Result<()> {
        let command = *self.random.pick(GIT);
        self.run_git(command)
    }

    /// Runs git so that it does the same at any time: it compares the files with an index that is older
    /// than all of them. Otherwise an edit that keeps size and time is one for it only if the index was
    /// written in the second of the file.
    pub(super) fn run_git(&self, command: &str) -> std::io::Result<()> {
        let index = self.root.with_file_name("git").join("index");
        if fs::symlink_metadata(&index).is_ok_and(|meta| meta.is_file()) {
            let first = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
            fs::File::open(index)?.set_modified(first)?;
        }
        let mut git = Command::new("git");
        git.args(command.split(' ')).current_dir(self.root).stdin(Stdio::null());
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            git.env(name, "2001-02-03T04:05:06Z");
        }
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.stdout(Stdio::null()).stderr(Stdio::null()).status().map(drop)
    }

    /// Does something to what is around the tree.
    fn outside(&mut self) -> std::io::Result<()> {
        let folder = self.root.parent().expect("a tree is in a folder");
        match self.random.below(7) {
            0 => fs::write(folder.join("stray"), "stray\n"),
            1 => fs::remove_file(self.root.join(".git")),
            2 => fs::remove_dir_all(folder.join("git")),
            3 => {
                fs::remove_file(self.root.join(".git"))?;
                fs::create_dir_all(self.root.join(".git/objects"))
            }
            4 => fs::set_permissions(folder, fs::Permissions::from_mode(0o755)),
            5 => fs::write(folder.join("git/hooks"), "a file\n"),
            _ => {
                fs::remove_file(folder.join("git/index"))?;
                symlink("/dev/null", folder.join("git/index"))
            }
        }
    }

    /// Returns everything in the tree, sorted, but for what is git's.
    fn entries(&self) -> Vec<PathBuf> {
        let mut found = vec![self.root.join("one")];
        let mut waiting = vec![self.root.to_path_buf()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if entry.file_name() == ".git" {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    waiting.push(entry.path());
                }
                // A FIFO would block its reader.
                if entry
                    .file_type()
                    .is_ok_and(|kind| kind.is_dir() || kind.is_file() || kind.is_symlink())
                {
                    found.push(entry.path());
                }
            }
        }
        // Nothing is done through a symlink, which may lead out of the workspace.
        found.retain(|path| !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()));
        found.push(self.root.join("link"));
        found.sort();
        found
    }

    fn new_path(&mut self, entries: &[PathBuf]) -> PathBuf {
        let folders: Vec<_> = entries.iter().filter(|path| path.is_dir()).collect();
        let folder = match folders.is_empty() || self.random.chance(50) {
            true => self.root.to_path_buf(),
            false => (*self.random.pick(&folders)).clone(),
        };
        let name: &[u8] = self.random.pick::<&[u8]>(NAMES);
        folder.join(OsStr::from_bytes(name))
    }
}
