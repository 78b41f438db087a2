//! Makes one branch of the work of one task, for a person to merge with git.

use std::collections::BTreeMap;

use engine::fault::Faults;
use engine::ports::IsolationError;
use git2::{Commit, ErrorCode, Oid, Repository, Signature};
use protocol::{CaptureRef, RepoPath, RunName, quote_path};

use crate::branch::clean_filter::{Cleaned, Cleaner};
use crate::branch::commit_tree::{CommitTree, write_changed_tree};
use crate::branch::merged_by_hand::naming;
use crate::branch::publish::{Branches, keep_in_memory};
use crate::error::{OrCannot, Result};
use crate::file_entry::Change;
use crate::merge::{EntryState, MergeTarget as _, MergedPath};
use crate::repository::Repo;
use crate::store::TaskStore;

/// How many commits are searched for the versions with which a task began.
const MOST_COMMITS: usize = 1_000;

/// Makes the branch `name` with one commit: the work in `capture`, on the latest commit that has the
/// versions with which the task began. So merging the branch merges the work. Returns the commit.
pub(crate) fn make_branch(
    repo: &Repo,
    store: &TaskStore,
    (run, capture): (&RunName, &CaptureRef),
    (name, message): (&str, &str),
) -> Result<Oid> {
    let refused = |because: String, hint: &str| IsolationError::Refused {
        what: format!("cannot make the branch `{}`", quote_path(name.as_bytes())),
        because,
        hint: hint.to_owned(),
    };
    if !git2::Branch::name_is_valid(name).unwrap_or(false) {
        let because = "git does not accept such a name".to_owned();
        return Err(refused(because, "another name"));
    }
    let git = repo.git()?;
    let odb = git.odb().or_cannot(|| "open the repository's objects")?;
    let _memory = keep_in_memory(&odb)?;
    let faults = Faults::default();
    let branches = Branches { repo, git: &git, faults: &faults, prefix: "", run };
    if branches.find(name)?.is_some() {
        return Err(refused("it is there already".to_owned(), "another name"));
    }
    let Some(head) = head(&git)? else {
        let because = "the repository has no commit".to_owned();
        return Err(refused(because, "commit something first"));
    };
    let changes = store.changes(capture)?;
    let base = CommitTree { git: &git, tree: Some(head.tree_id()) };
    let cleaner = Cleaner { repo, git: &git, store, head: base };
    let Cleaned { changes: clean, conflicts } = cleaner.clean(&changes)?;
    if let Some(found) = conflicts.first() {
        let path = &found.path;
        let because = format!("git would have to run a filter program to commit {path}");
        return Err(refused(because, "regatta apply RUN/TASK --markers"));
    }
    let parent = match parent(&git, &head, &clean)? {
        Ok(parent) => parent,
        Err(path) => {
            let because = format!("no commit has the version of {path} that the task began with");
            return Err(refused(because, "regatta apply RUN/TASK --markers"));
        }
    };
    let merged = clean.into_iter().map(|change| {
        let merged = MergedPath { before: change.base, after: change.task, by: Vec::new() };
        (change.path, merged)
    });
    let commit = commit(&git, &parent, &merged.collect(), &naming(message, capture))?;
    branches.publish(name, None, commit)?;
    Ok(commit)
}

fn head(git: &Repository) -> Result<Option<Commit<'_>>> {
    match git.head() {
        Ok(head) => head.peel_to_commit().map(Some).or_cannot(|| "read HEAD"),
        Err(error) if error.code() == ErrorCode::UnbornBranch => Ok(None),
        Err(error) => Err(error).or_cannot(|| "read HEAD"),
    }
}

/// Returns the latest commit that has the version of each path with which the task began, or else a
/// path that the commit which is checked out has in another version.
fn parent<'a>(
    git: &'a Repository,
    head: &Commit<'a>,
    changes: &[Change],
) -> Result<std::result::Result<Commit<'a>, RepoPath>> {
    let what = || "search the history";
    let mut walk = git.revwalk().or_cannot(what)?;
    walk.push(head.id()).or_cannot(what)?;
    let mut first_other = None;
    for id in walk.take(MOST_COMMITS) {
        let commit = git.find_commit(id.or_cannot(what)?).or_cannot(what)?;
        let tree = CommitTree { git, tree: Some(commit.tree_id()) };
        let mut other = None;
        for change in changes {
            if tree.state_of(&change.path).map(EntryState::entry)? != change.base {
                other = Some(change.path.clone());
                break;
            }
        }
        match other {
            None => return Ok(Ok(commit)),
            Some(path) => first_other.get_or_insert(path),
        };
    }
    Ok(Err(first_other.unwrap_or_else(|| changes[0].path.clone())))
}

fn commit(
    git: &Repository,
    parent: &Commit<'_>,
    merged: &BTreeMap<RepoPath, MergedPath>,
    message: &str,
) -> Result<Oid> {
    let what = || "make a commit";
    let before = parent.tree().or_cannot(what)?;
    let tree = write_changed_tree(git, Some(&before), merged).or_cannot(what)?;
    let tree = git.find_tree(tree).or_cannot(what)?;
    let own = git.signature();
    let author = own.or_else(|_| Signature::now("Regatta", "regatta@localhost")).or_cannot(what)?;
    git.commit(None, &author, &author, message, &tree, &[parent]).or_cannot(what)
}
