//! The commits that a task made itself in its workspace, as a series: those from the commit with
//! which it began to HEAD, along the first parents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::{ObjectType, Oid};
use protocol::RepoPath;

use crate::capture::own_commit::LONGEST_MESSAGE;
use crate::capture::own_objects::OwnObjects;
use crate::error::Result;
use crate::file_entry::Change;
use crate::store::{OwnCommit, Series, TaskStore};

/// The maximum number of commits.
const MOST_COMMITS: usize = 100;

/// The maximum number of changed paths of one commit.
const MOST_PATHS: usize = 20_000;

/// The maximum total size of the files of all commits, in bytes.
const LARGEST: usize = 256 << 20;

/// The longest name or mail address of an author, in bytes.
const LONGEST_NAME: usize = 1_000;

/// Why a task's commits become one.
const UNREADABLE: &str = "they cannot be read";

/// A commit as it was read.
struct RawCommit {
    tree: Oid,
    parents: Vec<Oid>,
    author: String,
    email: String,
    time: i64,
    offset: i32,
    message: String,
}

/// Returns the commits of the task in `git_dir`, whose template is `template`. HEAD was `before` when
/// the task began, and is `after`. Only what concerns `changes`, the work of the task, or new files is
/// kept; `was_there` returns whether a file is not new. The files are written to `store`.
pub(super) fn series(
    (git_dir, template): (&Path, &Path),
    (before, after): (Option<Oid>, Oid),
    changes: &[Change],
    was_there: &dyn Fn(&RepoPath) -> bool,
    store: &TaskStore,
) -> Result<Series> {
    if changes.is_empty() {
        return Ok(Series::default());
    }
    let Some(objects) = OwnObjects::open(git_dir, template) else {
        return Ok(Series::lost(UNREADABLE));
    };
    let commits = match history(&objects, before, after) {
        Ok(commits) => commits,
        Err(why) => return Ok(Series::lost(why)),
    };
    let mut series = Series::default();
    let mut parent = match before.map(|before| raw_commit(&objects, before)) {
        None => None,
        Some(Some(before)) => Some(before.tree),
        Some(None) => return Ok(Series::lost(UNREADABLE)),
    };
    let captured: BTreeSet<&RepoPath> = changes.iter().map(|change| &change.path).collect();
    let mut bytes = 0;
    for commit in commits {
        let Some(differences) = objects.differences(parent, commit.tree, MOST_PATHS) else {
            return Ok(Series::lost("one of them cannot be read, or changes too many files"));
        };
        let mut paths = BTreeMap::new();
        for (path, entry) in differences {
            // What is as it was may be the user's own change that is not committed.
            if !captured.contains(&path) && was_there(&path) {
                continue;
            }
            if let Some(entry) = entry {
                let Some(blob) = objects.blob(entry.oid) else {
                    return Ok(Series::lost("a file of them cannot be read, or is too large"));
                };
                bytes += blob.len();
                if bytes > LARGEST {
                    return Ok(Series::lost("they have too many large files"));
                }
                store.write(&blob)?;
            }
            paths.insert(path, entry);
        }
        parent = Some(commit.tree);
        series.has_merges |= commit.parents.len() > 1;
        let RawCommit { author, email, time, offset, message, .. } = commit;
        series.commits.push(OwnCommit { author, email, time, offset, message, paths });
    }
    Ok(series)
}

/// Returns the commits after `before` up to `after` along the first parents, oldest first.
fn history(
    objects: &OwnObjects,
    before: Option<Oid>,
    after: Oid,
) -> std::result::Result<Vec<RawCommit>, &'static str> {
    let mut commits = Vec::new();
    let mut next = Some(after);
    while next != before {
        let Some(id) = next else {
            return Err("they do not build on the commit with which the task began");
        };
        if commits.len() == MOST_COMMITS {
            return Err("they are more than 100, or do not build on the one with which it began");
        }
        let commit = raw_commit(objects, id).ok_or(UNREADABLE)?;
        next = commit.parents.first().copied();
        commits.push(commit);
    }
    commits.reverse();
    Ok(commits)
}

fn raw_commit(objects: &OwnObjects, id: Oid) -> Option<RawCommit> {
    let bytes = objects.read(id, ObjectType::Commit, 2 * LONGEST_MESSAGE)?;
    let text = String::from_utf8_lossy(&bytes);
    let (header, message) = text.split_once("\n\n")?;
    let field = |name: &str| header.lines().find_map(|line| line.strip_prefix(name));
    let oid = |text: &str| Oid::from_str(text).ok();
    let parents = header.lines().filter_map(|line| line.strip_prefix("parent "));
    let (author, rest) = field("author ")?.rsplit_once(" <")?;
    let (email, when) = rest.split_once("> ")?;
    let (time, zone) = when.split_once(' ')?;
    let zone: i32 = zone.parse().ok()?;
    let offset = zone / 100 * 60 + zone % 100;
    let message = git2::message_prettify(message.replace('\0', ""), None).ok()?;
    let commit = RawCommit {
        tree: oid(field("tree ")?)?,
        parents: parents.map(oid).collect::<Option<_>>()?,
        author: plain(author),
        email: plain(email),
        time: time.parse().ok().filter(|time| (0..=MAX_TIME).contains(time))?,
        offset: if offset.abs() <= 14 * 60 { offset } else { 0 },
        message,
    };
    (commit.message.len() <= LONGEST_MESSAGE).then_some(commit)
}

/// The latest time of a commit, in seconds since 1970: the end of the year 9999.
const MAX_TIME: i64 = 253_402_300_799;

/// Returns a name without characters that no author may have.
fn plain(name: &str) -> String {
    let kept = |letter: &char| !letter.is_control() && !matches!(letter, '<' | '>');
    let mut plain: String = name.chars().filter(kept).collect();
    while plain.len() > LONGEST_NAME {
        plain.pop();
    }
    plain.trim().to_owned()
}
