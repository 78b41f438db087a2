//! Renamed folders: where most of a removed folder's files went, there go files that the other side
//! added to it.

use std::collections::{BTreeMap, BTreeSet};

use protocol::RepoPath;

/// The path of a folder; empty for the root.
pub(crate) type Folder = Vec<u8>;

/// The folders that one side removed, and for what each of them matters.
pub(crate) type RemovedFolders = BTreeMap<Folder, Relevance>;

/// Whether it matters where a removed folder went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relevance {
    /// It does not.
    None,
    /// It may tell where a folder above it went.
    ForAncestor,
    /// The other side added a file to it.
    ForItself,
}

/// Returns the folder of a path; empty for the root.
pub(crate) fn folder_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

/// Returns the last component of a path.
pub(super) fn name_of(path: &RepoPath) -> &[u8] {
    last(path.as_bytes())
}

fn last(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |slash| &path[slash + 1..])
}

/// Counts how many files moved from each removed folder to which folder.
pub(crate) struct FolderCounts<'a> {
    removed: &'a RemovedFolders,
    counts: BTreeMap<Folder, BTreeMap<Folder, usize>>,
}

impl<'a> FolderCounts<'a> {
    /// Returns counts without any file.
    pub(crate) fn new(removed: &'a RemovedFolders) -> Self {
        Self { removed, counts: BTreeMap::new() }
    }

    /// Counts a renamed file for its folder, and for the folders above as long as both paths go on
    /// alike.
    pub(super) fn add(&mut self, from: &RepoPath, to: &RepoPath) {
        let (mut old, mut new) = (from.as_bytes(), to.as_bytes());
        let mut is_first = true;
        loop {
            let (old_name, new_name) = (last(old), last(new));
            (old, new) = (folder_of(old), folder_of(new));
            let Some(&relevance) = self.removed.get(old) else { return };
            if !is_first && old_name != new_name {
                return;
            }
            if relevance == Relevance::ForItself || is_first {
                let targets = self.counts.entry(old.to_vec()).or_default();
                *targets.entry(new.to_vec()).or_default() += 1;
            }
            is_first = false;
            if relevance == Relevance::None || old.is_empty() || new.is_empty() {
                return;
            }
        }
    }

    /// Returns where the folders seem to have gone so far.
    pub(super) fn guesses(&self) -> Guesses {
        let best = |targets: &BTreeMap<Folder, usize>| {
            let most = targets.values().max().copied()?;
            let best =
                targets.iter().filter(|(_, count)| **count == most).map(|(target, _)| target);
            best.min_by_key(|target| place_in_git(target)).cloned()
        };
        let guesses = self.counts.iter().filter_map(|(old, new)| Some((old.clone(), best(new)?)));
        Guesses(guesses.collect())
    }

    /// Returns the folders of which it matters where they went, and of which too many files are `open`
    /// to say so already.
    pub(super) fn undecided<'p>(&self, open: impl Iterator<Item = &'p RepoPath>) -> Undecided<'a> {
        let mut unknown: BTreeMap<&[u8], usize> = BTreeMap::new();
        for path in open {
            let mut folder = folder_of(path.as_bytes());
            while matters(self.removed, folder) {
                *unknown.entry(folder).or_default() += 1;
                folder = folder_of(folder);
            }
        }
        let is_undecided = |folder: &Folder| {
            let mut counts: Vec<usize> =
                self.counts.get(folder).into_iter().flat_map(BTreeMap::values).copied().collect();
            counts.sort_unstable_by(|one, other| other.cmp(one));
            let at = |place: usize| counts.get(place).copied().unwrap_or_default();
            at(0) <= at(1) + unknown.get(&folder[..]).copied().unwrap_or_default()
        };
        let own = self.removed.iter().filter(|(_, relevance)| **relevance == Relevance::ForItself);
        let folders = own.map(|(folder, _)| folder).filter(|folder| is_undecided(folder)).cloned();
        Undecided { removed: self.removed, folders: folders.collect() }
    }

    /// Returns the renamed folders, and those of which it is not clear where they went.
    pub(crate) fn renames(self) -> FolderRenames {
        let mut renames = FolderRenames::default();
        for (old, targets) in self.counts {
            if matches!(self.removed.get(&old), None | Some(Relevance::None)) {
                continue;
            }
            let most = targets.values().max().copied().unwrap_or_default();
            let mut best = targets.into_iter().filter(|(_, count)| *count == most);
            match (best.next(), best.next()) {
                (Some((target, _)), None) => drop(renames.to.insert(old, target)),
                (Some(_), Some(_)) => drop(renames.split.insert(old)),
                (None, _) => {}
            }
        }
        renames
    }
}

/// Returns where a folder is in the tables in which git counts: of several with the same count, it takes
/// the first.
fn place_in_git(folder: &[u8]) -> u32 {
    let hash = folder
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(*byte));
    hash % 64
}

/// Returns whether it matters where a folder went.
fn matters(removed: &RemovedFolders, folder: &[u8]) -> bool {
    matches!(removed.get(folder), Some(Relevance::ForItself | Relevance::ForAncestor))
}

/// The folders of which it is not decided yet where they went.
pub(super) struct Undecided<'a> {
    removed: &'a RemovedFolders,
    folders: BTreeSet<Folder>,
}

impl Undecided<'_> {
    /// Returns whether one of the folders above a file is undecided, so that its place counts.
    pub(super) fn has_above(&self, path: &RepoPath) -> bool {
        let mut folder = folder_of(path.as_bytes());
        while matters(self.removed, folder) {
            if self.folders.contains(folder) {
                return true;
            }
            folder = folder_of(folder);
        }
        false
    }
}

/// Where folders seem to have gone.
pub(super) struct Guesses(BTreeMap<Folder, Folder>);

impl Guesses {
    /// Returns the path that a file has if it went where its folder seems to have gone.
    pub(super) fn moved(&self, path: &RepoPath) -> Option<Vec<u8>> {
        let target = self.0.get(folder_of(path.as_bytes()))?;
        Some(joined(target, name_of(path)))
    }
}

/// The renamed folders of one side.
#[derive(Debug, Default)]
pub(crate) struct FolderRenames {
    /// The new path of each renamed folder.
    pub(crate) to: BTreeMap<Folder, Folder>,
    /// Folders whose files went to several places in equal numbers.
    pub(crate) split: BTreeSet<Folder>,
}

impl FolderRenames {
    /// Returns the path that `path` gets by the innermost renamed folder above it, and the new path
    /// of that folder.
    pub(crate) fn moved(&self, path: &RepoPath) -> Option<(RepoPath, &Folder)> {
        let mut folder = folder_of(path.as_bytes());
        while !folder.is_empty() {
            if let Some(target) = self.to.get(folder) {
                let rest = &path.as_bytes()[folder.len() + 1..];
                return RepoPath::new(joined(target, rest)).map(|moved| (moved, target));
            }
            folder = folder_of(folder);
        }
        None
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}
