//! The commit that a task made itself in its workspace, if it made exactly one. Its message becomes
//! that of the task's branch.
//!
//! The task may have written anything into the git directory of its workspace. So only regular files
//! of limited size are read, by name, and the directory is never opened as a repository.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use git2::{ObjectType, Oid};

use crate::capture::own_objects::OwnObjects;

/// The largest file that is read to find a reference.
const LARGEST_REFERENCES: u64 = 64 << 20;

/// The longest message, in bytes.
pub(super) const LONGEST_MESSAGE: usize = 64 << 10;

/// Returns the message of the only commit that a task made, or `None` if it made several or it cannot
/// be read. `git_dir` is the git directory of its workspace, and `template` what that was copied
/// from. `before` is the commit that HEAD named when the task began, and `after` another one, which
/// it names now.
pub(super) fn own_commit_message(
    git_dir: &Path,
    template: &Path,
    before: Option<Oid>,
    after: Oid,
) -> Option<String> {
    let objects = OwnObjects::open(git_dir, template)?;
    let commit = objects.read(after, ObjectType::Commit, 2 * LONGEST_MESSAGE)?;
    let text = String::from_utf8_lossy(&commit);
    let (header, message) = text.split_once("\n\n")?;
    let mut parents = header.lines().filter_map(|line| line.strip_prefix("parent "));
    let is_only = match (parents.next(), before) {
        (Some(parent), Some(before)) => parent == before.to_string(),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if !is_only || parents.next().is_some() || message.len() > LONGEST_MESSAGE {
        return None;
    }
    let message = message.replace('\0', "");
    let message = git2::message_prettify(message, None).ok()?;
    (!message.trim().is_empty()).then_some(message)
}

/// Returns the commit that HEAD names, or `None` if there is none.
pub(super) fn head(git_dir: &Path) -> Option<Oid> {
    if !is_folder(git_dir) {
        return None;
    }
    let text = regular(&git_dir.join("HEAD"))?;
    let text = text.trim_ascii();
    let Some(name) = text.strip_prefix(b"ref: ") else { return oid(text) };
    let name = name.trim_ascii();
    let is_plain =
        name.starts_with(b"refs/") && !name.split(|byte| *byte == b'/').any(|part| part == b"..");
    if !is_plain {
        return None;
    }
    let loose = regular(&git_dir.join(std::ffi::OsStr::from_bytes(name)));
    if let Some(loose) = loose {
        return oid(loose.trim_ascii());
    }
    let packed = regular(&git_dir.join("packed-refs"))?;
    let mut lines = packed.split(|byte| *byte == b'\n');
    lines.find_map(|line| oid(line.strip_suffix(name)?.strip_suffix(b" ")?))
}

fn oid(text: &[u8]) -> Option<Oid> {
    let text = std::str::from_utf8(text).ok()?;
    if text.len() == 40 { Oid::from_str(text).ok() } else { None }
}

/// Reads a regular file of limited size. A FIFO or a device in its place could block for ever.
fn regular(path: &Path) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST_REFERENCES {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(LARGEST_REFERENCES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns where a git directory looks for further objects.
pub(super) fn alternates(git_dir: &Path) -> Option<Vec<u8>> {
    regular(&git_dir.join("objects/info/alternates"))
}

/// Returns whether this is a folder, and not a symlink that leads to one.
pub(super) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

pub(super) fn is_file_or_missing(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(meta) => meta.is_file(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

pub(super) fn holds_only_files(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return is_file_or_missing(folder) };
    entries.all(|entry| entry.and_then(|entry| entry.file_type()).is_ok_and(|kind| kind.is_file()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::landing::tests::kit::git;

    /// Makes a repository with one commit, and a clone of it in which a task may work. Returns both
    /// git directories and the clone.
    fn workspace(folder: &Path) -> (PathBuf, PathBuf, PathBuf) {
        let (root, clone) = (folder.join("root"), folder.join("clone"));
        git(folder, &["init", "-q", root.to_str().unwrap()]);
        fs::write(root.join("a"), "1\n").unwrap();
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-q", "-m", "begin"]);
        git(folder, &["clone", "-q", root.to_str().unwrap(), clone.to_str().unwrap()]);
        (clone.join(".git"), root.join(".git"), clone)
    }

    fn message_of(own: &Path, template: &Path) -> Option<String> {
        let before = head(template);
        let after = head(own).filter(|after| Some(*after) != before)?;
        own_commit_message(own, template, before, after)
    }

    fn commit(tree: &Path, message: &str) {
        git(tree, &["commit", "-q", "--allow-empty", "-m", message]);
    }

    #[test]
    fn the_message_of_the_only_commit_is_found_on_whatever_branch() {
        let folder = tempfile::tempdir().unwrap();
        let (own, template, tree) = workspace(folder.path());
        let message = || message_of(&own, &template);
        assert_eq!(message(), None);
        git(&tree, &["checkout", "-q", "-b", "feature/x"]);
        commit(&tree, "Move it\n\nBecause of that.\n");
        assert_eq!(message().as_deref(), Some("Move it\n\nBecause of that.\n"));
        git(&tree, &["checkout", "-q", "--detach"]);
        git(&tree, &["pack-refs", "--all"]);
        git(&tree, &["repack", "-q", "-a", "-d"]);
        assert_eq!(message().as_deref(), Some("Move it\n\nBecause of that.\n"));
        commit(&tree, "And more");
        assert_eq!(message(), None, "two commits have no one message");
        git(&tree, &["reset", "-q", "--hard", "HEAD~2"]);
        git(&tree, &["commit", "-q", "--amend", "-m", "another beginning"]);
        assert_eq!(message(), None, "the commit before it is not the user's");
    }

    #[test]
    fn what_a_task_puts_in_place_of_git_files_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (own, template, tree) = workspace(folder.path());
        commit(&tree, "Move it");
        let id = git(&tree, &["rev-parse", "HEAD"]);
        let object = own.join("objects").join(&id[..2]).join(&id.trim()[2..]);
        fs::remove_file(&object).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &object, 0o600.into()).unwrap();
        assert_eq!(message_of(&own, &template), None);
        fs::remove_file(own.join("HEAD")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, own.join("HEAD"), 0o600.into()).unwrap();
        assert_eq!(message_of(&own, &template), None);
        fs::remove_file(own.join("HEAD")).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/../../../etc/passwd\n").unwrap();
        assert_eq!(message_of(&own, &template), None);
        fs::remove_dir_all(&own).unwrap();
        assert_eq!(message_of(&own, &template), None);
    }
}
