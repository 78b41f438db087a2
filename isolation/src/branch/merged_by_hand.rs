//! Work that a person has merged with git, from the branch that was made of it for that.

use git2::{Oid, Repository};
use protocol::CaptureRef;

use crate::error::{OrCannot, Result};

/// What the last line of the commit begins with; the capture follows.
const TRAILER: &str = "Regatta-Capture: ";

/// How many commits are looked at.
const MOST_COMMITS: usize = 10_000;

/// Returns the message of the commit of such a branch, which names the capture with the work.
pub(super) fn naming(message: &str, capture: &CaptureRef) -> String {
    format!("{}\n{TRAILER}{capture}\n", message.trim_end())
}

/// Returns whether the commits up to `tip` have the commit of a branch that was made of this work. Its
/// conflicts were settled when it was merged.
pub(super) fn is_merged(git: &Repository, tip: Option<Oid>, capture: &CaptureRef) -> Result<bool> {
    let what = || "look for merged work";
    let Some(tip) = tip else { return Ok(false) };
    let line = format!("{TRAILER}{capture}");
    let mut commits = git.revwalk().or_cannot(what)?;
    commits.push(tip).or_cannot(what)?;
    for id in commits.take(MOST_COMMITS) {
        // A shallow clone ends somewhere.
        let Ok(commit) = id.and_then(|id| git.find_commit(id)) else { break };
        let is_of_work = |found: &[u8]| found.trim_ascii_end() == line.as_bytes();
        if commit.message_raw_bytes().split(|byte| *byte == b'\n').any(is_of_work) {
            return Ok(true);
        }
    }
    Ok(false)
}
