//! The tasks of a run whose work an earlier landing has put into the tree or on the branch, for the
//! conflicts with it.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use engine::fault::Faults;
use git2::{Commit, ObjectType, Oid, Repository};
use protocol::{
    Conflict, ConflictParties, ConflictReason, Landed, LandingReport, RepoPath, RunName, Side,
    TaskName,
};

use crate::branch::named_task;
use crate::file_entry::Entry;
use crate::landing::journal::{Journals, State, is_of};
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::BranchMove;
use crate::landing::past_versions::{Clash, CommittedOrKept};
use crate::landing::plan::FileChange;
use crate::merge::{clash, entries_below};
use crate::paths::RepoPaths;
use crate::store::TaskStore;

/// The earlier landings of a run. Nothing is read until there is a conflict.
pub(super) struct EarlierWork<'a> {
    paths: &'a RepoPaths,
    run: &'a RunName,
    /// The journals, the latest first.
    journals: OnceCell<Vec<Journal>>,
    /// The changes of each path, the latest first.
    changes: OnceCell<BTreeMap<RepoPath, Vec<PastChange>>>,
}

/// A change of a path by a landing.
struct PastChange {
    before: Option<Entry>,
    after: Option<Entry>,
    /// The tasks that made it; empty if the landing took others back.
    by: Vec<TaskName>,
    /// The task that had added the file, if it was moved away.
    moved_of: Option<TaskName>,
}

impl PastChange {
    fn of(journal: &Journal, change: &FileChange, authors: &mut Authors) -> Self {
        let by = if journal.undo.is_none() { change.by.clone() } else { Vec::new() };
        let (before, after) = (change.expected, change.new);
        let author = authors.remove(&change.path);
        let stays = if before.is_none() { by.first() } else { author.as_ref() };
        if let Some(author) = stays.filter(|_| after.is_some()) {
            authors.insert(change.path.clone(), author.clone());
        }
        // The file of a task that others have moved names them all.
        let is_moved = |author: &TaskName| {
            journal.changes.iter().any(|other| {
                other.expected.is_none()
                    && other.by.first() == Some(author)
                    && by.last().is_some_and(|by| by != author && other.by.contains(by))
            })
        };
        let moved_of = author.filter(|author| after.is_none() && is_moved(author));
        Self { before, after, by, moved_of }
    }
}

/// The tasks whose files are at paths.
type Authors = BTreeMap<RepoPath, TaskName>;

impl<'a> EarlierWork<'a> {
    pub(super) fn of(paths: &'a RepoPaths, run: &'a RunName) -> Self {
        Self { paths, run, journals: OnceCell::new(), changes: OnceCell::new() }
    }

    /// Returns the task whose landed work has removed a file of the working tree, or has added it; `None`
    /// if no task did, or if the user has changed the path since. `now` is what is there.
    /// A file stays that of the task that added it, also if another has moved it.
    pub(super) fn author_of(&self, path: &RepoPath, now: Option<Entry>) -> Option<TaskName> {
        let mut now = now;
        for PastChange { before, after, by, moved_of } in self.changes().get(path)? {
            if *after != now {
                return None;
            }
            match (before, after) {
                (Some(_), None) => return moved_of.as_ref().or(by.last()).cloned(),
                (None, Some(_)) => return by.first().cloned(),
                (Some(_), Some(_)) | (None, None) => now = *before,
            }
        }
        None
    }

    /// Returns the task whose landed work has removed a file of the working tree, also if another had added it.
    pub(super) fn remover_of(&self, path: &RepoPath) -> Option<TaskName> {
        let last = self.changes().get(path)?.first()?;
        last.by.last().filter(|_| last.after.is_none()).cloned()
    }

    /// Returns whether a landing has added a file to a folder.
    pub(super) fn has_added_below(&self, folder: &RepoPath) -> bool {
        let is_added = |change: &PastChange| change.before.is_none() && change.after.is_some();
        entries_below(self.changes(), folder).any(|(_, changes)| changes.iter().any(is_added))
    }

    /// Returns whether a path was changed since a landing wrote it. `now` is what is there.
    pub(super) fn is_edited(&self, path: &RepoPath, now: Option<Entry>) -> bool {
        let last = self.changes().get(path).and_then(|changes| changes.first());
        last.is_some_and(|change| change.after != now)
    }

    fn changes(&self) -> &BTreeMap<RepoPath, Vec<PastChange>> {
        self.changes.get_or_init(|| {
            let mut changes: BTreeMap<RepoPath, Vec<PastChange>> = BTreeMap::new();
            let mut authors = Authors::new();
            for journal in self.journals().iter().rev() {
                for change in &journal.changes {
                    let past = PastChange::of(journal, change, &mut authors);
                    changes.entry(change.path.clone()).or_default().push(past);
                }
            }
            changes.values_mut().for_each(|changes| changes.reverse());
            changes
        })
    }

    /// Names the other task of each conflict of a report.
    pub(super) fn name_in(&self, git: &Repository, store: &TaskStore, report: &mut LandingReport) {
        let blobs = CommittedOrKept(git, store);
        let clash =
            |path: &RepoPath, versions: [Option<Entry>; 3]| clash(&blobs, None, path, versions);
        for landing in &mut report.tasks {
            if let Landed::Conflicted { conflicts } = &mut landing.landed {
                self.name(git, &clash, conflicts);
            }
        }
    }

    /// Names the other task of each conflict with what a landing of the run has left at the path. A
    /// conflict with a later change of the user's stays as it is. `clash` returns how three versions of a
    /// path conflict.
    pub(super) fn name(&self, git: &Repository, clash: &Clash<'_>, conflicts: &mut [Conflict]) {
        for conflict in conflicts.iter_mut().filter(|conflict| conflict.with.is_none()) {
            if conflict.reason.parties() != ConflictParties::Place {
                let since = self.since_when(git, clash, conflict);
                conflict.with = since.or_else(|| self.author(git, conflict));
            }
        }
    }

    fn author(&self, git: &Repository, conflict: &Conflict) -> Option<TaskName> {
        let names = conflict.renamed.as_ref();
        let ours = names.and_then(|names| names.ours.as_ref()).unwrap_or(&conflict.path);
        let from = names.map(|names| &names.from);
        let in_the_way = conflict.reason == ConflictReason::InTheWay;
        let is_near = |path: &RepoPath| {
            in_the_way && (path.is_below(&conflict.path) || conflict.path.is_below(path))
        };
        for journal in self.journals() {
            for change in &journal.changes {
                let is_gone = change.new.is_none() && from == Some(&change.path);
                if change.path != *ours && !is_gone && !is_near(&change.path) {
                    continue;
                }
                let as_landed = change.path != *ours
                    || in_the_way
                    || change.new.map(Entry::to_side) == conflict.ours;
                let is_in_force = journal.undo.is_none() && as_landed;
                return change.by.last().filter(|_| is_in_force).cloned();
            }
            let Some(branch) = journal.branch.as_ref().filter(|_| journal.changes.is_empty())
            else {
                continue;
            };
            let folders = ours.folders().filter(|_| in_the_way);
            let paths: Vec<RepoPath> =
                [Some(ours), from].into_iter().flatten().cloned().chain(folders).collect();
            let stands = if in_the_way { None } else { conflict.ours.as_ref() };
            if let Some(commit) = commit_of(git, branch, &paths, (ours, stands)) {
                let is_in_force = journal.undo.is_none();
                return is_in_force.then(|| self.task_of(&commit, journal)).flatten();
            }
        }
        None
    }

    /// Returns the task whose work a commit of a landing has.
    pub(super) fn task_of(&self, commit: &Commit<'_>, journal: &Journal) -> Option<TaskName> {
        if let Some(task) = named_task(commit, self.run) {
            return Some(task);
        }
        // The commits that a task made itself do not name it.
        let landed = journal.report.tasks.iter();
        let mut landed = landed.filter(|task| matches!(task.landed, Landed::Landed { .. }));
        let only = landed.next().map(|landing| landing.task.clone());
        only.filter(|_| landed.next().is_none())
    }

    /// Returns the journals of the landings that are over. One that cannot be read names no task: the
    /// conflict is the same without it.
    pub(super) fn journals(&self) -> &[Journal] {
        self.journals.get_or_init(|| {
            let faults = Faults::default();
            let journals = Journals::in_folder(&self.paths.landings, &faults);
            let done = journals.done(self.run).unwrap_or_default().into_iter();
            let open = journals.open().unwrap_or_default().into_iter();
            let open =
                open.filter(|(id, state)| *state == State::Unreported && is_of(id, self.run));
            let mut found = BTreeMap::new();
            for (id, state) in done.map(|id| (id, State::Done)).chain(open) {
                let number = id.rsplit_once('-').and_then(|(_, number)| number.parse::<u64>().ok());
                if let (Some(number), Ok(Some(journal))) = (number, journals.read(&id, state)) {
                    found.insert(number, journal);
                }
            }
            found.into_values().rev().collect()
        })
    }
}

/// Returns the last commit of a landing that changed one of `paths`, if what stands at a path is what
/// the landing left there.
fn commit_of<'g>(
    git: &'g Repository,
    branch: &BranchMove,
    paths: &[RepoPath],
    (path, stands): (&RepoPath, Option<&Side>),
) -> Option<Commit<'g>> {
    let entry = |commit: &Commit<'_>, path: &RepoPath| {
        let entry = commit.tree().ok()?.get_path(path.as_path()).ok()?;
        // Of a folder above the path, only a file in its place counts.
        let is_above = entry.kind() == Some(ObjectType::Tree) && path != &paths[0];
        (!is_above)
            .then(|| Side { mode: entry.filemode().cast_unsigned(), oid: entry.id().to_string() })
    };
    let from = branch.from.as_deref().and_then(|from| Oid::from_str(from).ok());
    let mut commit = git.find_commit(Oid::from_str(&branch.to).ok()?).ok()?;
    if stands.is_some() && entry(&commit, path).as_ref() != stands {
        return None;
    }
    while Some(commit.id()) != from {
        let parent = commit.parent(0).ok()?;
        if paths.iter().any(|path| entry(&commit, path) != entry(&parent, path)) {
            return Some(commit);
        }
        commit = parent;
    }
    None
}
