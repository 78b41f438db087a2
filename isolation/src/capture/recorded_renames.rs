//! The renames that git recorded in a workspace: in the commits that the task made, and in its index,
//! as `git mv` does. A file that was renamed so and then written anew is not found by similarity.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use protocol::RepoPath;

use crate::backends::ChangeList;
use crate::baseline::Snapshot;
use crate::capture::own_commit::is_folder;
use crate::error::Result;
use crate::file_entry::{Change, Entry, Mode};
use crate::index_file;
use crate::merge::same_files;
use crate::nested::{below, git_folder_of, within};
use crate::store::{Series, TaskStore};
use crate::workspace::{GIT, GIT_TEMPLATE};

/// Notes the old path of each new file that git recorded as renamed in the workspace at `folder`.
pub(super) fn note_renames(
    snapshot: &Snapshot,
    folder: &Path,
    (list, store): (&mut ChangeList, &TaskStore),
) -> Result<()> {
    let (own, template) = (folder.join(GIT), snapshot.context.folder.join(GIT_TEMPLATE));
    let root = Worked { git_dir: &own, template: &template, root: None, series: &list.series };
    let mut from = root.renames(store, list.changes())?;
    for (number, path) in snapshot.nested.iter().enumerate() {
        let Some(path) = RepoPath::new(path.as_slice()) else { continue };
        // Where it did nothing, nothing is renamed.
        let Some(work) = list.nested.iter().find(|work| work.path == path) else { continue };
        let (own, template) = (git_folder_of(&own, number), git_folder_of(&template, number));
        let (git_dir, template) = (own.as_path(), template.as_path());
        let nested = Worked { git_dir, template, root: Some(&path), series: &work.series };
        from.extend(nested.renames(store, list.changes())?);
    }
    list.set_renames(from);
    Ok(())
}

/// A git folder in a workspace, and what a task did in it.
struct Worked<'a> {
    git_dir: &'a Path,
    /// What it was copied from.
    template: &'a Path,
    /// The folder of the nested repository; `None` for the user's repository itself.
    root: Option<&'a RepoPath>,
    /// The commits that the task made in it.
    series: &'a Series,
}

/// The files after a step by their paths, `None` for those that are not there.
type FilesAfter = BTreeMap<RepoPath, Option<Entry>>;

/// What became of files, step by step.
struct Trail {
    files: BTreeMap<RepoPath, Entry>,
    /// The path that each renamed file had in the beginning.
    from: BTreeMap<RepoPath, RepoPath>,
}

impl Trail {
    fn follow(&mut self, store: &TaskStore, step: &FilesAfter) -> Result<()> {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (path, now) in step {
            let old = match now {
                Some(now) => self.files.insert(path.clone(), *now),
                None => self.files.remove(path),
            };
            match (old, now) {
                (Some(old), None) => removed.push((path.clone(), old)),
                (None, Some(now)) => added.push((path.clone(), *now)),
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
        let removed_paths: Vec<RepoPath> = removed.iter().map(|(path, _)| path.clone()).collect();
        let renames = same_files(store, removed, added)?;
        let firsts: Vec<_> = renames
            .into_iter()
            .map(|rename| (rename.to, self.from.get(&rename.from).cloned().unwrap_or(rename.from)))
            .collect();
        for path in removed_paths {
            self.from.remove(&path);
        }
        self.from.extend(firsts);
        Ok(())
    }
}

impl Worked<'_> {
    /// Returns the old path of each new file among `changes` that was renamed here, by its new path.
    fn renames(
        &self,
        store: &TaskStore,
        changes: &[Change],
    ) -> Result<BTreeMap<RepoPath, RepoPath>> {
        let paths = |is_it: fn(&&Change) -> bool| -> BTreeSet<RepoPath> {
            changes.iter().filter(is_it).filter_map(|change| self.own(&change.path)).collect()
        };
        let gone = paths(|change| change.task.is_none());
        let new = paths(|change| change.base.is_none());
        if gone.is_empty() || new.is_empty() {
            return Ok(BTreeMap::new());
        }
        let commits = &self.series.commits;
        let in_commits = commits.iter().flat_map(|commit| commit.paths.keys());
        let seen: BTreeSet<RepoPath> = gone.iter().chain(&new).chain(in_commits).cloned().collect();
        let files = index(self.template, &seen).unwrap_or_default();
        let mut trail = Trail { files, from: BTreeMap::new() };
        for commit in commits {
            trail.follow(store, &commit.paths)?;
        }
        if let Some(last) = index(self.git_dir, &seen) {
            let now = |path: RepoPath| (path.clone(), last.get(&path).copied());
            trail.follow(store, &seen.into_iter().map(now).collect())?;
        }
        let known = trail.from.into_iter();
        let known = known.filter(|(to, from)| new.contains(to) && gone.contains(from));
        Ok(known.map(|(to, from)| (self.whole(to), self.whole(from))).collect())
    }

    /// Returns a path as it is in the repository; `None` if it is not in its folder.
    fn own(&self, path: &RepoPath) -> Option<RepoPath> {
        self.root.map_or_else(|| Some(path.clone()), |root| below(root, path))
    }

    /// Returns a path of the repository as it is in the user's repository.
    fn whole(&self, path: RepoPath) -> RepoPath {
        match self.root {
            Some(root) => within(root, &path),
            None => path,
        }
    }
}

/// Reads the entries of these files in the index of a git folder. Returns `None` if it cannot be read
/// or has conflicts.
fn index(git_dir: &Path, of: &BTreeSet<RepoPath>) -> Option<BTreeMap<RepoPath, Entry>> {
    let bytes = is_folder(git_dir).then(|| index_file::read(&git_dir.join("index")))??;
    let wanted: HashMap<&[u8], &RepoPath> = of.iter().map(|path| (path.as_bytes(), path)).collect();
    let (mut files, mut has_conflicts) = (BTreeMap::new(), false);
    let read = index_file::entries(&bytes, |entry| {
        has_conflicts |= entry.is_conflict;
        let path = wanted.get(entry.path);
        if let (Some(path), Some(mode)) = (path, Mode::from_git(entry.mode)) {
            files.insert((*path).clone(), Entry { mode, oid: entry.id });
        }
    });
    (read.is_ok() && !has_conflicts).then_some(files)
}

#[cfg(test)]
mod tests;
