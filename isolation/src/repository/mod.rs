//! The user's repository: opening it, and checking that it is in a state that can be worked on.

mod index_change;
mod notices;
mod open;
mod open_git;
mod ref_lock;
mod ref_update;
mod refusals;
#[cfg(test)]
mod tests;

pub(crate) use index_change::change_index;
pub(crate) use notices::is_partial;
pub(crate) use open::Repo;
pub use open::{git_state_at, head_tree};
pub(crate) use open_git::{init_git, open_bare, open_git};
pub(crate) use ref_lock::{is_cut_off, new_pack_folder, release_cut_off};
pub(crate) use ref_update::{RefUpdate, RefUpdated};
