//! A move to another entry of a session, from which the conversation goes on.

use protocol::{EntryId, Message, SessionEntry, SessionMessage, Timestamp, UserMessage};
use serde_json::Value;

use super::context::{ContextMessage, PathEntry, SessionContext, message_of};
use super::tree::{SessionTree, UnknownEntry};

/// The id in a summary of a branch that goes on before the first entry.
const ROOT: &str = "root";

/// Where a session goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionMove {
    /// The entry from which it goes on; `None` begins a new branch before all entries.
    pub target: Option<EntryId>,
    /// What the model reads about the branch that is left.
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

/// What a model reads about a branch that is left.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftBranch {
    /// The summary.
    pub summary: String,
    /// Data of the program that made it.
    pub details: Option<Value>,
    /// Whether an extension made it.
    pub from_extension: bool,
}

/// What a move to an entry would do.
#[derive(Clone, Debug, PartialEq)]
pub struct MovePreview {
    /// The entry from which the session would go on: the chosen one, or the one before it if that is
    /// a prompt, which its user may then change. `None` begins before all entries.
    pub target: Option<EntryId>,
    /// The text of the chosen entry, if it is a prompt or a message of an extension.
    pub text: Option<String>,
    /// The entry from which the session goes on now.
    pub leaf: Option<EntryId>,
    /// The messages that are not part of the conversation after the move, the oldest first.
    pub left: Vec<ContextMessage>,
}

impl MovePreview {
    /// Returns what a move to `chosen` would do, or before all entries without one. `read` returns
    /// the entry at a place of the tree; it is called with the entries that are left, and the chosen
    /// one.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn of<B>(
        tree: &SessionTree<B>,
        chosen: Option<&EntryId>,
        mut read: impl FnMut(usize) -> Option<SessionEntry>,
    ) -> Result<Self, UnknownEntry> {
        let leaf = leaf_of(tree, &mut read);
        let (mut target, mut text) = (chosen.cloned(), None);
        if let Some(chosen) = chosen.filter(|chosen| leaf.as_ref() != Some(*chosen)) {
            let place = tree.place(chosen).ok_or_else(|| UnknownEntry(chosen.clone()))?;
            text = read(place).as_ref().and_then(text_of_input);
            if text.is_some() {
                target = tree.parent_id(place).cloned();
            }
        }
        let places = match &target {
            Some(target) => tree.left_by_move_to(target)?,
            None => tree.path(),
        };
        let left = places.into_iter().filter_map(|place| {
            let (node, entry) = (&tree.nodes()[place], read(place)?);
            message_of(&PathEntry { id: &node.id, at: node.at, entry: &entry })
        });
        Ok(Self { text, left: left.collect(), target, leaf })
    }

    /// Returns whether the session would go on from where it is.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        self.target == self.leaf
    }
}

/// Returns the entry from which a session goes on. An entry that records an earlier move stands for
/// the one before it.
fn leaf_of<B>(
    tree: &SessionTree<B>,
    mut read: impl FnMut(usize) -> Option<SessionEntry>,
) -> Option<EntryId> {
    let path = tree.path();
    let is_place = |place: &&usize| !matches!(read(**place), Some(SessionEntry::Leaf {}));
    path.iter().rev().find(is_place).map(|place| tree.nodes()[*place].id.clone())
}

/// Returns the text of an entry that a user, or an extension for the user, has said.
fn text_of_input(entry: &SessionEntry) -> Option<String> {
    match entry {
        SessionEntry::Message { message: SessionMessage::Model(Message::User(said)), .. } => {
            Some(said.text())
        }
        SessionEntry::CustomMessage { content, .. } => {
            Some(UserMessage::new(content.clone(), Timestamp::from_millisecond(0)).text())
        }
        _other => None,
    }
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
