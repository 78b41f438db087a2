//! The versions of a file that the landings of a run have left, and the one since which work conflicts with
//! them: later tasks may have changed other lines of the file.

use git2::{Commit, Oid, Repository};
use protocol::{Conflict, ConflictParties, ConflictReason, RepoPath, TaskName};

use crate::branch::RepoBlobs;
use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::landing::earlier_work::EarlierWork;
use crate::landing::on_branch::BranchMove;
use crate::merge::{Blobs, TaskChange};
use crate::settle::entry_of;
use crate::store::TaskStore;

/// Returns how three versions of a path conflict, the base first.
pub(super) type Clash<'c> = dyn Fn(&RepoPath, [Option<Entry>; 3]) -> Option<ConflictReason> + 'c;

/// What one task has left at a path; no task if work was taken back.
struct PastVersion {
    after: Option<Entry>,
    by: Option<TaskName>,
}

/// The blobs of a repository, and those that only the task store has.
pub(super) struct CommittedOrKept<'a>(pub(super) &'a Repository, pub(super) &'a TaskStore);

impl Blobs for CommittedOrKept<'_> {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        let Self(git, store) = self;
        RepoBlobs(git).read(oid).or_else(|_| store.read(oid))
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        self.1.write(bytes)
    }
}

impl EarlierWork<'_> {
    /// Returns the task since which the versions of a path conflict; `None` if that is not known.
    pub(super) fn since_when(
        &self,
        git: &Repository,
        clash: &Clash<'_>,
        conflict: &Conflict,
    ) -> Option<TaskName> {
        if conflict.reason.parties() != ConflictParties::Versions {
            return None;
        }
        let names = conflict.renamed.as_ref();
        let ours = names.and_then(|names| names.ours.as_ref()).unwrap_or(&conflict.path);
        let [base, stands, theirs] =
            [&conflict.base, &conflict.ours, &conflict.theirs].map(|side| entry_of(side.as_ref()));
        let versions = self.versions(git, ours, names.map(|names| &names.from));
        if versions.first().is_none_or(|latest| latest.after != stands) {
            return None;
        }
        let clashes = |version: &PastVersion| {
            clash(&conflict.path, [base, version.after, theirs]) == Some(conflict.reason)
        };
        let clashing = versions.into_iter().take_while(clashes);
        clashing.map_while(|version| version.by).last()
    }

    /// Returns the versions of a file that the tasks of landings have left, the latest first. `from` is the
    /// path that it had at first.
    fn versions(
        &self,
        git: &Repository,
        path: &RepoPath,
        from: Option<&RepoPath>,
    ) -> Vec<PastVersion> {
        let is_of_file =
            |at: &RepoPath, after: Option<Entry>| at == path || Some(at) == from && after.is_some();
        let mut versions = Vec::new();
        for journal in self.journals() {
            let is_in_force = journal.undo.is_none();
            let by = |task: Option<&TaskName>| task.filter(|_| is_in_force).cloned();
            let own = journal.task_changes.iter().rev();
            let own = own.filter(|own| is_of_file(&own.change.path, own.change.task));
            versions.extend(own.map(|TaskChange { task, change }| PastVersion {
                after: change.task,
                by: by(Some(task)),
            }));
            let untold = journal.changes.iter().filter(|_| journal.task_changes.is_empty());
            let untold = untold.filter(|change| is_of_file(&change.path, change.new));
            versions.extend(
                untold.map(|change| PastVersion { after: change.new, by: by(change.by.last()) }),
            );
            if let Some(branch) = journal.branch.as_ref().filter(|_| journal.changes.is_empty()) {
                for (commit, at, after) in commits_of(git, branch, [Some(path), from]) {
                    if is_of_file(&at, after) {
                        let task = self.task_of(&commit, journal);
                        versions.push(PastVersion { after, by: by(task.as_ref()) });
                    }
                }
            }
        }
        versions
    }
}

/// Returns the commits of a landing that changed one of `paths`, the latest first, each with the path and its
/// new entry.
fn commits_of<'g>(
    git: &'g Repository,
    branch: &BranchMove,
    paths: [Option<&RepoPath>; 2],
) -> Vec<(Commit<'g>, RepoPath, Option<Entry>)> {
    let entry = |commit: &Commit<'_>, path: &RepoPath| {
        let entry = commit.tree().ok()?.get_path(path.as_path()).ok()?;
        Some(Entry { mode: Mode::from_git(entry.filemode().cast_unsigned())?, oid: entry.id() })
    };
    let from = branch.from.as_deref().and_then(|from| Oid::from_str(from).ok());
    let mut found = Vec::new();
    let mut next = Oid::from_str(&branch.to).ok().and_then(|to| git.find_commit(to).ok());
    while let Some(commit) = next.take().filter(|commit| Some(commit.id()) != from) {
        let Ok(parent) = commit.parent(0) else { break };
        for path in paths.into_iter().flatten() {
            let after = entry(&commit, path);
            if after != entry(&parent, path) {
                found.push((commit.clone(), path.clone(), after));
            }
        }
        next = Some(parent);
    }
    found
}
