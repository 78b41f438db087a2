//! Makes trees of a known size to measure on.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, open, statx};
use tempfile::TempDir;

/// A repository with many files, committed and clean.
#[derive(Debug)]
pub struct SampleTree {
    root: PathBuf,
}

/// How many files are in a folder.
const FOLDER: usize = 200;

/// Makes a folder that goes away again, on the file system that the target folder is on: the
/// folder for temporary files may lie in memory, where copies cost something else. Each folder in it is
/// in a part of the disk of its own: ext4 looks long for an inode where many were deleted within the
/// last minutes, for instance by another bench.
///
/// # Panics
/// When there is no room for one.
#[must_use]
pub fn scratch() -> TempDir {
    let bench = std::env::current_exe().expect("a bench knows where it is");
    let beside = bench.parent().expect("it lies in a folder");
    let scratch = TempDir::with_prefix_in("regatta-bench-", beside).expect("a folder can be made");
    spread_folders(scratch.path());
    scratch
}

/// Asks the file system to put each new folder in this one where there is most room, if it can.
pub fn spread_folders(folder: &Path) {
    let asked = Command::new("chattr").arg("+T").arg(folder).stderr(Stdio::null()).status();
    let _other_file_systems_have_no_such_thing = asked;
}

/// The file system in memory.
const MEMORY: &str = "/dev/shm";

/// How many bytes must be free there.
const NEEDED: u64 = 256 << 20;

/// Makes a folder in memory that goes away again. Returns `None` where there is no room for one.
#[must_use]
pub fn scratch_in_memory() -> Option<TempDir> {
    let stat = rustix::fs::statvfs(MEMORY).ok()?;
    if stat.f_bavail * stat.f_frsize < NEEDED {
        return None;
    }
    TempDir::with_prefix_in("regatta-bench-", MEMORY).ok()
}

impl SampleTree {
    /// Makes one with `files` files of seven kilobytes on average.
    ///
    /// # Panics
    /// When the disk or the git program does not play along.
    #[must_use]
    pub fn make(root: &Path, files: usize) -> Self {
        for file in 0..files {
            let path = root.join(path_of(file));
            if file % FOLDER == 0 {
                let folder = path.parent().expect("a file is in a folder");
                std::fs::create_dir_all(folder).expect("a folder can be made");
            }
            std::fs::write(path, text(file)).expect("a file can be written");
        }
        let tree = Self { root: root.to_owned() };
        tree.git(&["init", "--quiet"]);
        // How tightly git packs it makes no difference to what is measured. Files above the
        // threshold go into a pack at once, instead of one by one to the disk.
        tree.git(&["config", "core.compression", "0"]);
        tree.git(&["-c", "core.bigFileThreshold=1", "add", "--all"]);
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        tree.git(&[&who[..], &["commit", "--quiet", "--message", "sample"]].concat());
        tree
    }

    /// Returns its root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the paths of its first files.
    #[must_use]
    pub fn files(&self, count: usize) -> Vec<String> {
        (0..count).map(path_of).collect()
    }

    /// Reads the stat of each file, on all cores, by nothing else than that system call. Returns how
    /// many there are.
    ///
    /// # Panics
    /// When one cannot be read.
    #[must_use]
    pub fn stat_all(&self, files: usize) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (folders, next) = (files.div_ceil(FOLDER), AtomicUsize::new(0));
        let share = || {
            let mut seen = 0;
            loop {
                let folder = next.fetch_add(1, Ordering::Relaxed);
                if folder >= folders {
                    return seen;
                }
                let path = self.root.join(format!("folder-{folder}"));
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let fd = open(path, flags, Mode::empty()).expect("a folder can be opened");
                for file in folder * FOLDER..files.min((folder + 1) * FOLDER) {
                    let name = format!("file-{file}.txt");
                    let (flags, wanted) = (AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS);
                    statx(&fd, name, flags, wanted).expect("a file has a stat");
                    seen += 1;
                }
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..cores).map(|_| scope.spawn(share)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
        })
    }

    /// Returns how many files differ from what was committed, and makes them what they were.
    ///
    /// # Panics
    /// When git does not play along.
    #[must_use]
    pub fn restore(&self) -> usize {
        let mut git = Command::new("git");
        git.current_dir(&self.root).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let changed = git.args(["diff", "--name-only"]).output().expect("git can be run").stdout;
        self.git(&["checkout", "--quiet", "."]);
        changed.iter().filter(|byte| **byte == b'\n').count()
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(&self.root).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let status = git.args(arguments).status();
        assert!(status.is_ok_and(|status| status.success()), "git {arguments:?}");
    }
}

fn path_of(file: usize) -> String {
    format!("folder-{}/file-{file}.txt", file / FOLDER)
}

/// Returns the text of a file: lines that no two files share, between two and twelve kilobytes.
fn text(file: usize) -> String {
    let mut text = String::new();
    for line in 0..50 + file * 37 % 250 {
        let _written = writeln!(text, "line {line} of file {file} is only here"); // into a String
    }
    text
}
