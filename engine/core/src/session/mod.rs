//! The structure of a session: the tree of its entries, the context that a branch of the tree gives
//! a model, and the messages as models read them. No I/O.

mod context;
mod entry_ids;
mod memory_logs;
mod model_messages;
mod moves;
mod tree;

pub use context::{
    ContextMessage, Mode, PathEntry, SessionContext, appended_message, build_context,
};
pub use entry_ids::EntryIds;
pub use memory_logs::MemorySessionLogs;
pub use model_messages::{attachment_block, for_model};
pub use moves::{LeftBranch, MovePreview, Moved, SessionMove};
pub use tree::{Node, SessionTree, TreeShape, UnknownEntry};
