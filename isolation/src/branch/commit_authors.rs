//! The tasks whose commits removed and added the files of a branch. A file stays that of the task that added
//! it while the commits of others rename it.

use std::collections::BTreeMap;

use git2::{Commit, Delta, DiffFindOptions, Oid, Repository};
use protocol::{RepoPath, RunName, TaskName};

/// The most commits of a run that are read.
const MOST: usize = 1_000;

/// The task that removed a path, or added the file that is there.
pub(super) type CommitAuthors = BTreeMap<RepoPath, TaskName>;

/// Returns the authors of what the last commits before `now` have removed and added, as far back as each
/// is of a task of the run.
pub(super) fn commit_authors(
    git: &Repository,
    now: Option<Oid>,
    run: &RunName,
) -> Result<CommitAuthors, git2::Error> {
    let mut commits = Vec::new();
    let mut next = now.map(|now| git.find_commit(now)).transpose()?;
    while let Some(commit) = next.take().filter(|_| commits.len() < MOST) {
        let Some(task) = task_of(&commit, run) else { break };
        next = commit.parent(0).ok();
        commits.push((commit, task));
    }
    let mut authors = Authors::default();
    for (commit, task) in commits.into_iter().rev() {
        authors.add(git, &commit, &task)?;
    }
    let Authors { mut removed, added } = authors;
    removed.extend(added);
    Ok(removed)
}

/// Returns the task of the run that a commit names.
fn task_of(commit: &Commit<'_>, run: &RunName) -> Option<TaskName> {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let of_run = format!("Regatta-Run: {run}");
    let mut lines = message.lines();
    let is_of_run = lines.any(|line| line == of_run);
    let task = message.lines().find_map(|line| line.strip_prefix("Regatta-Task: "));
    task.filter(|_| is_of_run)?.parse().ok()
}

#[derive(Default)]
struct Authors {
    removed: CommitAuthors,
    added: CommitAuthors,
}

impl Authors {
    fn add(
        &mut self,
        git: &Repository,
        commit: &Commit<'_>,
        task: &TaskName,
    ) -> Result<(), git2::Error> {
        let before = commit.parent(0).ok().map(|parent| parent.tree()).transpose()?;
        let mut diff = git.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), None)?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        let path = |file: git2::DiffFile<'_>| file.path_bytes().and_then(RepoPath::new);
        let mut new = Vec::new();
        for delta in diff.deltas() {
            let (old_path, new_path) = (path(delta.old_file()), path(delta.new_file()));
            match (delta.status(), old_path, new_path) {
                (Delta::Added, _, Some(added)) => new.push((added, task.clone())),
                (Delta::Deleted, Some(old), _) => drop(self.remove(old, task)),
                (Delta::Renamed, Some(old), Some(renamed)) => {
                    let author = self.remove(old, task);
                    new.push((renamed, author.unwrap_or_else(|| task.clone())));
                }
                _ => {}
            }
        }
        self.added.extend(new);
        Ok(())
    }

    /// Removes a path. Returns the task that had added the file, if one had.
    fn remove(&mut self, path: RepoPath, task: &TaskName) -> Option<TaskName> {
        let author = self.added.remove(&path);
        if author.is_none() {
            self.removed.insert(path, task.clone());
        }
        author
    }
}
