//! A move to another entry of a session, from which the conversation goes on.

use protocol::{EntryId, SessionEntry};
use serde_json::Value;

use super::context::SessionContext;
use super::tree::{SessionTree, UnknownEntry};

/// The id in a summary of a branch that goes on before the first entry.
const ROOT: &str = "root";

/// Where a session goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionMove {
    /// The entry from which it goes on; `None` begins a new branch before all entries.
    pub target: Option<EntryId>,
    /// What the model is told about the branch that is left.
    pub summary: Option<LeftBranch>,
}

/// Where a session goes on after a move.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The entry that was appended for the move.
    pub entry: EntryId,
    /// The context there.
    pub context: SessionContext,
}

/// What a model is told about a branch that is left.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftBranch {
    /// The summary.
    pub summary: String,
    /// Data of the program that made it.
    pub details: Option<Value>,
    /// Whether an extension made it.
    pub from_extension: bool,
}

impl SessionMove {
    /// Moves the leaf of a tree. Returns the entry that has to be appended there, so that whoever
    /// reads the log finds the leaf.
    ///
    /// # Errors
    /// There is no such entry; the leaf stays where it is.
    pub fn begin<B>(self, tree: &mut SessionTree<B>) -> Result<SessionEntry, UnknownEntry> {
        match &self.target {
            Some(target) => tree.branch(target)?,
            None => tree.reset_leaf(),
        }
        Ok(match self.summary {
            None => SessionEntry::Leaf {},
            Some(LeftBranch { summary, details, from_extension }) => SessionEntry::BranchSummary {
                from_id: self.target.unwrap_or_else(|| EntryId::new(ROOT)),
                summary,
                details,
                from_extension,
            },
        })
    }
}
