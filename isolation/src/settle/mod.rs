//! Settling conflicts: what each choice of the user makes of the paths of one conflict.

mod conflict_paths;
mod index_reasons;
mod settle_conflict;
mod texts;

pub(crate) use conflict_paths::concerned_paths;
pub(crate) use index_reasons::mark_by_index;
pub(crate) use settle_conflict::{Sides, settle};
pub(crate) use texts::conflict_hunks;
