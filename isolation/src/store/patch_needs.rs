//! What git needs besides a patch to merge it: the versions with which a task began.

use git2::{ObjectType, Oid};
use protocol::{CaptureRef, RepoPath};

use crate::baseline::{Conversion, conversion};
use crate::error::{OrCannot, Result};
use crate::repository::Repo;
use crate::store::TaskStore;

/// The files of a patch for which `git apply --3way` lacks the version with which the task began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchNeeds {
    /// Files whose version git can fetch from the task store.
    pub to_fetch: Vec<RepoPath>,
    /// Files that git converts, so that the bytes in the working tree are not those of its blobs.
    pub converted: Vec<RepoPath>,
}

impl TaskStore {
    /// Returns what the user's repository lacks of the base of a capture.
    pub(crate) fn patch_needs(&self, repo: &Repo, capture: &CaptureRef) -> Result<PatchNeeds> {
        let git = repo.git()?;
        let what = || "look for blobs in the repository";
        let odb = git.odb().or_cannot(what)?;
        let mut needs = PatchNeeds::default();
        for change in self.changes(capture)? {
            let Some(base) = change.base else { continue };
            if odb.exists(base.oid) {
                continue;
            }
            match conversion(&git, &change.path).or_cannot(what)? {
                Conversion::None => needs.to_fetch.push(change.path),
                Conversion::Encoding(encoding) => {
                    let text = encoding.decode(&self.read(base.oid)?).map(|(text, _form)| text);
                    let blob = text.and_then(|it| Oid::hash_object(ObjectType::Blob, &it).ok());
                    if !blob.is_some_and(|blob| odb.exists(blob)) {
                        needs.converted.push(change.path);
                    }
                }
                _ => needs.converted.push(change.path),
            }
        }
        Ok(needs)
    }
}
