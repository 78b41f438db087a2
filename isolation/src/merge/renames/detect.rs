//! Pairs removed files with added ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

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
    /// The other side changed the file, or the folder may be renamed.
    Yes,
    /// Only a file with the same content is of interest.
    No,
}

/// A file that the same side added.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) path: RepoPath,
    pub(crate) entry: Entry,
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

    /// Pairs files with the same content, those of the same name first.
    fn same_content(&mut self, counts: &mut FolderCounts<'_>) {
        let mut by_content: HashMap<Oid, Vec<usize>> = HashMap::new();
        for (at, removed) in self.removed.iter().enumerate() {
            by_content.entry(removed.entry.oid).or_default().push(at);
        }
        for at in 0..self.added.len() {
            let added = &self.added[at];
            let fits = |other: &&usize| {
                let removed = &self.removed[**other];
                let both_links = removed.entry.mode == Mode::Link;
                !self.used[**other] && both_links == (added.entry.mode == Mode::Link)
            };
            let Some(same) = by_content.get(&added.entry.oid) else { continue };
            let name = name_of(&added.path);
            let best = same
                .iter()
                .filter(fits)
                .find(|other| name_of(&self.removed[**other].path) == name)
                .or_else(|| same.iter().find(fits));
            if let Some(&best) = best {
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
        let wanted = |at: &usize| !self.used[*at] && self.removed[*at].wanted == Wanted::Yes;
        let sources: Vec<usize> = (0..self.removed.len()).filter(wanted).collect();
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
