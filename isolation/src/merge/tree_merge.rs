//! Merges two lists of changes of one tree: pairs what was renamed, moves what belongs into a renamed
//! folder, and leaves three versions of each path.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{ConflictReason, RepoPath, TaskName};

use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::merge::Blobs;
use crate::merge::folder_changes::removed_folders;
use crate::merge::obstacles::entries_below;
use crate::merge::side_renames::{Authors, Remover, SideRenames};

/// The three versions of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) base: Option<Entry>,
    /// The entries of both sides, ours first.
    pub(crate) sides: [Option<Entry>; 2],
    /// The old path, for each side that is known to have renamed the file to this path.
    pub(crate) from: [Option<RepoPath>; 2],
}

impl Versions {
    /// Returns versions of which no rename is known.
    pub(crate) fn new(base: Option<Entry>, sides: [Option<Entry>; 2]) -> Self {
        Self { base, sides, from: [None, None] }
    }

    /// Returns whether a side removed the file.
    pub(super) fn removed_by(&self, side: SideName) -> bool {
        self.base.is_some() && self.sides[side.at()].is_none()
    }

    /// Returns whether a side added the file.
    pub(super) fn added_by(&self, side: SideName) -> bool {
        self.base.is_none() && self.sides[side.at()].is_some()
    }
}

/// One side of a merge, as an index of [`Versions::sides`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideName {
    Ours = 0,
    Theirs = 1,
}

impl SideName {
    /// Both sides, ours first.
    pub(super) const BOTH: [Self; 2] = [Self::Ours, Self::Theirs];

    /// Returns the other side.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Ours => Self::Theirs,
            Self::Theirs => Self::Ours,
        }
    }

    /// Returns its index.
    pub(super) fn at(self) -> usize {
        self as usize
    }
}

/// The files that neither side changed.
pub(crate) trait Untouched {
    /// Returns whether there is such a file below a folder.
    fn is_below(&self, folder: &[u8]) -> Result<bool>;

    /// Returns whether there is such a file at a path.
    fn is_at(&self, path: &RepoPath) -> Result<bool>;
}

/// The result: what is to be merged at each path, and the conflicts that the renames make.
#[derive(Debug, Default)]
pub(crate) struct Pathwise {
    /// The three versions of each path.
    pub(crate) paths: BTreeMap<RepoPath, Versions>,
    /// The renamed files, by their new paths.
    pub(crate) moves: BTreeMap<RepoPath, Move>,
    /// The files of a side that follow a renamed folder, by their final paths: the side that added each,
    /// and where.
    pub(crate) followed: BTreeMap<RepoPath, (SideName, RepoPath)>,
    /// The conflicts.
    pub(crate) conflicts: Vec<RenameConflict>,
}

impl Pathwise {
    fn add_move(&mut self, moved: Move) {
        self.moves.entry(moved.to.clone()).or_insert(moved);
    }
}

/// A file whose versions come from several paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: RepoPath,
    pub(crate) to: RepoPath,
    pub(crate) by: SideName,
}

/// A conflict that a rename makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RenameConflict {
    pub(crate) reason: ConflictReason,
    pub(crate) from: RepoPath,
    /// The path on each side; `None` if the side removed the file.
    pub(crate) to: [Option<RepoPath>; 2],
    pub(crate) versions: Versions,
}

/// Pairs what each side renamed, and moves versions to where they belong. `paths` has every path
/// that a side changed, and `authors` are those of our side. What no task added there is the user's, and
/// stays where it is.
pub(crate) fn follow_renames(
    blobs: &dyn Blobs,
    paths: BTreeMap<RepoPath, Versions>,
    untouched: &dyn Untouched,
    authors: Authors<'_>,
) -> Result<Pathwise> {
    if !may_matter(&paths) {
        return Ok(Pathwise { paths, ..Pathwise::default() });
    }
    let removed = removed_folders(&paths, untouched)?;
    let mut found = Vec::new();
    for side in SideName::BOTH {
        let (of_one, by_one) = (|_: &RepoPath| None, |_: &RepoPath| Remover::User);
        let authors = match side {
            SideName::Ours => authors,
            SideName::Theirs => Authors { author: &of_one, remover: &by_one },
        };
        let folders = &removed[side.at()];
        found.push(SideRenames::of_authors(blobs, &paths, side, folders, authors)?);
    }
    let (author, result) = (authors.author, Pathwise::default());
    let mut merge = Following { paths, untouched, author, found, result };
    merge.refuse_split_folders();
    merge.forget_folders_that_both_renamed();
    let moved = merge.move_into_renamed_folders()?;
    merge.follow(moved)?;
    let Following { paths, mut result, .. } = merge;
    result.paths = paths;
    Ok(result)
}

/// Returns whether a side removed a file and added another, so that a rename is possible.
fn may_matter(paths: &BTreeMap<RepoPath, Versions>) -> bool {
    SideName::BOTH.iter().any(|side| {
        paths.values().any(|versions| versions.removed_by(*side))
            && paths.values().any(|versions| versions.added_by(*side))
    })
}

struct Following<'a> {
    paths: BTreeMap<RepoPath, Versions>,
    untouched: &'a dyn Untouched,
    author: &'a dyn Fn(&RepoPath) -> Option<TaskName>,
    found: Vec<SideRenames>,
    result: Pathwise,
}

/// A renamed file, with the path that it finally gets.
#[derive(Clone, Debug)]
struct Followed {
    from: RepoPath,
    to: RepoPath,
    by: SideName,
}

impl Following<'_> {
    fn conflict(&mut self, reason: ConflictReason, from: &RepoPath, to: [Option<&RepoPath>; 2]) {
        // At the old path of a side that renamed the file, that side may have another one by now.
        let entry = |side: SideName| self.paths.get(to[side.at()]?)?.sides[side.at()];
        let base = self.paths.get(from).and_then(|versions| versions.base);
        let versions = Versions::new(base, SideName::BOTH.map(entry));
        let to = to.map(|path| path.cloned());
        self.result.conflicts.push(RenameConflict { reason, from: from.clone(), to, versions });
    }

    fn refuse_split_folders(&mut self) {
        for side in SideName::BOTH {
            let split = std::mem::take(&mut self.found[side.at()].folders.split);
            for folder in split.into_iter().filter_map(RepoPath::new) {
                self.conflict(ConflictReason::FolderSplit, &folder, [None, None]);
            }
        }
    }

    /// A folder that both sides renamed has no place for other files.
    fn forget_folders_that_both_renamed(&mut self) {
        let both: Vec<_> = {
            let [ours, theirs] = [&self.found[0].folders.to, &self.found[1].folders.to];
            ours.keys().filter(|folder| theirs.contains_key(*folder)).cloned().collect()
        };
        for folder in both {
            self.found[0].folders.to.remove(&folder);
            self.found[1].folders.to.remove(&folder);
        }
    }

    /// Moves each file that one side added into a folder that the other side renamed. Returns the
    /// renames of both sides with their final paths.
    fn move_into_renamed_folders(&mut self) -> Result<Vec<Followed>> {
        let targets = SideName::BOTH.map(|side| self.targets(side));
        let mut followed = Vec::new();
        for side in SideName::BOTH {
            let renames: BTreeMap<RepoPath, RepoPath> = self.found[side.at()]
                .files
                .iter()
                .map(|rename| (rename.to.clone(), rename.from.clone()))
                .collect();
            let mut refused = BTreeSet::new();
            for path in self.found[side.at()].added.clone() {
                let moved = self.moved(side, &path, &targets, &mut refused)?;
                if let Some(to) = &moved {
                    self.move_entry(side, &path, to);
                    let origin = (side, path.clone());
                    self.result.followed.entry(to.clone()).or_insert(origin);
                }
                if let Some(from) = renames.get(&path) {
                    let to = moved.unwrap_or(path);
                    followed.push(Followed { from: from.clone(), to, by: side });
                } else if let Some(to) = moved {
                    self.result.add_move(Move { from: path, to, by: side.other() });
                }
            }
        }
        followed.sort_by(|one, other| one.from.cmp(&other.from));
        Ok(followed)
    }

    /// Returns whether the user added a file, which no task moves.
    fn is_of_the_user(&self, side: SideName, path: &RepoPath) -> bool {
        side == SideName::Ours && (self.author)(path).is_none()
    }

    /// Returns the paths that files of `side` get by renamed folders, each with those files.
    fn targets(&self, side: SideName) -> BTreeMap<RepoPath, Vec<RepoPath>> {
        let renames = &self.found[side.other().at()].folders;
        let mut targets: BTreeMap<RepoPath, Vec<RepoPath>> = BTreeMap::new();
        for path in &self.found[side.at()].added {
            if self.is_of_the_user(side, path) {
                continue;
            }
            if let Some((moved, _)) = renames.moved(path) {
                targets.entry(moved).or_default().push(path.clone());
            }
        }
        targets
    }

    /// Returns the path that a file which `side` added gets by a renamed folder, if any.
    fn moved(
        &mut self,
        side: SideName,
        path: &RepoPath,
        targets: &[BTreeMap<RepoPath, Vec<RepoPath>>; 2],
        refused: &mut BTreeSet<RepoPath>,
    ) -> Result<Option<RepoPath>> {
        let other = side.other();
        if targets[other.at()].contains_key(path) || self.is_of_the_user(side, path) {
            return Ok(None);
        }
        let Some((to, folder)) = self.found[other.at()].folders.moved(path) else {
            return Ok(None);
        };
        // A file is not moved into a folder that its own side renamed.
        if self.found[side.at()].folders.to.contains_key(folder) {
            return Ok(None);
        }
        let several = targets[side.at()].get(&to).is_some_and(|files| files.len() > 1);
        if refused.contains(&to) || several || self.is_in_the_way(side, &to)? {
            refused.insert(to.clone());
            let mut sides = [None, None];
            sides[side.at()] = Some(path);
            sides[other.at()] = Some(&to);
            self.conflict(ConflictReason::SameName, path, sides);
            return Ok(None);
        }
        Ok(Some(to))
    }

    /// Returns whether `side` has something at a path, or neither side changed what is there.
    fn is_in_the_way(&self, side: SideName, path: &RepoPath) -> Result<bool> {
        let mut below = entries_below(&self.paths, path);
        if below.any(|(_, versions)| versions.sides[side.at()].is_some()) {
            return Ok(true);
        }
        match self.paths.get(path) {
            Some(versions) => Ok(versions.sides[side.at()].is_some()),
            None => Ok(self.untouched.is_at(path)? || self.untouched.is_below(path.as_bytes())?),
        }
    }

    /// Moves the entry of one side to another path.
    fn move_entry(&mut self, side: SideName, from: &RepoPath, to: &RepoPath) {
        let Some(versions) = self.paths.get_mut(from) else { return };
        let entry = versions.sides[side.at()].take();
        self.paths.entry(to.clone()).or_default().sides[side.at()] = entry;
    }

    /// Brings the versions of each renamed file together.
    fn follow(&mut self, renames: Vec<Followed>) -> Result<()> {
        let mut renames = renames.into_iter().peekable();
        while let Some(rename) = renames.next() {
            match renames.next_if(|next| next.from == rename.from) {
                Some(second) => self.both_renamed(&rename, &second),
                None => self.one_renamed(&rename),
            }
        }
        Ok(())
    }

    fn both_renamed(&mut self, one: &Followed, second: &Followed) {
        if one.to != second.to {
            let mut to = [None, None];
            to[one.by.at()] = Some(&one.to);
            to[second.by.at()] = Some(&second.to);
            self.conflict(ConflictReason::RenamedTwice, &one.from, to);
            return;
        }
        let base = self.paths.get_mut(&one.from).and_then(|versions| versions.base.take());
        self.paths.entry(one.to.clone()).or_default().base = base;
    }

    fn one_renamed(&mut self, rename: &Followed) {
        let Followed { from, to, by } = rename;
        let other = by.other();
        if from == to {
            // The other side renamed another folder to the one that this side renamed. As a
            // renamed one, such a file would be lost.
            self.conflict(ConflictReason::SameName, from, [Some(to), Some(to)]);
            return;
        }
        let Some(old) = self.paths.get(from).cloned() else { return };
        let new = self.paths.get(to).cloned().unwrap_or_default();
        let (source, renamed) = (old.sides[other.at()], new.sides[by.at()]);
        // A file that this side removed there, and that the other one left as it was, makes room.
        let collides = new.sides[other.at()].is_some() && new.sides[other.at()] != new.base;
        let is_link = |entry: Option<Entry>| entry.map(|entry| entry.mode == Mode::Link);
        // A file that followed a renamed folder to the old path stays there.
        let mut left = Versions::default();
        left.sides[by.at()] = old.sides[by.at()];
        let Some(source) = source else {
            let mut sides = [None, None];
            sides[by.at()] = Some(to);
            self.conflict(ConflictReason::RenamedAndRemoved, from, sides);
            if old.sides[by.at()].is_some() {
                self.paths.insert(from.clone(), left);
            }
            return;
        };
        if is_link(Some(source)) != is_link(renamed) {
            // The file goes on at its new name, and what replaced it stays at the old one.
            let there = new.sides[other.at()];
            if collides {
                // What the other side has there is taken for the same file if it is one of its kind.
                let base = old.base.filter(|_| is_link(there) == is_link(renamed));
                self.paths.entry(to.clone()).or_default().base = base;
            } else if there.is_none() {
                let mut sides = [Some(from), Some(from)];
                sides[by.at()] = Some(to);
                self.conflict(ConflictReason::Kind, from, sides);
            }
            self.paths.insert(from.clone(), Versions::new(None, old.sides));
            return;
        }
        if collides && Some(source) == old.base {
            // The other side has added the same file, or another one: both added it.
            self.paths.insert(from.clone(), left);
            return;
        }
        self.result.add_move(Move { from: from.clone(), to: to.clone(), by: *by });
        if collides {
            let mut sides = [Some(to), Some(to)];
            sides[other.at()] = Some(from);
            self.conflict(ConflictReason::SameName, from, sides);
            self.paths.insert(from.clone(), left);
            return;
        }
        self.paths.insert(from.clone(), left);
        let new = self.paths.entry(to.clone()).or_default();
        new.base = old.base;
        new.sides[other.at()] = Some(source);
    }
}
