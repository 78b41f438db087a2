//! Landing tasks' work in the user's working tree. Nothing of the tree changes before everything
//! is computed, written beside its place and recorded; every change is an exchange whose other
//! half is looked at; and whatever a kill leaves behind is finished or taken back at the next start.

mod apply;
mod attempt;
mod file_mover;
mod finish;
mod journal;
mod land;
mod landing_lock;
mod lease;
mod open_writers;
mod plan;
mod rescue;
#[cfg(test)]
pub(crate) mod tests;
mod working_tree;
mod write_file;

pub(crate) use land::{acknowledge, done, dry_run, finish_cut_short, is_any_open, land, recover};
pub(crate) use landing_lock::LandingLock;
pub(crate) use working_tree::WorkingTree;
