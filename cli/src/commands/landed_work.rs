//! Landed work that is not in the repository any more, because the user has thrown it away.

use isolation::WorkInTree;
use protocol::{Landed, RepoPath};
use store::TaskRow;

use super::context::CommandContext;
use crate::error::Error;
use crate::render::one_line;

/// The maximum number of paths that a message names.
const NAMED: usize = 5;

/// What is missing of landed work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ThrownAway {
    /// The working tree lacks the changes of these paths, all of them or some.
    Paths(Vec<RepoPath>),
    /// The branch was deleted.
    Branch(String),
}

/// Returns what is missing of the landed work of a task. Returns `None` if the work has not landed,
/// is all there, was discarded, or if the user has edited the same lines since.
pub(super) fn thrown_away(
    context: &CommandContext,
    row: &TaskRow,
) -> Result<Option<ThrownAway>, Error> {
    let (Some(captured), None) = (&row.captured, row.discarded) else { return Ok(None) };
    match &row.landing {
        Some(Landed::Landed { branch: Some(branch) }) => {
            let is_there = context.captured.has_branch(&context.root, branch)?;
            Ok((!is_there).then(|| ThrownAway::Branch(branch.clone())))
        }
        Some(Landed::Landed { branch: None }) => {
            match context.captured.in_tree(&context.root, &captured.capture)? {
                WorkInTree::Missing(paths) => Ok(Some(ThrownAway::Paths(paths))),
                WorkInTree::Whole | WorkInTree::Edited(_) => Ok(None),
            }
        }
        Some(
            Landed::Unchanged
            | Landed::Conflicted { .. }
            | Landed::Unwritten { .. }
            | Landed::Waiting { .. },
        )
        | None => Ok(None),
    }
}

impl ThrownAway {
    /// Returns what is missing as the end of a sentence about the work.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Paths(paths) => {
                let mut named: Vec<_> =
                    paths.iter().take(NAMED).map(|path| one_line(&path.to_string())).collect();
                if let Some(more @ 1..) = paths.len().checked_sub(NAMED) {
                    named.push(format!("{more} more"));
                }
                format!(
                    "is not in the working tree any more, or not all of it: {}",
                    named.join(", ")
                )
            }
            Self::Branch(branch) => format!("is gone: there is no branch {}", one_line(branch)),
        }
    }
}
