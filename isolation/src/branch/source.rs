//! A commit's tree as what tasks are merged into.

use git2::{ErrorCode, ObjectType, Oid, Repository};
use protocol::RepoPath;

use crate::entry::{Entry, Mode};
use crate::error::{OrCannot, Result};
use crate::merge::{Blobs, EntryState, MergeTarget};

/// A tree of commits; none before the first commit.
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
                EntryState::Entry(Entry { mode, oid: entry.id() })
            }
            // A submodule.
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
}

/// The blobs of a repository, as they are in it.
pub(super) struct RepoBlobs<'a>(pub(super) &'a Repository);

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
