//! What a task did in nested repositories, besides the files that it changed: the commits that it
//! made or checked out in its private git folder of each.

use std::path::Path;

use git2::Oid;
use protocol::RepoPath;

use crate::baseline::Snapshot;
use crate::capture::own_commit::{head, own_commit_message};
use crate::capture::series::series;
use crate::error::Result;
use crate::file_entry::Change;
use crate::nested::{NestedWork, below, git_folder_of, root_of, within};
use crate::store::{Series, TaskStore};
use crate::workspace::{GIT, GIT_TEMPLATE, Manifest, SetupState};

/// Returns what the task in the workspace at `folder` did in each nested repository in which it
/// changed something. The files of its commits are written to `store`.
pub(super) fn nested_works(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    changes: &[Change],
    store: &TaskStore,
) -> Result<Vec<NestedWork>> {
    let roots: Vec<RepoPath> = nested_roots(snapshot);
    let mut works = Vec::new();
    for (number, path) in roots.iter().enumerate() {
        let (from, to) = heads(snapshot, folder, manifest, (number, path));
        let own = changes.iter().filter(|change| root_of(roots.iter(), &change.path) == Some(path));
        let own: Vec<Change> = own
            .filter_map(|change| {
                let from = change.from.as_ref().and_then(|from| below(path, from));
                Some(Change { path: below(path, &change.path)?, from, ..change.clone() })
            })
            .collect();
        if own.is_empty() && from == to {
            continue;
        }
        let mut work =
            NestedWork { path: path.clone(), from, to, message: None, series: Series::default() };
        if let Some(after) = to.filter(|to| Some(*to) != from) {
            let git_dir = git_folder_of(&folder.join(GIT), number);
            let template = git_folder_of(&snapshot.context.folder.join(GIT_TEMPLATE), number);
            let was_there = |below: &RepoPath| {
                let path = within(path, below);
                manifest.setup.file(&path).is_some() || snapshot.table.get(&path).is_some()
            };
            work.message = own_commit_message(&git_dir, &template, from, after);
            let (folders, heads) = ((&*git_dir, &*template), (from, after));
            work.series = series(folders, heads, &own, &was_there, store)?;
        }
        works.push(work);
    }
    Ok(works)
}

/// Returns the commits that are checked out in nested repositories at the end of a set-up, where
/// they are others than those of the user.
pub(super) fn moved_heads(snapshot: &Snapshot, folder: &Path) -> Vec<(RepoPath, Option<Oid>)> {
    let heads = nested_roots(snapshot).into_iter().enumerate().filter_map(|(number, path)| {
        let template = git_folder_of(&snapshot.context.folder.join(GIT_TEMPLATE), number);
        let now = head(&git_folder_of(&folder.join(GIT), number));
        (now != head(&template)).then_some((path, now))
    });
    heads.collect()
}

fn nested_roots(snapshot: &Snapshot) -> Vec<RepoPath> {
    snapshot.nested.iter().filter_map(|root| RepoPath::new(root.as_slice())).collect()
}

/// Returns the commits that were checked out when the task began and when it ended.
fn heads(
    snapshot: &Snapshot,
    folder: &Path,
    manifest: &Manifest,
    (number, path): (usize, &RepoPath),
) -> (Option<Oid>, Option<Oid>) {
    let template = git_folder_of(&snapshot.context.folder.join(GIT_TEMPLATE), number);
    let of_setup = match &manifest.setup {
        SetupState::None | SetupState::Pending => None,
        SetupState::Done(changes) => changes.nested_heads.iter().find(|(root, _)| root == path),
    };
    let from = match of_setup {
        Some((_, head)) => *head,
        None => head(&template),
    };
    // A HEAD that cannot be read does not say that another commit is checked out.
    (from, head(&git_folder_of(&folder.join(GIT), number)).or(from))
}
