//! Opens a repository inside another one, after everything that libgit2 would follow was looked at.
//! So no file outside of the enclosing repositories is read, and nothing blocks.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use git2::{Repository, RepositoryOpenFlags, RepositoryState};
use protocol::RepoPath;

use crate::index_file::{self, Unreadable};
use crate::repository::{Repo, open_git};
use crate::tree::Tree;

/// The largest `.git` file, configuration or list of alternates that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// What a git folder must have as folders, and may have as files.
const FOLDERS: [&str; 2] = ["objects", "refs"];
const FOLDERS_OR_NONE: [&str; 4] = ["objects/pack", "objects/info", "refs/heads", "info"];
const FILES: [&str; 2] = ["HEAD", "config"];
const FILES_OR_NONE: [&str; 6] = [
    "index",
    "packed-refs",
    "shallow",
    "config.worktree",
    "objects/info/alternates",
    "info/exclude",
];

/// The beginning of a section that includes other files.
const INCLUDE: &[u8] = b"[include";

/// The most files of objects and references that are looked at, and how deep their folders are.
const MOST: usize = 1_000_000;
const DEEPEST: usize = 100;

/// A repository inside another one.
pub(crate) struct NestedRepo {
    /// The repository, whose root is the nested folder.
    pub(crate) repo: Repo,
    /// Its libgit2 handle.
    pub(crate) git: Repository,
}

/// Opens the repository in the folder `path` of the user's repository `repo`, where there may be
/// others around it. `roots` are the folders of all nested repositories.
///
/// # Errors
/// Returns why it cannot be used.
pub(crate) fn open_in(repo: &Repo, roots: &[Vec<u8>], path: &[u8]) -> Result<NestedRepo, String> {
    let tree = Tree::open_at(&repo.root).map_err(|error| crate::error::error_text(&error))?;
    let mut around = vec![repo.clone()];
    for root in roots.iter().filter(|root| {
        path.strip_prefix(root.as_slice()).is_some_and(|rest| rest.starts_with(b"/"))
    }) {
        around.push(open_below(&tree, &around, root)?.repo);
    }
    open_below(&tree, &around, path)
}

/// Opens the repository in the folder `path` of `tree`. `around` are the repositories in which it
/// lies, the outermost first.
///
/// # Errors
/// Returns why it cannot be used.
pub(crate) fn open_below(tree: &Tree, around: &[Repo], path: &[u8]) -> Result<NestedRepo, String> {
    // No component of the path is a symlink.
    tree.open(path).map_err(|error| format!("it cannot be opened: {error}"))?;
    let folder = tree.root().join(OsStr::from_bytes(path));
    let dirs = around.iter().flat_map(|repo| [&repo.git_dir, &repo.common_dir]);
    let git_dir = git_dir(&folder, dirs)?;
    check_entries(&git_dir)?;
    check_files(&git_dir)?;
    check_alternates(&git_dir, around)?;
    check_config(&git_dir)?;
    check_index(&git_dir)?;
    let git = open_git(&folder, RepositoryOpenFlags::NO_SEARCH)
        .map_err(|error| error.message().to_owned())?;
    let is = |found: &Path, expected: &Path| {
        fs::canonicalize(found).is_ok_and(|found| found == *expected)
    };
    if !git.workdir().is_some_and(|workdir| is(workdir, &folder)) {
        return Err("its core.worktree names another folder".to_owned());
    }
    if !is(git.path(), &git_dir) || !is(git.commondir(), &git_dir) {
        return Err("it is a linked worktree".to_owned());
    }
    match git.state() {
        RepositoryState::Clean | RepositoryState::Bisect => {}
        _ => return Err("a merge, a rebase or the like is in progress in it".to_owned()),
    }
    let index = git.index().map_err(|error| error.message().to_owned())?;
    if index.has_conflicts() {
        return Err("its index has unmerged paths".to_owned());
    }
    if let Err(error) = git.head().and_then(|head| head.peel_to_tree())
        && error.code() != git2::ErrorCode::UnbornBranch
    {
        return Err("its HEAD leads to no commit".to_owned());
    }
    let repo = Repo::of_nested(folder, git_dir, &git);
    Ok(NestedRepo { repo, git })
}

/// Returns the git folders of the repositories in the folders `roots` of `repo`, which are sorted,
/// without opening them. One that has none any more is left out.
pub(crate) fn git_dirs<'a>(repo: &Repo, roots: impl Iterator<Item = &'a RepoPath>) -> Vec<PathBuf> {
    let Ok(tree) = Tree::open_at(&repo.root) else { return Vec::new() };
    let mut found: Vec<PathBuf> = Vec::new();
    for root in roots {
        let folder = tree.root().join(OsStr::from_bytes(root.as_bytes()));
        let around = [&repo.git_dir, &repo.common_dir].into_iter().chain(&found);
        // No component of the path is a symlink.
        if tree.open(root.as_bytes()).is_ok()
            && let Ok(dir) = git_dir(&folder, around)
        {
            found.push(dir);
        }
    }
    found
}

/// Returns the canonical git folder of the repository in `folder`. `around` are those of the
/// repositories in which it lies.
fn git_dir<'a>(
    folder: &Path,
    mut around: impl Iterator<Item = &'a PathBuf>,
) -> Result<PathBuf, String> {
    let link = folder.join(".git");
    let kind = fs::symlink_metadata(&link).map_err(|error| format!("its .git: {error}"))?;
    if kind.is_symlink() {
        return Err("its .git is a symlink".to_owned());
    }
    if kind.is_dir() {
        return Ok(link);
    }
    let text = small_file(&link).ok_or("its .git is neither a folder nor a small file")?;
    let named = text.strip_prefix(b"gitdir: ").ok_or("its .git names no git folder")?;
    let named = folder.join(OsStr::from_bytes(named.trim_ascii_end()));
    let found = fs::canonicalize(&named)
        .map_err(|error| format!("its .git names {}: {error}", named.display()))?;
    // As git has them: the git folders of submodules are in that of the repository around them.
    let is_known = around.any(|dir| {
        found.strip_prefix(dir.join("modules")).is_ok_and(|rest| rest.components().count() > 0)
    });
    if !is_known {
        return Err(format!("its .git names {}, outside of this repository", found.display()));
    }
    Ok(found)
}

fn check_entries(git_dir: &Path) -> Result<(), String> {
    let kind = |name: &str| fs::symlink_metadata(git_dir.join(name)).ok();
    if kind("commondir").is_some() {
        return Err("it is a linked worktree".to_owned());
    }
    let is_folder = |name: &str| kind(name).map(|meta| meta.is_dir());
    let is_file = |name: &str| kind(name).map(|meta| meta.is_file());
    let required = FOLDERS.map(|name| (name, is_folder(name).or(Some(false))));
    let files = FILES.map(|name| (name, is_file(name).or(Some(false))));
    let optional = FOLDERS_OR_NONE.map(|name| (name, is_folder(name)));
    let optional_files = FILES_OR_NONE.map(|name| (name, is_file(name)));
    let all = required.iter().chain(&files).chain(&optional).chain(&optional_files);
    match all.into_iter().find(|(_, is_right)| *is_right == Some(false)) {
        Some((name, _)) => Err(format!("its git folder has no regular {name}")),
        None => Ok(()),
    }
}

/// Refuses anything but files and folders among objects and references: reading a FIFO would block,
/// and a symlink leads elsewhere.
fn check_files(git_dir: &Path) -> Result<(), String> {
    let mut waiting: Vec<(PathBuf, usize)> =
        FOLDERS.iter().map(|name| (git_dir.join(name), 0)).collect();
    let mut seen = 0;
    while let Some((folder, depth)) = waiting.pop() {
        let text = |error| format!("its git folder cannot be read: {error}");
        for entry in fs::read_dir(&folder).map_err(text)? {
            let entry = entry.map_err(text)?;
            let kind = entry.file_type().map_err(text)?;
            seen += 1;
            if seen > MOST || depth > DEEPEST {
                return Err("its git folder has too many files".to_owned());
            }
            if kind.is_dir() {
                waiting.push((entry.path(), depth + 1));
            } else if !kind.is_file() {
                let path = entry.path();
                let name = path.strip_prefix(git_dir).unwrap_or(&path).display();
                return Err(format!("in its git folder, {name} is not a regular file"));
            }
        }
    }
    Ok(())
}

/// Accepts only the objects of the repositories around it as alternates.
fn check_alternates(git_dir: &Path, around: &[Repo]) -> Result<(), String> {
    let objects = git_dir.join("objects");
    let text = small_file(&objects.join("info/alternates")).unwrap_or_default();
    for line in text.split(|byte| *byte == b'\n') {
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let named = objects.join(OsStr::from_bytes(line));
        let found = fs::canonicalize(&named).unwrap_or(named);
        if !around.iter().any(|repo| repo.common_dir.join("objects") == found) {
            let found = found.display();
            return Err(format!("some of its objects are in {found}, outside of this repository"));
        }
    }
    Ok(())
}

/// Refuses settings that are read from other files.
fn check_config(git_dir: &Path) -> Result<(), String> {
    for name in ["config", "config.worktree"] {
        let file = git_dir.join(name);
        if file.symlink_metadata().is_err() {
            continue;
        }
        let text = small_file(&file).ok_or_else(|| format!("its {name} cannot be read"))?;
        // A section can begin anywhere in a line.
        if text.windows(INCLUDE.len()).any(|part| part.eq_ignore_ascii_case(INCLUDE)) {
            return Err("its configuration includes other files".to_owned());
        }
    }
    Ok(())
}

/// Refuses an index that libgit2 must not read, or cannot.
fn check_index(git_dir: &Path) -> Result<(), String> {
    let file = git_dir.join("index");
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    let bytes = index_file::read(&file).ok_or("its index is too large")?;
    index_file::paths(&bytes, |_path| {}).map_err(|why| match why {
        Unreadable::Damaged => "its index is damaged".to_owned(),
        Unreadable::Partial => "its index is split or sparse".to_owned(),
    })
}

/// Reads a small regular file. A FIFO in its place does not block.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
