//! Settling conflicts: what each choice of the user makes of the paths of one conflict.

mod conflict_paths;
mod conflict_sides;
mod index_reasons;
mod keep_sides;
mod names_beside;
mod resolution;
mod settle_conflict;
mod settle_content;
mod settle_renames;
mod stage;
mod texts;
mod unmerged;
mod user_tool;

pub(crate) use conflict_paths::{concerned_paths, entry_of};
pub(crate) use conflict_sides::Sides;
pub(crate) use index_reasons::mark_by_index;
pub(crate) use keep_sides::keep_sides;
pub(crate) use settle_conflict::settle;
pub(crate) use stage::{check_can_stage, stage_merge};
pub(crate) use texts::{conflict_hunks, marked_text};
pub use user_tool::{Display, MergeTool, merge_tool};
