//! What has changed the files of a run, one change of the tree after the other: the works of its tasks, and
//! undos. From it an undo knows what stood when a work had just landed, and where files have gone since.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use protocol::RepoPath;

use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::merge::{Began, Blobs, Rename, renames_of};

/// The changes of the tree by the landings of a run, in their order.
#[derive(Default)]
pub(super) struct Timeline(Vec<Moment>);

/// What changed at once.
struct Moment {
    changes: Vec<Change>,
    renames: OnceCell<Vec<Rename>>,
}

impl Timeline {
    /// Adds what has changed next. Returns the number of the moment.
    pub(super) fn push(&mut self, changes: Vec<Change>) -> usize {
        self.0.push(Moment::of(changes));
        self.0.len() - 1
    }

    /// Returns what stands at its end at each path that has changed.
    pub(super) fn end(&self) -> BTreeMap<RepoPath, Option<Entry>> {
        let changes = self.0.iter().flat_map(|moment| &moment.changes);
        changes.map(|change| (change.path.clone(), change.task)).collect()
    }

    /// Returns the number of the latest moment.
    pub(super) fn latest(&self) -> usize {
        self.0.len().saturating_sub(1)
    }
}

impl Moment {
    fn of(changes: Vec<Change>) -> Self {
        Self { changes, renames: OnceCell::new() }
    }

    fn renames(&self, blobs: &dyn Blobs) -> Result<&[Rename]> {
        if self.renames.get().is_none() {
            let found = renames_of(blobs, &self.changes)?;
            return Ok(self.renames.get_or_init(|| found));
        }
        Ok(self.renames.get().map_or(&[], Vec::as_slice))
    }
}

/// What stood just after a moment of a timeline. It goes back from one moment to the next that is asked for,
/// so that an undo of many works looks at each change once.
pub(super) struct Rewind<'a> {
    timeline: &'a Timeline,
    /// What stood before each change of the timeline, by moment.
    before: Vec<Vec<Option<Entry>>>,
    /// What the undo itself has changed since, and how much of it is in the maps below.
    since: Vec<Moment>,
    followed: usize,
    /// How many moments had passed then.
    passed: usize,
    /// What stood then at each path that changed before or later, and the paths that files had then, by
    /// those that they have now.
    began: Rc<Began>,
    /// The paths that files have now, by those that they had then; `None` for a file that is gone. A file
    /// that is in neither map has not moved.
    now: BTreeMap<RepoPath, Option<RepoPath>>,
    /// The files of now that were not there then.
    new: BTreeSet<RepoPath>,
}

impl<'a> Rewind<'a> {
    /// Returns what stands at the end of the timeline.
    pub(super) fn of(timeline: &'a Timeline) -> Self {
        let mut began = Began::default();
        let mut before = Vec::with_capacity(timeline.0.len());
        for moment in &timeline.0 {
            let stood = moment.changes.iter().map(|Change { path, base, task, .. }| {
                began.entries.insert(path.clone(), *task).unwrap_or(*base)
            });
            before.push(stood.collect());
        }
        let (began, passed) = (Rc::new(began), timeline.0.len());
        let (now, new, since) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        Self { timeline, before, since, followed: 0, passed, began, now, new }
    }

    /// Adds what the undo has changed.
    pub(super) fn push(&mut self, changes: Vec<Change>) {
        self.since.push(Moment::of(changes));
    }

    /// Returns what stood just after a moment. As in git, a file stays the same one wherever it is moved.
    pub(super) fn after(&mut self, moment: usize, blobs: &dyn Blobs) -> Result<Rc<Began>> {
        let passed = self.timeline.0.len().min(moment + 1);
        if passed > self.passed {
            // What an earlier undo has left of a landing can be later than what a later one has changed.
            let since = std::mem::take(&mut self.since);
            *self = Self { since, ..Self::of(self.timeline) };
        }
        while let Some(moment) = self.since.get(self.followed) {
            let (changes, renames) = (moment.changes.clone(), moment.renames(blobs)?.to_vec());
            self.follow(&changes, &renames);
            self.followed += 1;
        }
        let timeline = self.timeline;
        while self.passed > passed {
            let moment = &timeline.0[self.passed - 1];
            self.go_back(&moment.changes, moment.renames(blobs)?);
            self.passed -= 1;
        }
        Ok(Rc::clone(&self.began))
    }

    /// Adds changes after all others.
    fn follow(&mut self, changes: &[Change], renames: &[Rename]) {
        let old = renames.iter().map(|Rename { from, to, .. }| (to.clone(), self.old_path(from)));
        let moved: Vec<_> = old.collect();
        for Change { path, base, task, .. } in changes {
            Rc::make_mut(&mut self.began).entries.entry(path.clone()).or_insert(*base);
            match (base, task) {
                (None, _) => self.set_old(path, None),
                (Some(_), None) => {
                    if let Some(old) = self.old_path(path) {
                        self.now.insert(old, None);
                    }
                    self.set_old(path, Some(path));
                }
                (Some(_), Some(_)) => {}
            }
        }
        for (path, old) in moved {
            self.set_old(&path, old.as_ref());
            if let Some(old) = old {
                self.now.insert(old, Some(path));
            }
        }
    }

    /// Goes back over the changes of the last moment that has passed.
    fn go_back(&mut self, changes: &[Change], renames: &[Rename]) {
        let from: BTreeMap<&RepoPath, &RepoPath> =
            renames.iter().map(|Rename { from, to, .. }| (to, from)).collect();
        let mut moved = Vec::new();
        for Change { path, .. } in changes.iter().filter(|change| change.base.is_none()) {
            let now = self.now.remove(path).unwrap_or_else(|| Some(path.clone()));
            match (from.get(path), now) {
                (Some(from), now) => moved.push((*from, now)),
                (None, Some(now)) => self.set_old(&now, None),
                (None, None) => {}
            }
        }
        for Change { path, .. } in changes.iter().filter(|change| change.task.is_none()) {
            self.now.insert(path.clone(), None);
        }
        for (from, now) in moved {
            if let Some(now) = &now {
                self.set_old(now, Some(from));
            }
            self.now.insert(from.clone(), now);
        }
        let entries = &mut Rc::make_mut(&mut self.began).entries;
        for (change, before) in changes.iter().zip(&self.before[self.passed - 1]) {
            entries.insert(change.path.clone(), *before);
        }
    }

    /// Returns the path that a file of now had then, if it was there.
    fn old_path(&self, path: &RepoPath) -> Option<RepoPath> {
        let old = || self.began.old_paths.get(path).unwrap_or(path);
        (!self.new.contains(path)).then(|| old().clone())
    }

    fn set_old(&mut self, path: &RepoPath, old: Option<&RepoPath>) {
        let old_paths = &mut Rc::make_mut(&mut self.began).old_paths;
        self.new.remove(path);
        old_paths.remove(path);
        match old {
            None => drop(self.new.insert(path.clone())),
            Some(old) if old != path => drop(old_paths.insert(path.clone(), old.clone())),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use git2::{ObjectType, Oid};

    use super::*;
    use crate::merge::chain_samples::Chain;
    use crate::merge::random::Random;
    use crate::merge::tree_samples::Files;

    #[derive(Default)]
    struct Memory(RefCell<HashMap<Oid, Vec<u8>>>);

    impl Blobs for Memory {
        fn read(&self, oid: Oid) -> Result<Vec<u8>> {
            Ok(self.0.borrow()[&oid].clone())
        }

        fn write(&self, bytes: &[u8]) -> Result<Oid> {
            let oid = Oid::hash_object(ObjectType::Blob, bytes).unwrap();
            self.0.borrow_mut().insert(oid, bytes.to_vec());
            Ok(oid)
        }
    }

    impl Memory {
        fn changes(&self, before: &Files, after: &Files) -> Vec<Change> {
            let entry = |files: &Files, path: &str| {
                let (mode, bytes) = files.get(path)?;
                Some(Entry { mode: *mode, oid: self.write(bytes).unwrap() })
            };
            let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let change = |path: &String| {
                let sides = (entry(before, path), entry(after, path));
                Change::new(RepoPath::new(path.as_str()).unwrap(), sides.0, sides.1)
            };
            let changes = paths.into_iter().map(change);
            changes.filter(|change| change.base != change.task).collect()
        }
    }

    /// The same from the whole timeline, forwards.
    fn from_the_whole(moments: &[(Vec<Change>, Vec<Rename>)], moment: usize) -> Began {
        let (earlier, later) = moments.split_at(moment + 1);
        let mut began = Began::default();
        for change in later.iter().rev().flat_map(|(changes, _)| changes) {
            began.entries.insert(change.path.clone(), change.base);
        }
        for change in earlier.iter().flat_map(|(changes, _)| changes) {
            began.entries.insert(change.path.clone(), change.task);
        }
        let mut old_paths: BTreeMap<RepoPath, Option<RepoPath>> = BTreeMap::new();
        for (changes, renames) in later {
            let moved = renames.iter().map(|Rename { from, to, .. }| {
                let old = old_paths.get(from).cloned();
                (to.clone(), old.unwrap_or_else(|| Some(from.clone())))
            });
            let moved: Vec<_> = moved.collect();
            for change in changes {
                match (change.base, change.task) {
                    (None, _) => drop(old_paths.insert(change.path.clone(), None)),
                    (_, None) => drop(old_paths.remove(&change.path)),
                    (Some(_), Some(_)) => {}
                }
            }
            old_paths.extend(moved);
        }
        let known = old_paths.into_iter().filter_map(|(path, old)| Some((path, old?)));
        began.old_paths = known.filter(|(path, old)| path != old).collect();
        began
    }

    #[test]
    fn each_moment_is_as_the_whole_timeline_tells_it_whichever_is_asked_for_next() {
        for seed in 0..6 {
            let (mut random, blobs) = (Random::new(seed), Memory::default());
            // The trees are those of a walk: each is changed to the next.
            let mut walk = vec![Files::new()];
            for _ in 0..2 {
                let chain = Chain::new(&mut random);
                walk.push(chain.base);
                walk.extend(chain.steps.into_iter().map(|step| step.files));
            }
            let moments = walk.windows(2).map(|pair| {
                let changes = blobs.changes(&pair[0], &pair[1]);
                let renames = renames_of(&blobs, &changes).unwrap();
                (changes, renames)
            });
            let moments: Vec<_> = moments.collect();
            let past = moments.len() - 2;
            let mut timeline = Timeline::default();
            for (changes, _) in &moments[..past] {
                timeline.push(changes.clone());
            }
            let mut rewind = Rewind::of(&timeline);
            let mut told = past;
            let last_to_first = (0..past).rev();
            for moment in last_to_first.chain([past - 1, 0, past / 2]) {
                if told < moments.len() && random.below(2) == 0 {
                    rewind.push(moments[told].0.clone());
                    told += 1;
                }
                let expected = from_the_whole(&moments[..told], moment);
                let began = rewind.after(moment, &blobs).unwrap();
                assert_eq!(*began, expected, "{seed}: after {moment} of {told}");
            }
        }
    }
}
