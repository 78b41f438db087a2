//! Landing: merging the work of tasks into the user's working tree. The tree changes only after
//! everything is computed, staged beside its target and recorded in a journal. Every replaced
//! version is checked after the exchange. Whatever a crash leaves behind is finished or rolled back
//! at the next start.

mod apply;
mod attempt;
mod checked_out;
mod cut_off;
mod earlier_work;
mod file_mover;
mod finish;
mod finish_open;
mod index_lock;
mod journal;
mod journal_content;
mod known_files;
mod land;
mod landing_lock;
mod lease;
mod locked_folders;
mod many;
mod missing_commits;
mod nested_branches;
mod on_branch;
mod open_writers;
mod parts;
mod past_versions;
mod plan;
mod presence;
mod rescue;
mod skipped_files;
mod stage;
mod stored_changes;
#[cfg(test)]
pub(crate) mod tests;
mod undo;
mod user_moves;
mod working_tree;
mod write_file;

pub(crate) use land::{
    acknowledge, done, dry_run, finish_cut_short, is_any_open, land, recover, release_left_locks,
};
pub(crate) use landing_lock::LandingLock;
pub(crate) use locked_folders::git_folders;
pub use presence::WorkInTree;
pub(crate) use presence::work_in_tree;
pub(crate) use undo::{dry_run_undo, undo};
pub(crate) use working_tree::WorkingTree;
