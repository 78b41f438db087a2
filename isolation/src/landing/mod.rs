//! Landing tasks' work in the user's working tree. Nothing of the tree changes before everything
//! is computed, written beside its place and recorded; every change is an exchange whose other
//! half is looked at; and whatever a kill leaves behind is finished or taken back at the next start.

mod attempt;
mod close;
mod fresh;
mod journal;
mod land;
mod lease;
mod moves;
mod plan;
mod queue;
mod rescue;
mod roll;
mod source;
mod step;
#[cfg(test)]
pub(crate) mod tests;
mod writers;

pub(crate) use land::{acknowledge, done, dry_run, finish_cut_short, is_any_open, land, recover};
pub(crate) use queue::LandingLock;
pub(crate) use source::WorkingTree;
