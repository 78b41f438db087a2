//! Pairs removed files with added ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

use git2::Oid;
use protocol::RepoPath;

use super::folders::{FolderCounts, name_of};
use super::similarity::{MAX_SCORE, MIN_SCORE, Pieces};
use crate::error::Result;
use crate::file_entry::{Entry, Mode};
use crate::merge::Blobs;

/// A file that one side removed.
#[derive(Clone, Debug)]
pub(crate) struct Removed {
    pub(crate) path: RepoPath,
    pub(crate) entry: Entry,
    pub(crate) wanted: Wanted,
}

/// Whether anything depends on where a removed file went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The other side changed the file.
    Content,
    /// Its folder may be renamed.
    Place,
    /// Only a file with the same content is of interest.
    No,
}

/// A file that the same side added.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) path: RepoPath,
    pub(crate) entry: Entry,
    /// The path of the removed file that it is known to be.
    pub(crate) from: Option<RepoPath>,
}

/// A renamed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: RepoPath,
    pub(crate) to: RepoPath,
    /// The similarity in percent.
    pub(crate) percent: u64,
}

/// A file is compared by its content up to this size only.
const LARGEST: usize = 64 << 20;

/// How many of the best candidates are kept for each added file.
const CANDIDATES: usize = 4;

/// Finds the renamed files of one side. Both lists are sorted by path. `counts` counts how often
/// files moved from one folder to another. Files are compared with each other if the product of
/// their numbers is at most the square of `limit`.
pub(crate) fn detect(
    blobs: &dyn Blobs,
    removed: &[Removed],
    added: &[Added],
    limit: usize,
    counts: &mut FolderCounts<'_>,
) -> Result<Vec<Rename>> {
    let mut pairing = Pairing {
        removed,
        added,
        from: vec![None; added.len()],
        used: vec![false; removed.len()],
        pieces: HashMap::new(),
        blobs,
    };
    pairing.known(counts)?;
    pairing.same_content(counts);
    pairing.same_name(counts)?;
    pairing.similar(limit, counts)?;
    Ok(pairing.renames())
}

struct Pairing<'a> {
    removed: &'a [Removed],
    added: &'a [Added],
    /// The removed file and the score of each added file.
    from: Vec<Option<(usize, u64)>>,
    used: Vec<bool>,
    pieces: HashMap<Oid, Option<Pieces>>,
    blobs: &'a dyn Blobs,
}

/// The removed files with one content that may still be paired, in their order.
#[derive(Default)]
struct SameContent<'a> {
    all: VecDeque<usize>,
    by_name: HashMap<&'a [u8], VecDeque<usize>>,
}

impl SameContent<'_> {
    /// Takes the first file with a name, else the first of all. Each file is passed over once in
    /// each list, so that many files with one content take no longer than others.
    fn take(&mut self, name: &[u8], used: &[bool]) -> Option<usize> {
        let first = |files: &mut VecDeque<usize>| {
            std::iter::from_fn(|| files.pop_front()).find(|file| !used[*file])
        };
        self.by_name.get_mut(name).and_then(first).or_else(|| first(&mut self.all))
    }
}

impl Pairing<'_> {
    fn renames(&self) -> Vec<Rename> {
        let pairs = self.from.iter().zip(self.added);
        let mut renames: Vec<_> = pairs
            .filter_map(|(from, added)| {
                let (removed, score) = (*from)?;
                let from = self.removed[removed].path.clone();
                let percent = score * 100 / MAX_SCORE;
                Some(Rename { from, to: added.path.clone(), percent })
            })
            .collect();
        renames.sort_by(|one, other| one.from.cmp(&other.from));
        renames
    }

    fn pair(&mut self, removed: usize, added: usize, score: u64, counts: &mut FolderCounts<'_>) {
        self.from[added] = Some((removed, score));
        self.used[removed] = true;
        counts.add(&self.removed[removed].path, &self.added[added].path);
    }

    /// Pairs files of which it is known, however little they are alike.
    fn known(&mut self, counts: &mut FolderCounts<'_>) -> Result<()> {
        for at in 0..self.added.len() {
            let added = &self.added[at];
            let Some(from) = &added.from else { continue };
            let Ok(from) = self.removed.binary_search_by(|file| file.path.cmp(from)) else {
                continue;
            };
            let removed = &self.removed[from];
            let is_link = |entry: Entry| entry.mode == Mode::Link;
            if self.used[from] || is_link(removed.entry) != is_link(added.entry) {
                continue;
            }
            let score = match removed.wanted {
                _ if removed.entry.oid == added.entry.oid => MAX_SCORE,
                Wanted::Content => self.score(from, at)?,
                // How much they are alike is not needed.
                Wanted::Place | Wanted::No => MIN_SCORE,
            };
            self.pair(from, at, score, counts);
        }
        Ok(())
    }

    /// Pairs files with the same content, those of the same name first.
    fn same_content(&mut self, counts: &mut FolderCounts<'_>) {
        let removed = self.removed;
        let mut by_content: HashMap<(Oid, bool), SameContent<'_>> = HashMap::new();
        for (at, removed) in removed.iter().enumerate() {
            let is_link = removed.entry.mode == Mode::Link;
            let same = by_content.entry((removed.entry.oid, is_link)).or_default();
            same.all.push_back(at);
            same.by_name.entry(name_of(&removed.path)).or_default().push_back(at);
        }
        for at in 0..self.added.len() {
            let added = &self.added[at];
            if self.from[at].is_some() {
                continue;
            }
            let is_link = added.entry.mode == Mode::Link;
            let Some(same) = by_content.get_mut(&(added.entry.oid, is_link)) else { continue };
            if let Some(best) = same.take(name_of(&added.path), &self.used) {
                self.pair(best, at, MAX_SCORE, counts);
            }
        }
    }

    /// Pairs files whose name is the only one of its kind on both sides, or that a renamed folder
    /// suggests, if three quarters of their content are the same.
    fn same_name(&mut self, counts: &mut FolderCounts<'_>) -> Result<()> {
        let score_of_names = MIN_SCORE + (MAX_SCORE - MIN_SCORE) / 2;
        let guesses = counts.guesses();
        let left = |used: &dyn Fn(usize) -> bool, paths: Vec<&RepoPath>| {
            let mut names: BTreeMap<Vec<u8>, Option<usize>> = BTreeMap::new();
            for (at, path) in paths.into_iter().enumerate().filter(|(at, _)| !used(*at)) {
                let name = name_of(path).to_vec();
                names.entry(name).and_modify(|only| *only = None).or_insert(Some(at));
            }
            names
        };
        let removed = self.removed.iter().map(|file| &file.path).collect();
        let removed = left(&|at| self.used[at], removed);
        let added = self.added.iter().map(|file| &file.path).collect();
        let added = left(&|at| self.from[at].is_some(), added);
        let by_path: HashMap<&[u8], usize> =
            self.added.iter().enumerate().map(|(at, file)| (file.path.as_bytes(), at)).collect();
        for at in 0..self.removed.len() {
            if self.used[at] || self.removed[at].wanted == Wanted::No {
                continue;
            }
            let path = &self.removed[at].path;
            let name = name_of(path);
            let Some(only_added) = added.get(name) else { continue };
            let only_removed = removed.get(name).copied().flatten();
            let to = match (only_removed, only_added) {
                (Some(_), Some(to)) => Some(*to),
                _ => guesses.moved(path).and_then(|to| by_path.get(&to[..]).copied()),
            };
            let Some(to) = to.filter(|to| self.from[*to].is_none()) else { continue };
            let score = self.score(at, to)?;
            if score >= score_of_names {
                self.pair(at, to, score, counts);
            }
        }
        Ok(())
    }

    /// Pairs the most similar files.
    fn similar(&mut self, limit: usize, counts: &mut FolderCounts<'_>) -> Result<()> {
        let removed = self.removed;
        let is_open = |at: &usize| !self.used[*at] && removed[*at].wanted != Wanted::No;
        let open: Vec<usize> = (0..removed.len()).filter(is_open).collect();
        let undecided = counts.undecided(open.iter().map(|at| &removed[*at].path));
        let is_wanted = |at: &usize| match removed[*at].wanted {
            Wanted::Content => true,
            Wanted::Place => undecided.has_above(&removed[*at].path),
            Wanted::No => false,
        };
        let sources: Vec<usize> = open.into_iter().filter(is_wanted).collect();
        let targets: Vec<usize> =
            (0..self.added.len()).filter(|at| self.from[*at].is_none()).collect();
        if sources.len().saturating_mul(targets.len()) > limit * limit {
            return Ok(());
        }
        let mut candidates = Vec::new();
        for &to in &targets {
            let mut best: Vec<(u64, bool, usize, usize)> = Vec::new();
            for &from in &sources {
                let score = self.score(from, to)?;
                if score < MIN_SCORE {
                    continue;
                }
                let same_name = name_of(&self.removed[from].path) == name_of(&self.added[to].path);
                best.push((score, same_name, from, to));
                // The order among equals stays.
                best.sort_by_key(|found| Reverse((found.0, found.1)));
                best.truncate(CANDIDATES);
            }
            candidates.extend(best);
        }
        candidates.sort_by_key(|found| Reverse((found.0, found.1)));
        for (score, _, from, to) in candidates {
            if !self.used[from] && self.from[to].is_none() {
                self.pair(from, to, score, counts);
            }
        }
        Ok(())
    }

    /// Returns how similar two files are; 0 for anything but two files.
    fn score(&mut self, removed: usize, added: usize) -> Result<u64> {
        let (one, other) = (self.removed[removed].entry, self.added[added].entry);
        if one.mode == Mode::Link || other.mode == Mode::Link {
            return Ok(0);
        }
        for oid in [one.oid, other.oid] {
            if !self.pieces.contains_key(&oid) {
                let bytes = self.blobs.read(oid)?;
                let pieces = (bytes.len() <= LARGEST).then(|| Pieces::of(&bytes));
                self.pieces.insert(oid, pieces);
            }
        }
        Ok(match (&self.pieces[&one.oid], &self.pieces[&other.oid]) {
            (Some(one), Some(other)) => one.score(other),
            _ => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::renames::RemovedFolders;

    /// A store that is not asked for anything.
    struct Unread;

    impl Blobs for Unread {
        fn read(&self, oid: Oid) -> Result<Vec<u8>> {
            unreachable!("{oid} is read")
        }

        fn write(&self, _: &[u8]) -> Result<Oid> {
            unreachable!("nothing is written")
        }
    }

    #[test]
    fn a_hundred_thousand_files_with_one_content_are_paired_at_once() {
        let oid = Oid::hash_object(git2::ObjectType::Blob, b"same").unwrap();
        let entry = Entry { mode: Mode::File, oid };
        let path = |folder: &str, at: usize| RepoPath::new(format!("{folder}/{at:06}")).unwrap();
        let removed: Vec<_> = (0..100_000)
            .map(|at| Removed { path: path("old", at), entry, wanted: Wanted::Place })
            .collect();
        // Every second file has a name of its own.
        let added: Vec<_> = (0..100_000)
            .map(|at| Added {
                path: path("new", if at % 2 == 0 { at } else { at + 100_000 }),
                entry,
                from: None,
            })
            .collect();
        let folders = RemovedFolders::default();
        let counts = &mut FolderCounts::new(&folders);
        let renames = detect(&Unread, &removed, &added, 7_000, counts).unwrap();
        assert_eq!(renames.len(), 100_000);
        let same = renames.iter().filter(|rename| name_of(&rename.from) == name_of(&rename.to));
        assert_eq!(same.count(), 50_000);
    }
}
