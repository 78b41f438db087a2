//! Reads what a commit of a task store holds, by the git program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::files::{Files, Node};

/// Returns every file and symlink of `commit` in the bare repository `store`.
///
/// # Panics
/// When there is no such commit, or git fails.
#[must_use]
pub(super) fn files_of(store: &Path, commit: &str) -> Files {
    let listed = git(store, &["ls-tree", "-r", "-z", commit], b"");
    let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let entries: Vec<_> = entries.map(Entry::read).collect();
    let asked: Vec<u8> = entries.iter().flat_map(|entry| [entry.id, b"\n"].concat()).collect();
    let answered = git(store, &["cat-file", "--batch"], &asked);
    let mut rest = answered.as_slice();
    let mut files = Files::new();
    for entry in entries {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("each answer has a header");
        let header = String::from_utf8_lossy(&rest[..end]);
        let size = header.rsplit(' ').next().and_then(|size| size.parse().ok());
        let size: usize = size.unwrap_or_else(|| panic!("no size in {header:?}"));
        let bytes = rest[end + 1..][..size].to_vec();
        rest = &rest[end + 1 + size + 1..];
        let node = match entry.mode {
            b"120000" => Node::Link(bytes),
            mode => Node::File { executable: mode == b"100755", bytes },
        };
        files.insert(entry.path.to_vec(), node);
    }
    files
}

struct Entry<'l> {
    mode: &'l [u8],
    id: &'l [u8],
    path: &'l [u8],
}

impl<'l> Entry<'l> {
    /// Reads `MODE TYPE ID<tab>PATH`.
    fn read(line: &'l [u8]) -> Self {
        let tab = line.iter().position(|byte| *byte == b'\t').expect("a path follows a tab");
        let mut words = line[..tab].split(|byte| *byte == b' ');
        let mut word = || words.next().expect("there are three words");
        let (mode, _kind, id) = (word(), word(), word());
        Self { mode, id, path: &line[tab + 1..] }
    }
}

fn git(store: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.arg("--git-dir").arg(store).args(arguments);
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = git.spawn().expect("git can be run");
    let mut stdin = running.stdin.take().expect("its input is a pipe");
    stdin.write_all(input).expect("git reads what it is asked");
    drop(stdin);
    let output = running.wait_with_output().expect("git can be awaited");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    output.stdout
}
