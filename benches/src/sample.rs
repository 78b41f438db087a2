//! Makes trees of a known size to measure on.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A repository with many files, committed and clean.
#[derive(Debug)]
pub struct SampleTree {
    root: PathBuf,
}

/// Makes a folder that goes away again, on the file system that the target folder is on: the
/// folder for temporary files may lie in memory, where copies cost something else.
///
/// # Panics
/// When there is no room for one.
#[must_use]
pub fn scratch() -> TempDir {
    let bench = std::env::current_exe().expect("a bench knows where it is");
    let beside = bench.parent().expect("it lies in a folder");
    TempDir::with_prefix_in("regatta-bench-", beside).expect("a folder can be made")
}

impl SampleTree {
    /// Makes one with `files` files of seven kilobytes on average, two hundred to a folder.
    ///
    /// # Panics
    /// When the disk or the git program does not play along.
    #[must_use]
    pub fn make(root: &Path, files: usize) -> Self {
        for file in 0..files {
            let folder = root.join(format!("folder-{}", file / 200));
            if file % 200 == 0 {
                std::fs::create_dir_all(&folder).expect("a folder can be made");
            }
            let path = folder.join(format!("file-{file}.txt"));
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

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(&self.root).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let status = git.args(arguments).status();
        assert!(status.is_ok_and(|status| status.success()), "git {arguments:?}");
    }
}

/// Returns the text of a file: lines that no two files share, between two and twelve kilobytes.
fn text(file: usize) -> String {
    let mut text = String::new();
    for line in 0..50 + file * 37 % 250 {
        let _written = writeln!(text, "line {line} of file {file} is only here"); // into a String
    }
    text
}
