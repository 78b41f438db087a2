//! Makes one branch per task.

use std::collections::BTreeSet;

use git2::{Commit, DiffOptions, Oid, Repository};
use protocol::{Conflict, Landed, LandingReport, Settled, TaskLanding};

use engine::fault::Faults;
use engine::ports::{LandingRequest, LandingTask, Notice};

use crate::baseline::RunFiles;
use crate::branch::ancestry::{Ancestry, Lineage};
use crate::branch::clean_filter::Cleaner;
use crate::branch::commit_tree::{CommitTree, RepoBlobs, write_changed_tree};
use crate::branch::commits::{commit, identity, tree_of};
use crate::branch::committed_moves::CommittedMoves;
use crate::branch::merged_by_hand::is_merged;
use crate::branch::publish::Branches;
use crate::branch::publish::keep_in_memory;
use crate::branch::replay::{MergedWork, Replay, Replayed};
use crate::branch::settled_work::{
    InTheWay, SettledMerge, SettledWork, Settler, as_one_commit, kept, landed_on, unwritten,
};
use crate::error::{OrCannot, Result, error_text};
use crate::file_entry::{Change, Entry, Mode};
use crate::merge::{MergeRules, Merger, missing_predecessors};
use crate::nested::{Part, with_git_links};
use crate::repository::Repo;
use crate::store::{Contents, Series, TaskStore};

/// Whether the branches are written to the repository.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publish {
    /// The branches are written.
    Yes,
    /// No branch is written; the report tells what would happen.
    No,
}

/// Makes one branch for each task of `request`. A branch starts from the checked out commit,
/// or from the branches of the task's predecessors. Returns notices for the user, too.
pub(crate) fn make_branches(
    repo: &Repo,
    (store, part, began): (&TaskStore, Part<'_>, Option<&RunFiles<'_>>),
    faults: &Faults,
    prefix: &str,
    request: &LandingRequest,
    publish: Publish,
) -> Result<(LandingReport, Vec<Notice>)> {
    let git = repo.git()?;
    let odb = git.odb().or_cannot(|| "open the repository's objects")?;
    let _memory = keep_in_memory(&odb)?;
    let branches = Branches { repo, git: &git, faults, prefix, run: &request.run };
    branches.check()?;
    identity(&git)?;
    let head = head(&git)?;
    let base = CommitTree { git: &git, tree: head.as_ref().map(Commit::tree_id) };
    let cleaner = Cleaner { repo, git: &git, store, head: base };
    let (lineage, rules) = (Lineage::default(), MergeRules::of(repo, &request.union)?);
    let moves = CommittedMoves::of(&git, began, head.as_ref().map(Commit::id));
    let notices = Vec::new();
    let mut maker = Maker {
        git: &git,
        store,
        part,
        branches,
        cleaner,
        head,
        lineage,
        rules,
        moves,
        publish,
        notices,
    };
    let mut landings: Vec<TaskLanding> = Vec::with_capacity(request.tasks.len());
    for task in &request.tasks {
        let landed = maker.land(task, &landings);
        let (landed, settled) = landed.unwrap_or_else(|error| unwritten(task, error_text(&error)));
        landings.push(TaskLanding { task: task.task.clone(), landed, settled });
    }
    Ok((LandingReport { tasks: landings }, maker.notices))
}

/// Returns the commit that is checked out; `None` before the first commit.
pub(super) fn head(git: &Repository) -> Result<Option<Commit<'_>>> {
    match git.head() {
        Ok(head) => head.peel_to_commit().map(Some).or_cannot(|| "read HEAD"),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => Ok(None),
        Err(error) => Err(error).or_cannot(|| "read HEAD"),
    }
}

/// Returns the tree of the commit that is checked out; `None` before the first commit.
pub(crate) fn head_tree(git: &Repository) -> Result<Option<Oid>> {
    Ok(head(git)?.map(|head| head.tree_id()))
}

struct Maker<'a> {
    git: &'a Repository,
    store: &'a TaskStore,
    /// The part of each task's work that lands in the repository.
    part: Part<'a>,
    branches: Branches<'a>,
    cleaner: Cleaner<'a>,
    head: Option<Commit<'a>>,
    lineage: Lineage,
    rules: MergeRules,
    /// What was renamed by commits since the run began.
    moves: CommittedMoves<'a>,
    publish: Publish,
    notices: Vec<Notice>,
}

/// Where the work of a task is committed.
struct BranchTarget {
    /// The name of the branch.
    name: String,
    /// The commit of the branch, if there is one.
    existing: Option<Oid>,
    /// The same, if it has a part of the work.
    begun: Option<Oid>,
    parent: Option<Oid>,
    /// The tree with all of the work.
    tree: Oid,
    /// Whether the parent has this tree.
    is_same: bool,
}

impl Maker<'_> {
    fn land(&mut self, task: &LandingTask, landings: &[TaskLanding]) -> Result<(Landed, Settled)> {
        let part = self.part;
        let contents = part.of(self.store.contents(&task.capture)?, self.git);
        let links = part.links(&task.task);
        let without_choice = |landed| Ok((landed, Settled::default()));
        let on = missing_predecessors(task, landings);
        if contents.changes.is_empty() && links.is_empty() {
            if on.is_empty() {
                let ancestry = self.ancestry(task)?;
                self.lineage.add_empty(&task.task, ancestry);
            }
            return without_choice(Landed::Unchanged);
        }
        if !on.is_empty() {
            return without_choice(Landed::Waiting { on });
        }
        let name = self.branches.name(&task.task);
        let existing = self.branches.find(&name)?.map(|commit| commit.id());
        // The branch has a part of the work if conflicts were left.
        let begun = existing.filter(|_| !task.settle.landed.is_empty());
        let ancestry = self.ancestry(task)?;
        let parent = match begun {
            Some(begun) => Ok(Some(begun)),
            None => self.parent(&ancestry, existing, contents.start)?,
        };
        let parent = match parent {
            Ok(parent) => parent,
            Err(conflicts) => {
                let conflicts = self.cleaner.explain(conflicts, &[])?;
                return without_choice(Landed::Conflicted { conflicts });
            }
        };
        let target = CommitTree { git: self.git, tree: tree_of(self.git, parent)? };
        let blobs = RepoBlobs(self.git);
        let mut merger = Merger::over(&target, &blobs).under(&self.rules).beside(&self.moves);
        let by_hand = || is_merged(self.git, self.head.as_ref().map(Commit::id), &task.capture);
        let mut settler = Settler { cleaner: &self.cleaner, merger: &mut merger };
        let (known, none) = (InTheWay::default(), BTreeSet::new());
        match settler.merge((task, &none), &contents, known, &by_hand)? {
            SettledMerge::Merged(work) => {
                let tree = self.changed(target.tree, merger)?;
                let tree = with_git_links(self.git, tree, links)?;
                let is_same = target.tree == Some(tree);
                let place = BranchTarget { name, existing, begun, parent, tree, is_same };
                self.commit(task, contents, work, (place, ancestry))
            }
            SettledMerge::Conflicted(conflicts) => Ok(kept(task, conflicts)),
            SettledMerge::ByHand => {
                self.lineage.add_empty(&task.task, ancestry);
                without_choice(Landed::Unchanged)
            }
        }
    }

    /// Commits the merged work of a task to its branch.
    fn commit(
        &mut self,
        task: &LandingTask,
        mut contents: Contents,
        SettledWork { clean, added }: SettledWork,
        (target, ancestry): (BranchTarget, Ancestry),
    ) -> Result<(Landed, Settled)> {
        let BranchTarget { name, existing, begun, parent, tree, is_same } = target;
        if is_same && matches!(self.part, Part::Nested(_)) {
            // The task has only checked out another commit of the user's.
            return Ok((Landed::Unchanged, Settled::default()));
        }
        let is_plain = added.settled.is_empty() && begun.is_none();
        if is_same && begun.is_none() && !is_plain {
            // Nothing of the work is left to be committed.
            if added.conflicts.is_empty() {
                self.lineage.add_empty(&task.task, ancestry);
                return Ok((Landed::Unchanged, added.settled));
            }
            return Ok(landed_on(&name, added));
        }
        as_one_commit(&mut contents, task, &added);
        let parents: Vec<Oid> = parent.into_iter().collect();
        let tip = match (existing, begun) {
            (Some(existing), Some(_)) if is_same => existing,
            (Some(existing), None) => {
                if !self.is_made(existing, tree, &parents, &contents.series)? {
                    return Ok(unwritten(task, taken(&name)));
                }
                existing
            }
            (Some(_) | None, _) => {
                let (git, store, rules) = (self.git, self.store, &self.rules);
                let (contents, clean, parents) = (&contents, &clean[..], &parents[..]);
                let work = MergedWork { task, contents, clean, tree, parents };
                let Replayed { tip, notices } = Replay { git, store, rules }.commits(&work)?;
                if self.publish == Publish::Yes {
                    self.branches.publish(&name, begun, tip)?;
                    self.notices.extend(notices);
                }
                tip
            }
        };
        if added.conflicts.is_empty() {
            let changes = match is_plain {
                true => clean,
                // The others would conflict again.
                false => {
                    let tip = self.git.find_commit(tip).or_cannot(|| "read a commit")?;
                    self.since_head(&tip)?
                }
            };
            self.lineage.add(&task.task, ancestry, tip, changes);
        }
        Ok(landed_on(&name, added))
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
            Some(Change::new(path, side(delta.old_file()), side(delta.new_file())))
        });
        Ok(changes.collect())
    }

    /// Returns the parent for the commit of a task: the commit that is checked out or, if there is
    /// one, `start`, the tip of the only branch in its ancestry, or a merge commit of several tips.
    fn parent(
        &self,
        ancestry: &Ancestry,
        existing: Option<Oid>,
        start: Option<Oid>,
    ) -> Result<std::result::Result<Option<Oid>, Vec<Conflict>>> {
        let tips: Vec<Oid> = ancestry.tips.values().copied().collect();
        match tips[..] {
            [] => return Ok(Ok(start.or_else(|| self.head.as_ref().map(Commit::id)))),
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
        commit(self.git, tree, &tips, &message).map(|commit| Ok(Some(commit)))
    }

    fn changed(&self, tree: Option<Oid>, merger: Merger<'_>) -> Result<Oid> {
        let what = || "write a tree";
        let before = tree.map(|tree| self.git.find_tree(tree)).transpose().or_cannot(what)?;
        write_changed_tree(self.git, before.as_ref(), &merger.finish()).or_cannot(what)
    }

    /// Returns whether an earlier landing made the branch with this tip for the same work.
    fn is_made(&self, tip: Oid, tree: Oid, parents: &[Oid], series: &Series) -> Result<bool> {
        let what = || "read a commit";
        let mut commit = self.git.find_commit(tip).or_cannot(what)?;
        if commit.tree_id() != tree {
            return Ok(false);
        }
        for _ in 0..=series.commits.len() {
            if commit.parent_ids().eq(parents.iter().copied()) {
                return Ok(true);
            }
            match commit.parent(0) {
                Ok(parent) => commit = parent,
                Err(_none) => return Ok(false),
            }
        }
        Ok(false)
    }

    fn is(&self, commit: Oid, tree: Oid, parents: &[Oid]) -> Result<bool> {
        let commit = self.git.find_commit(commit).or_cannot(|| "read a commit")?;
        Ok(commit.tree_id() == tree && commit.parent_ids().eq(parents.iter().copied()))
    }
}

/// Returns the message for a branch that exists already with other work.
fn taken(branch: &str) -> String {
    let old = format!("{branch}-old");
    format!("the branch {branch} is there already, with other work; git branch -m {branch} {old}")
}
