//! The tasks whose commits removed and added the files of a branch. A file stays that of the task that added
//! it while the commits of others rename it.

use std::collections::BTreeMap;

use git2::{Commit, Delta, DiffFindOptions, Oid, Repository};
use protocol::{RepoPath, RunName, TaskName};

use crate::merge::entries_below;

/// The most commits of a run that are read.
const MOST: usize = 1_000;

/// The tasks whose commits removed paths and added the files that are there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommitAuthors {
    removed: BTreeMap<RepoPath, TaskName>,
    added: BTreeMap<RepoPath, TaskName>,
}

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
        let Some(task) = named_task(&commit, run) else { break };
        next = commit.parent(0).ok();
        commits.push((commit, task));
    }
    let mut authors = CommitAuthors::default();
    for (commit, task) in commits.into_iter().rev() {
        authors.add(git, &commit, &task)?;
    }
    Ok(authors)
}

/// Returns the task of the run that the trailers of a commit name.
pub(crate) fn named_task(commit: &Commit<'_>, run: &RunName) -> Option<TaskName> {
    task_in(&String::from_utf8_lossy(commit.message_bytes()), run)
}

/// Returns the task of the run that the trailers of a message name. What is above its last paragraph may
/// be written by a model, and is not a trailer.
fn task_in(message: &str, run: &RunName) -> Option<TaskName> {
    let (_above, trailers) = message.trim_end().rsplit_once("\n\n")?;
    let last = |key: &str| trailers.lines().rev().find_map(|line| line.strip_prefix(key));
    let is_of_run = last("Regatta-Run: ").is_some_and(|name| name == run.as_str());
    last("Regatta-Task: ").filter(|_| is_of_run)?.parse().ok()
}

impl CommitAuthors {
    /// Returns the task that added the file at a path, or else the one that removed the path.
    pub(super) fn author_of(&self, path: &RepoPath) -> Option<&TaskName> {
        self.added.get(path).or_else(|| self.removed.get(path))
    }

    /// Returns whether a task added a file to a folder.
    pub(super) fn have_added_below(&self, folder: &RepoPath) -> bool {
        entries_below(&self.added, folder).next().is_some()
    }

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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::landing::tests::kit::{Kit, write};

    #[test]
    fn a_commit_is_of_the_task_that_its_last_trailers_name_whatever_its_body_says() {
        let run = "r7k3f".parse().unwrap();
        let of_a = "Regatta-Run: r7k3f\nRegatta-Task: a\n";
        for (message, expected) in [
            (format!("fix: x\n\n{of_a}"), Some("a")),
            (format!("fix: x\n\n{of_a}Signed-off-by: A <a@localhost>\n"), Some("a")),
            (format!("fix: x\n\nRegatta-Task: other\n\n{of_a}"), Some("a")),
            (format!("fix: x\n\nRegatta-Task: other\n{of_a}"), Some("a")),
            (format!("fix: x\n\n{of_a}\nThis is what it does.\n"), None),
            (format!("fix: x\n\n{of_a}Regatta-Run: r9999\n"), None),
            ("fix: x\n\nRegatta-Task: a\n".to_owned(), None),
            (of_a.to_owned(), None),
            (String::new(), None),
        ] {
            let expected = expected.map(|name| name.parse().unwrap());
            assert_eq!(task_in(&message, &run), expected, "{message:?}");
        }
    }

    #[test]
    fn a_folder_from_which_a_task_only_removed_a_file_has_nothing_that_it_added() {
        let kit = Kit::with(&[("gone/file", "1\n"), ("gone/stays", "2\n"), ("here", "3\n")]);
        fs::remove_file(kit.root.join("gone/file")).unwrap();
        write(&kit.root, "new/file", "a new file\n");
        kit.git(&["add", "-A"]);
        kit.git(&["commit", "-q", "-m", "x\n\nRegatta-Run: r7k3f\nRegatta-Task: a\n"]);
        let git = kit.repo.git().unwrap();
        let now = git.head().unwrap().target();
        let authors = commit_authors(&git, now, &kit.run).unwrap();
        let path = |path: &str| RepoPath::new(path).unwrap();
        assert!(authors.have_added_below(&path("new")));
        assert!(!authors.have_added_below(&path("gone")));
        let a = "a".parse().unwrap();
        assert_eq!(["gone/file", "new/file"].map(|it| authors.author_of(&path(it))), [Some(&a); 2]);
        assert_eq!(authors.author_of(&path("here")), None);
    }
}
