//! Which paths of a workspace are ignored, and so no work of its task. A set-up that extends a
//! `.gitignore` must not hide the work: what it adds is not in the user's tree, where the work lands.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Repository};
use protocol::RepoPath;

use crate::baseline::{ContentReader, Snapshot, split_path};
use crate::capture::compare::{begin, read_with_stat};
use crate::capture::walk::Original;
use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::ignore::{PathKind, Rules};
use crate::merge::{MergeRule, three_way};
use crate::nested::git_folder_of;
use crate::tree::{Stat, Tree};
use crate::user_git_files;
use crate::workspace::{
    GIT_TEMPLATE, LeftFile, LeftOrigin, Manifest, SetupChanges, SetupFile, SetupState,
};

/// The name of a file with ignore rules.
const GITIGNORE: &[u8] = b".gitignore";

/// The ignore rules of a workspace.
pub(super) struct WorkRules<'a> {
    /// The rules of the workspace as it is.
    now: Rules<'a>,
    /// The rules without what the set-up did to them; `None` if that is nothing.
    without_setup: Option<Rules<'a>>,
}

impl<'a> WorkRules<'a> {
    /// Reads the rules of the workspace at `tree` as it is, which is the state that a set-up has left.
    pub(super) fn as_it_is(snapshot: &Snapshot, git: &Repository, tree: &'a Tree) -> Self {
        Self { now: rules_in(snapshot, git, tree), without_setup: None }
    }

    /// Reads the rules that distinguish the work of a task from ignored files.
    ///
    /// Rules for the whole tree come from the user's repository, those of folders from the files in
    /// the workspace. Rules in the private git folder of the workspace are not used, because the
    /// set-up or the task may have changed them.
    pub(super) fn of_the_work(
        snapshot: &Snapshot,
        manifest: &Manifest,
        tree: &'a Tree,
        bytes: &ContentReader,
    ) -> Result<Self> {
        let now = rules_in(snapshot, &bytes.git, tree);
        let SetupState::Done(changes) = &manifest.setup else {
            return Ok(Self { now, without_setup: None });
        };
        let files = files_without_setup(snapshot, manifest, changes, tree, bytes)?;
        let without_setup =
            (!files.is_empty()).then(|| rules_in(snapshot, &bytes.git, tree).with_files(files));
        Ok(Self { now, without_setup })
    }

    /// Returns whether `path` is ignored, provided that it is untracked: by the rules of the
    /// workspace, and also without what the set-up did to them. So a set-up hides no work, and what it
    /// re-includes counts.
    pub(super) fn ignores(&self, path: &[u8], kind: PathKind) -> Result<bool> {
        if !self.now.ignores(path, kind)? {
            return Ok(false);
        }
        match &self.without_setup {
            Some(rules) => rules.ignores(path, kind),
            None => Ok(true),
        }
    }
}

/// Returns the content without the set-up of each `.gitignore` that the set-up has changed, or has
/// made in a folder of the user's. What it made in a folder of its own is about its own files.
fn files_without_setup(
    snapshot: &Snapshot,
    manifest: &Manifest,
    changes: &SetupChanges,
    tree: &Tree,
    bytes: &ContentReader,
) -> Result<BTreeMap<RepoPath, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for (path, file) in &changes.files {
        let SetupFile::Left(left) = file else { continue };
        if !holds_rules(path) {
            continue;
        }
        let content = match left.origin {
            LeftOrigin::Changed => {
                Some(changed_without_setup(snapshot, manifest, path, left, tree, bytes)?)
            }
            LeftOrigin::Made => {
                let is_untouched = |stat| left.is_untouched(&stat, manifest.marker_ns);
                made_without_setup(snapshot, path, tree, is_untouched)?
            }
        };
        files.extend(content.map(|content| (path.clone(), content)));
    }
    // Rules that the set-up made can ignore the file that they are in.
    for path in changes.ignored.iter().filter(|path| holds_rules(path)) {
        if !snapshot.carried.contains(path.as_bytes()) {
            let is_untouched = |stat: Stat| stat.ctime_ns < manifest.marker_ns;
            let content = made_without_setup(snapshot, path, tree, is_untouched)?;
            files.extend(content.map(|content| (path.clone(), content)));
        }
    }
    Ok(files)
}

/// Returns the rules of a workspace, in which each nested repository has its own.
fn rules_in<'a>(snapshot: &Snapshot, git: &Repository, tree: &'a Tree) -> Rules<'a> {
    let template = snapshot.context.folder.join(GIT_TEMPLATE);
    let exclude = |(number, folder): (usize, &Vec<u8>)| {
        let file = git_folder_of(&template, number).join("info/exclude");
        (folder.clone(), user_git_files::content(&file))
    };
    Rules::of(git, tree).with_nested(snapshot.nested.iter().enumerate().map(exclude))
}

fn holds_rules(path: &RepoPath) -> bool {
    split_path(path.as_bytes()).1 == GITIGNORE
}

/// Returns no content for a file that the set-up made in a folder of the user's; `None` for one that
/// counts: in a folder of the set-up's own, or one that the task has changed, which lands whole.
fn made_without_setup(
    snapshot: &Snapshot,
    path: &RepoPath,
    tree: &Tree,
    is_untouched: impl Fn(Stat) -> bool,
) -> Result<Option<Vec<u8>>> {
    let (folder, _) = split_path(path.as_bytes());
    let is_of_the_user = folder.is_empty() || snapshot.table.has_below(folder);
    if !is_of_the_user {
        return Ok(None);
    }
    let now = read_with_stat(tree, path)?;
    Ok(now.filter(|(_, _, stat)| is_untouched(*stat)).map(|_| Vec::new()))
}

/// Returns the content of a changed file as it lands: with what the task did to it, and without what
/// the set-up did.
fn changed_without_setup(
    snapshot: &Snapshot,
    manifest: &Manifest,
    path: &RepoPath,
    left: &LeftFile,
    tree: &Tree,
    bytes: &ContentReader,
) -> Result<Vec<u8>> {
    let before = match manifest.predecessor_changes.get(path) {
        Some(change) => change.map(Original::Predecessor),
        None => snapshot.table.get(path).map(Original::Snapshot),
    };
    let before = match before {
        Some(original) => begin(bytes, path, original)?,
        None => None,
    };
    let Some((mode, content, _)) = read_with_stat(tree, path)? else { return Ok(Vec::new()) };
    let oid = Oid::hash_object(ObjectType::Blob, &content).or_cannot(|| format!("hash {path}"))?;
    let now = Entry { mode, oid };
    bytes.store.write(&content)?;
    let text = || Ok(MergeRule::Text);
    if let Ok(landing) = three_way(&bytes.store, &text, left.content, before, Some(now))? {
        return rules_of(bytes, landing.entry);
    }
    let (before, left) = (rules_of(bytes, before)?, rules_of(bytes, left.content)?);
    Ok(merge_lines(&before, &left, &content))
}

/// Returns the content of a file of rules. As in git, a symlink has no rules.
fn rules_of(bytes: &ContentReader, entry: Option<Entry>) -> Result<Vec<u8>> {
    match entry {
        Some(Entry { mode: Mode::Link, .. }) | None => Ok(Vec::new()),
        Some(entry) => bytes.store.read(entry.oid),
    }
}

/// Merges rules where set-up and task have changed the same place: the rules before the set-up that
/// the task has not removed, then those that the task has added.
fn merge_lines(before: &[u8], left: &[u8], now: &[u8]) -> Vec<u8> {
    let lines = |content| -> Vec<&[u8]> { <[u8]>::split(content, |byte| *byte == b'\n').collect() };
    let (before, left, now) = (lines(before), lines(left), lines(now));
    let kept = before.iter().filter(|line| !left.contains(line) || now.contains(line));
    let added = now.iter().filter(|line| !left.contains(line));
    let merged: Vec<&[u8]> = kept.chain(added).copied().collect();
    merged.join(&b'\n')
}
