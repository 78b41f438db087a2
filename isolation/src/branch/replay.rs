//! Makes the commits of one task on top of others: its own commits one by one, and one commit for
//! what it had not committed. A task without own commits gets one commit.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::{LandingTask, Notice};
use git2::{Oid, Repository, Signature, Time};
use protocol::RepoPath;

use crate::branch::commit_tree::{CommitTree, RepoBlobs, write_changed_tree};
use crate::branch::commits::{commit, commit_as, tree_of};
use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry};
use crate::merge::{Blobs as _, MergeRules, Merger};
use crate::store::{Contents, OwnCommit, Series, TaskStore};

/// Makes the commits of tasks.
#[derive(Clone, Copy)]
pub(super) struct Replay<'a> {
    pub(super) git: &'a Repository,
    pub(super) store: &'a TaskStore,
    pub(super) rules: &'a MergeRules,
}

/// The work of one task, which merges without a conflict.
pub(super) struct MergedWork<'a> {
    pub(super) task: &'a LandingTask,
    pub(super) contents: &'a Contents,
    /// The changes with the blobs that git would commit.
    pub(super) clean: &'a [Change],
    /// The tree with all of the work.
    pub(super) tree: Oid,
    /// The parents of the first commit.
    pub(super) parents: &'a [Oid],
}

/// The commits of one task.
pub(super) struct Replayed {
    /// The last commit.
    pub(super) tip: Oid,
    /// What is not as the user may expect.
    pub(super) notices: Vec<Notice>,
}

impl Replay<'_> {
    /// Makes the commits of a task.
    pub(super) fn commits(&self, work: &MergedWork<'_>) -> Result<Replayed> {
        let Series { commits, has_merges, lost } = &work.contents.series;
        let own = || format!("the commits of task {}", work.task.task);
        let as_one = |why: &str| Notice {
            from: own(),
            to: "its work is one commit".to_owned(),
            why: why.to_owned(),
        };
        let mut notices = Vec::new();
        let parents = work.parents;
        let replayed = match lost {
            Some(why) => {
                notices.push(as_one(why));
                None
            }
            None if commits.is_empty() => None,
            None => match self.one_by_one(work, commits)? {
                Ok(tip) => tip,
                Err(subject) => {
                    let why = format!("`{subject}` cannot be applied by itself to what is there");
                    notices.push(as_one(&why));
                    None
                }
            },
        };
        let tip = match replayed {
            Some(tip) if tree_of(self.git, Some(tip))? == Some(work.tree) => tip,
            Some(tip) => commit(self.git, work.tree, &[tip], &work.task.message)?,
            None => {
                let message = work.contents.message.as_ref().unwrap_or(&work.task.message);
                commit(self.git, work.tree, parents, message)?
            }
        };
        if *has_merges && replayed.is_some() {
            notices.push(Notice {
                from: format!("the merges among {}", own()),
                to: "each is one commit with all that it merged".to_owned(),
                why: "the commits of a task are a series".to_owned(),
            });
        }
        Ok(Replayed { tip, notices })
    }

    /// Makes the task's own commits. Returns the last one, or `None` if none of them has anything of
    /// the work. Returns the subject of a commit that conflicts with what is there.
    fn one_by_one(
        &self,
        work: &MergedWork<'_>,
        commits: &[OwnCommit],
    ) -> Result<std::result::Result<Option<Oid>, String>> {
        // The task's work begins with what was there, also where that was not committed.
        let mut now: BTreeMap<&RepoPath, Option<Entry>> =
            work.clean.iter().map(|change| (&change.path, change.base)).collect();
        let mut parents = work.parents.to_vec();
        let mut tree = tree_of(self.git, parents.first().copied())?;
        let mut tip = None;
        for own in commits {
            let mut changes = Vec::new();
            for (path, entry) in &own.paths {
                // A file that is not of the work was made and removed by these commits.
                let state = now.entry(path).or_default();
                if *state == *entry {
                    continue;
                }
                if let Some(entry) = entry {
                    RepoBlobs(self.git).write(&self.store.read(entry.oid)?)?;
                }
                changes.push(Change::new(path.clone(), *state, *entry));
                *state = *entry;
            }
            if changes.is_empty() {
                continue;
            }
            let target = CommitTree { git: self.git, tree };
            let blobs = RepoBlobs(self.git);
            let mut merger = Merger::over(&target, &blobs).under(self.rules);
            if merger.add(&work.task.task, &BTreeSet::new(), &changes)?.is_err() {
                return Ok(Err(own.message.lines().next().unwrap_or_default().to_owned()));
            }
            let what = || "write a tree";
            let before = tree.map(|tree| self.git.find_tree(tree)).transpose().or_cannot(what)?;
            let changed = write_changed_tree(self.git, before.as_ref(), &merger.so_far()?);
            let changed = changed.or_cannot(what)?;
            if tree == Some(changed) {
                continue;
            }
            let id = commit_as(self.git, &author(own)?, changed, &parents, &message(own, work))?;
            (tree, tip, parents) = (Some(changed), Some(id), vec![id]);
        }
        Ok(Ok(tip))
    }
}

fn message<'m>(own: &'m OwnCommit, work: &'m MergedWork<'_>) -> std::borrow::Cow<'m, str> {
    if own.message.trim().is_empty() {
        work.task.message.as_str().into()
    } else {
        own.message.as_str().into()
    }
}

fn author(own: &OwnCommit) -> Result<Signature<'static>> {
    // A name without letters is none for git.
    let name = |name: &str, otherwise: &str| {
        let has_letters = name.chars().any(char::is_alphanumeric);
        if has_letters { name.to_owned() } else { otherwise.to_owned() }
    };
    let (author, email) = (name(&own.author, "Unknown"), name(&own.email, "unknown@localhost"));
    let made = Signature::new(&author, &email, &Time::new(own.time, own.offset));
    made.or_cannot(|| "name the author of a commit")
}
