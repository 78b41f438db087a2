//! Merges three versions of one path, the lines of a file by `git merge-file`.

use std::path::Path;
use std::process::Command;

use crate::fuzz::files::Node;

/// Why two versions do not go together, in the words of `regatta run --json`.
pub(super) type Reason = &'static str;

/// Merges what `ours` and `theirs` made of `base`. Files that git reads are put into `scratch`.
pub(super) fn merge(
    scratch: &Path,
    base: Option<&Node>,
    ours: Option<&Node>,
    theirs: Option<&Node>,
) -> Result<Option<Node>, Reason> {
    if ours == theirs || theirs == base {
        return Ok(ours.cloned());
    }
    if ours == base {
        return Ok(theirs.cloned());
    }
    match (base, ours, theirs) {
        (None, Some(ours), Some(theirs)) => added(scratch, ours, theirs, "both_added").map(Some),
        (Some(_), Some(_), None) | (Some(_), None, Some(_)) => Err("changed_and_removed"),
        (Some(base), Some(ours), Some(theirs)) => nodes(scratch, base, ours, theirs).map(Some),
        (None, None, _) | (None, _, None) | (Some(_), None, None) => {
            unreachable!("two of the three are alike")
        }
    }
}

fn nodes(scratch: &Path, base: &Node, ours: &Node, theirs: &Node) -> Result<Node, Reason> {
    match (base, ours, theirs) {
        (Node::Link(_), Node::Link(_), Node::Link(_)) => Err("content"),
        (
            Node::File { executable: base_mode, bytes: base },
            Node::File { executable: our_mode, bytes: ours },
            Node::File { executable: their_mode, bytes: theirs },
        ) => {
            let executable = if our_mode == base_mode { *their_mode } else { *our_mode };
            let bytes = contents(scratch, base, ours, theirs)?;
            Ok(Node::File { executable, bytes })
        }
        // As if each side had added its own file: a symlink has no lines in common with them.
        (Node::Link(_), Node::File { .. }, Node::File { .. }) => {
            added(scratch, ours, theirs, "content")
        }
        _ => Err("kind"),
    }
}

/// Merges what both sides have added. If that fails, `otherwise` says so.
fn added(scratch: &Path, ours: &Node, theirs: &Node, otherwise: Reason) -> Result<Node, Reason> {
    match (ours, theirs) {
        (
            Node::File { executable: our_mode, bytes: ours },
            Node::File { executable: their_mode, bytes: theirs },
        ) => match (our_mode == their_mode, ours == theirs) {
            // Without a base git compares no names of contents: an empty file beside a binary one
            // conflicts too.
            (true, false) if [ours, theirs].iter().any(|side| side.contains(&0)) => Err(otherwise),
            (true, _) => {
                let bytes = contents(scratch, &[], ours, theirs).map_err(|_reason| otherwise)?;
                Ok(Node::File { executable: *our_mode, bytes })
            }
            (false, true) => Err("mode"),
            (false, false) => Err(otherwise),
        },
        _ => Err(otherwise),
    }
}

fn contents(scratch: &Path, base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Vec<u8>, Reason> {
    if ours == theirs || theirs == base {
        return Ok(ours.to_vec());
    }
    if ours == base {
        return Ok(theirs.to_vec());
    }
    if [base, ours, theirs].iter().any(|side| side.contains(&0)) {
        return Err("binary");
    }
    for (name, bytes) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        std::fs::write(scratch.join(name), bytes).expect("a file can be written");
    }
    let mut git = Command::new("git");
    git.current_dir(scratch).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["merge-file", "-p", "--diff-algorithm=histogram", "ours", "base", "theirs"]);
    let output = git.output().expect("git can be run");
    match output.status.code() {
        Some(0) => Ok(output.stdout),
        // How many conflicts there are, or 127 for more.
        Some(1..=127) => Err("content"),
        code => panic!("git merge-file: {code:?}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}
