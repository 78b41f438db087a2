//! Makes one branch per task.

use std::collections::BTreeSet;

use git2::{Commit, DiffOptions, Oid, Repository, Signature};
use protocol::{Conflict, ConflictReason, Landed, LandingReport, TaskLanding};

use engine::fault::Faults;
use engine::ports::{LandingRequest, LandingTask};

use crate::branch::ancestry::{Ancestry, Lineage};
use crate::branch::clean_filter::Cleaner;
use crate::branch::commit_tree::{CommitTree, RepoBlobs, write_changed_tree};
use crate::branch::publish::Branches;
use crate::branch::publish::keep_in_memory;
use crate::error::{OrCannot, Result, error_text};
use crate::file_entry::{Change, Entry, Mode};
use crate::merge::{MergeRules, Merger, mark_setup_conflicts, missing_predecessors};
use crate::repository::Repo;
use crate::store::{Contents, TaskStore};

/// Whether the branches are written to the repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publish {
    /// The branches are written.
    Yes,
    /// No branch is written; the report tells what would happen.
    No,
}

/// Makes one branch for each task of `request`. A branch starts from the checked out commit,
/// or from the branches of the task's predecessors.
pub(crate) fn make_branches(
    repo: &Repo,
    store: &TaskStore,
    faults: &Faults,
    prefix: &str,
    request: &LandingRequest,
    publish: Publish,
) -> Result<LandingReport> {
    let git = repo.git()?;
    let odb = git.odb().or_cannot(|| "open the repository's objects")?;
    let _memory = keep_in_memory(&odb)?;
    let branches = Branches { repo, git: &git, faults, prefix, run: &request.run };
    branches.check()?;
    let head = head(&git)?;
    let base = CommitTree { git: &git, tree: head.as_ref().map(Commit::tree_id) };
    let cleaner = Cleaner { git: &git, store, head: base };
    let (lineage, rules) = (Lineage::default(), MergeRules::of(repo, &request.union)?);
    let mut maker = Maker { git: &git, store, branches, cleaner, head, lineage, rules, publish };
    let mut landings: Vec<TaskLanding> = Vec::with_capacity(request.tasks.len());
    for task in &request.tasks {
        let landed = maker
            .land(task, &landings)
            .unwrap_or_else(|error| Landed::Unwritten { message: error_text(&error) });
        landings.push(TaskLanding::of(task.task.clone(), landed));
    }
    Ok(LandingReport { tasks: landings })
}

/// Returns the commit that is checked out; `None` before the first commit.
fn head(git: &Repository) -> Result<Option<Commit<'_>>> {
    match git.head() {
        Ok(head) => head.peel_to_commit().map(Some).or_cannot(|| "read HEAD"),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => Ok(None),
        Err(error) => Err(error).or_cannot(|| "read HEAD"),
    }
}

struct Maker<'a> {
    git: &'a Repository,
    store: &'a TaskStore,
    branches: Branches<'a>,
    cleaner: Cleaner<'a>,
    head: Option<Commit<'a>>,
    lineage: Lineage,
    rules: MergeRules,
    publish: Publish,
}

impl Maker<'_> {
    fn land(&mut self, task: &LandingTask, landings: &[TaskLanding]) -> Result<Landed> {
        let Contents { changes, message, setup, .. } = self.store.contents(&task.capture)?;
        let on = missing_predecessors(task, landings);
        if changes.is_empty() {
            if on.is_empty() {
                let ancestry = self.ancestry(task)?;
                self.lineage.add_empty(&task.task, ancestry);
            }
            return Ok(Landed::Unchanged);
        }
        if !on.is_empty() {
            return Ok(Landed::Waiting { on });
        }
        let clean = match self.cleaner.clean(&changes)? {
            Ok(clean) => clean,
            Err(conflicts) => return Ok(Landed::Conflicted { conflicts }),
        };
        let branch = self.branches.name(&task.task);
        let existing = self.branches.find(&branch)?.map(|commit| commit.id());
        let ancestry = self.ancestry(task)?;
        let parent = match self.parent(&ancestry, existing)? {
            Ok(parent) => parent,
            Err(conflicts) => return self.conflicted(conflicts, &changes, &clean),
        };
        let target = CommitTree { git: self.git, tree: self.tree_of(parent)? };
        let blobs = RepoBlobs(self.git);
        let mut merger = Merger::over(&target, &blobs).under(&self.rules);
        let joined = match merger.add(&task.task, &BTreeSet::new(), &clean)? {
            Ok(joined) => joined,
            Err(conflicts) => {
                let mut landed = self.conflicted(conflicts, &changes, &clean)?;
                if let Landed::Conflicted { conflicts } = &mut landed {
                    mark_setup_conflicts(conflicts, &setup);
                }
                return Ok(landed);
            }
        };
        let tree = self.changed(target.tree, merger)?;
        let parents: Vec<Oid> = parent.into_iter().collect();
        let tip = match existing {
            Some(existing) if self.is(existing, tree, &parents)? => existing,
            Some(_) => return Ok(Landed::Unwritten { message: taken(&branch) }),
            None => {
                let commit =
                    self.commit(tree, &parents, message.as_ref().unwrap_or(&task.message))?;
                if self.publish == Publish::Yes {
                    self.branches.publish(&branch, commit)?;
                }
                commit
            }
        };
        self.lineage.add(&task.task, ancestry, tip, clean);
        Ok(Landed::Landed { branch: Some(branch), joined })
    }

    /// Returns the ancestry of a task. Includes the branches of predecessors that an earlier
    /// landing made.
    fn ancestry(&mut self, task: &LandingTask) -> Result<Ancestry> {
        for on in &task.depends_on {
            if self.lineage.knows(on) {
                continue;
            }
            if let Some(commit) = self.branches.find(&self.branches.name(on))? {
                let (tip, changes) = (commit.id(), self.since_head(&commit)?);
                self.lineage.add(on, Ancestry::default(), tip, changes);
            }
        }
        let mut ancestry = self.lineage.joint_ancestry(&task.depends_on);
        let tips: Vec<Oid> = ancestry.tips.values().copied().collect();
        // A tip that is an ancestor of another tip is redundant, because the other contains it.
        let in_another = |tip: &Oid| {
            tips.iter().any(|other| self.git.graph_descendant_of(*other, *tip).unwrap_or(false))
        };
        ancestry.tips.retain(|_, tip| !in_another(tip));
        Ok(ancestry)
    }

    /// Returns the changes from the merge base of `tip` and the checked out commit to `tip`.
    fn since_head(&self, tip: &Commit<'_>) -> Result<Vec<Change>> {
        let what = || format!("compare {} with HEAD", tip.id());
        let tree = |id: Oid| self.git.find_commit(id).and_then(|commit| commit.tree());
        let base =
            self.head.as_ref().and_then(|head| self.git.merge_base(head.id(), tip.id()).ok());
        let base = base.map(tree).transpose().or_cannot(what)?;
        let after = tip.tree().or_cannot(what)?;
        let mut options = DiffOptions::new();
        // Without this option, a file that became a symlink would be reported as two changes.
        options.include_typechange(true);
        let diff = self.git.diff_tree_to_tree(base.as_ref(), Some(&after), Some(&mut options));
        let diff = diff.or_cannot(what)?;
        let side = |file: git2::DiffFile<'_>| {
            let mode = Mode::from_git(u32::from(file.mode()))?;
            Some(Entry { mode, oid: file.id() })
        };
        let changes = diff.deltas().filter_map(|delta| {
            let path = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes())?;
            let path = protocol::RepoPath::new(path)?;
            Some(Change { path, base: side(delta.old_file()), task: side(delta.new_file()) })
        });
        Ok(changes.collect())
    }

    /// Returns the parent for the commit of a task: the commit that is checked out, the tip of the
    /// only branch in its ancestry, or a merge commit of several tips.
    fn parent(
        &self,
        ancestry: &Ancestry,
        existing: Option<Oid>,
    ) -> Result<std::result::Result<Option<Oid>, Vec<Conflict>>> {
        let tips: Vec<Oid> = ancestry.tips.values().copied().collect();
        match tips[..] {
            [] => return Ok(Ok(self.head.as_ref().map(Commit::id))),
            [tip] => return Ok(Ok(Some(tip))),
            _ => {}
        }
        let target = CommitTree { git: self.git, tree: self.cleaner.head.tree };
        let blobs = RepoBlobs(self.git);
        let mut merger = Merger::over(&target, &blobs).under(&self.rules);
        for (task, changes) in self.lineage.works(ancestry) {
            if let Err(conflicts) = merger.add(task, &BTreeSet::new(), changes)? {
                return Ok(Err(conflicts));
            }
        }
        let tree = self.changed(target.tree, merger)?;
        // If an earlier landing made the branch, its parent is a merge commit, which is used again
        // if it is equal.
        let before = existing.and_then(|id| self.git.find_commit(id).ok()?.parent_id(0).ok());
        if let Some(before) = before.filter(|before| self.is(*before, tree, &tips).unwrap_or(false))
        {
            return Ok(Ok(Some(before)));
        }
        let names: Vec<&str> = ancestry.tips.keys().map(String::as_str).collect();
        let message = format!("Merge the work of {}", names.join(", "));
        self.commit(tree, &tips, &message).map(|commit| Ok(Some(commit)))
    }

    fn changed(&self, tree: Option<Oid>, merger: Merger<'_>) -> Result<Oid> {
        let what = || "write a tree";
        let before = tree.map(|tree| self.git.find_tree(tree)).transpose().or_cannot(what)?;
        write_changed_tree(self.git, before.as_ref(), &merger.finish()).or_cannot(what)
    }

    fn tree_of(&self, commit: Option<Oid>) -> Result<Option<Oid>> {
        let tree = commit.map(|id| self.git.find_commit(id).map(|commit| commit.tree_id()));
        tree.transpose().or_cannot(|| "read a commit")
    }

    fn is(&self, commit: Oid, tree: Oid, parents: &[Oid]) -> Result<bool> {
        let commit = self.git.find_commit(commit).or_cannot(|| "read a commit")?;
        Ok(commit.tree_id() == tree && commit.parent_ids().eq(parents.iter().copied()))
    }

    fn commit(&self, tree: Oid, parents: &[Oid], message: &str) -> Result<Oid> {
        let what = || "make a commit";
        let author = self
            .git
            .signature()
            .or_else(|_| Signature::now("Regatta", "regatta@localhost"))
            .or_cannot(what)?;
        let tree = self.git.find_tree(tree).or_cannot(what)?;
        let parents: std::result::Result<Vec<_>, _> =
            parents.iter().map(|parent| self.git.find_commit(*parent)).collect();
        let parents = parents.or_cannot(what)?;
        let parents: Vec<_> = parents.iter().collect();
        self.git.commit(None, &author, &author, message, &tree, &parents).or_cannot(what)
    }

    /// Converts conflicts between git trees to conflicts with the contents that the user sees in
    /// the working tree.
    fn conflicted(
        &self,
        conflicts: Vec<Conflict>,
        changes: &[Change],
        clean: &[Change],
    ) -> Result<Landed> {
        let mut explained = Vec::with_capacity(conflicts.len());
        for mut conflict in conflicts {
            let own = changes.iter().zip(clean).find(|(change, _)| change.path == conflict.path);
            if let Some((change, clean)) = own {
                conflict.base = change.base.map(Entry::to_side);
                conflict.theirs = change.task.map(Entry::to_side);
                if conflict.with.is_none() && self.is_uncommitted(clean)? {
                    conflict.reason = ConflictReason::Uncommitted;
                }
            }
            if let Some(ours) = &conflict.ours {
                let oid = Oid::from_str(&ours.oid).or_cannot(|| "read a conflict")?;
                self.store.write(&crate::merge::Blobs::read(&RepoBlobs(self.git), oid)?)?;
            }
            explained.push(conflict);
        }
        Ok(Landed::Conflicted { conflicts: explained })
    }

    /// Returns whether the task changed a path whose content at the start of the run was not
    /// committed: it was only in the working tree or the index.
    fn is_uncommitted(&self, clean: &Change) -> Result<bool> {
        let what = || format!("look for {} in the repository", clean.path);
        let real = self.branches.repo.git()?;
        let index = real.index().or_cannot(what)?;
        let staged = index.get_path(clean.path.as_path(), 0).map(|entry| entry.id);
        let Some(base) = clean.base else { return Ok(staged.is_none()) };
        let head = self.cleaner.head_entry(&clean.path)?.map(|entry| entry.oid);
        if staged == Some(base.oid) && head != Some(base.oid) {
            return Ok(true);
        }
        let known = real.odb().or_cannot(what)?.exists(base.oid);
        let on_disk = || self.branches.repo.root.join(clean.path.as_path()).symlink_metadata();
        let is_untracked = staged.is_none() && head.is_none() && on_disk().is_ok();
        Ok(!known || is_untracked)
    }
}

/// Returns the message for a branch that exists already with other work.
fn taken(branch: &str) -> String {
    let old = format!("{branch}-old");
    format!("the branch {branch} is there already, with other work; git branch -m {branch} {old}")
}
