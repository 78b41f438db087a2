//! The tree of a commit as the target of a merge, and the writing of a changed tree.

use std::collections::BTreeMap;

use git2::{Error, ErrorCode, ObjectType, Oid, Repository, Tree};
use protocol::RepoPath;

use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::merge::{Blobs, EntryState, MergeTarget, MergedPath};
use crate::repository::is_partial;
use crate::tree::folded;

/// The tree of a commit. Its `tree` is `None` if the repository has no commit yet.
pub(super) struct CommitTree<'a> {
    pub(super) git: &'a Repository,
    pub(super) tree: Option<Oid>,
}

impl MergeTarget for CommitTree<'_> {
    fn state_of(&self, path: &RepoPath) -> Result<EntryState> {
        let what = || format!("look up {path} in a commit");
        let Some(tree) = self.tree else { return Ok(EntryState::Missing) };
        let tree = self.git.find_tree(tree).or_cannot(what)?;
        let entry = match tree.get_path(path.as_path()) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(EntryState::Missing),
            Err(error) => return Err(error).or_cannot(what),
        };
        Ok(match (entry.kind(), Mode::from_git(entry.filemode().cast_unsigned())) {
            (Some(ObjectType::Tree), _) => EntryState::Folder,
            (Some(ObjectType::Blob), Some(mode)) => {
                let objects = self.git.odb().or_cannot(what)?;
                if objects.exists(entry.id()) || !is_partial(self.git) {
                    EntryState::Entry(Entry { mode, oid: entry.id() })
                } else {
                    // A partial clone has no copy of it, and nothing is fetched.
                    EntryState::NotCheckedOut(None)
                }
            }
            // The entry is a submodule.
            _ => EntryState::Foreign,
        })
    }

    fn obstacle(
        &self,
        folder: &RepoPath,
        goes: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<RepoPath>> {
        let what = || format!("look into {folder} in a commit");
        let Some(tree) = self.tree else { return Ok(None) };
        let tree = self.git.find_tree(tree).or_cannot(what)?;
        let Ok(entry) = tree.get_path(folder.as_path()) else { return Ok(None) };
        let mut folders = vec![(folder.clone(), entry.id())];
        while let Some((folder, id)) = folders.pop() {
            let tree = self.git.find_tree(id).or_cannot(what)?;
            for entry in &tree {
                let path = [folder.as_bytes(), b"/", entry.name_bytes()].concat();
                let Some(path) = RepoPath::new(path) else { return Ok(Some(folder)) };
                match entry.kind() {
                    Some(ObjectType::Tree) => folders.push((path, entry.id())),
                    Some(ObjectType::Blob) if goes(&path) => {}
                    _ => return Ok(Some(path)),
                }
            }
        }
        Ok(None)
    }

    /// Where git knows that the file system folds the case of names, no two of a commit may be one
    /// there.
    fn folds_case(&self, _path: &RepoPath) -> Result<bool> {
        let config = self.git.config();
        Ok(config.and_then(|config| config.get_bool("core.ignorecase")).unwrap_or(false))
    }

    fn twin(&self, path: &RepoPath) -> Result<Option<RepoPath>> {
        let what = || format!("look up {path} in a commit");
        let Some(mut next) = self.tree else { return Ok(None) };
        let mut before: Vec<u8> = Vec::new();
        for name in path.as_bytes().split(|byte| *byte == b'/') {
            let tree = self.git.find_tree(next).or_cannot(what)?;
            let named = tree.iter().find(|entry| entry.name_bytes() == name);
            if let Some(entry) = named {
                next = entry.id();
                before.extend([name, b"/"].concat());
                if entry.kind() != Some(ObjectType::Tree) {
                    return Ok(None);
                }
                continue;
            }
            let twin = tree.iter().find(|entry| folded(entry.name_bytes()) == folded(name));
            return Ok(twin.and_then(|entry| {
                RepoPath::new([before.as_slice(), entry.name_bytes()].concat())
            }));
        }
        Ok(None)
    }
}

/// The blobs of a repository, read and written without filters.
pub(crate) struct RepoBlobs<'a>(pub(crate) &'a Repository);

impl Blobs for RepoBlobs<'_> {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        let blob = self.0.find_blob(oid).map(|blob| blob.content().to_vec());
        blob.or_cannot(|| format!("read {oid} from the repository"))
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        let written = self.0.odb().and_then(|odb| odb.write(ObjectType::Blob, bytes));
        written.or_cannot(|| "make a blob")
    }
}

/// The mode of a folder in a git tree.
const FOLDER: i32 = 0o040_000;

/// The changes below one folder, keyed by the next component of their paths.
#[derive(Default)]
struct FolderChanges<'a> {
    /// The new entry of each changed name in the folder itself; `None` if the path is removed.
    own: BTreeMap<&'a [u8], Option<Entry>>,
    below: BTreeMap<&'a [u8], FolderChanges<'a>>,
}

/// Writes `tree` with the paths of `merged_paths` changed, and returns its id. Folders that become
/// empty are removed.
pub(super) fn write_changed_tree(
    git: &Repository,
    tree: Option<&Tree<'_>>,
    merged_paths: &BTreeMap<RepoPath, MergedPath>,
) -> std::result::Result<Oid, Error> {
    let mut root = FolderChanges::default();
    for (path, merged) in merged_paths {
        let mut level = &mut root;
        let mut rest = path.as_bytes();
        while let Some(slash) = rest.iter().position(|byte| *byte == b'/') {
            level = level.below.entry(&rest[..slash]).or_default();
            rest = &rest[slash + 1..];
        }
        level.own.insert(rest, merged.after);
    }
    match folder(git, tree, &root)? {
        Some(id) => Ok(id),
        None => git.treebuilder(None)?.write(),
    }
}

fn folder(
    git: &Repository,
    tree: Option<&Tree<'_>>,
    level: &FolderChanges<'_>,
) -> std::result::Result<Option<Oid>, Error> {
    let mut builder = git.treebuilder(tree)?;
    for (name, below) in &level.below {
        let had = builder.get(*name)?.map(|entry| (entry.kind(), entry.id()));
        let tree = match had {
            Some((Some(ObjectType::Tree), id)) => Some(git.find_tree(id)?),
            _ => None,
        };
        match folder(git, tree.as_ref(), below)? {
            Some(id) => drop(builder.insert(*name, id, FOLDER)?),
            None if tree.is_some() => builder.remove(*name)?,
            None => {}
        }
    }
    // Files are inserted after the loop over folders. If a folder becomes a file, that loop has
    // removed the folder already.
    for (name, entry) in &level.own {
        match entry {
            Some(entry) => {
                drop(builder.insert(*name, entry.oid, entry.mode.to_git().cast_signed())?);
            }
            // If a file becomes a folder, the loop above has replaced the file already.
            None => {
                let is_file = builder.get(*name)?.is_some_and(|now| now.filemode() != FOLDER);
                if is_file {
                    builder.remove(*name)?;
                }
            }
        }
    }
    if builder.is_empty() { Ok(None) } else { builder.write().map(Some) }
}
