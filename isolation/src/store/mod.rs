//! The task store: one bare git repository for each of the user's repositories, which depends on no
//! other. It contains captures, pins and the versions of landings.

mod attempt_lines;
mod capture_patch;
mod captures;
mod exclusive;
mod gathering;
mod journal;
mod journaled;
mod leftovers;
mod nested_lines;
mod objects;
mod own_series;
mod pack;
mod packed_refs;
mod patch_needs;
mod reachable;
mod renamed_patch;
mod repack;
mod settle;
mod sync;
mod task_store;
#[cfg(test)]
mod tests;
mod trees;

pub(crate) use attempt_lines::attempt_lines;
pub(crate) use captures::Contents;
pub(crate) use exclusive::{ExclusiveStore, StoreInUse, StoreReference};
pub(crate) use journal::Journal;
pub(crate) use leftovers::remove_leftovers;
pub(crate) use objects::blob_id;
pub(crate) use own_series::{OwnCommit, Series};
pub use patch_needs::PatchNeeds;
pub(crate) use reachable::Reachable;
pub(crate) use repack::{NewPack, size_of_objects};
use settle::MANY_OBJECTS;
pub(crate) use task_store::{Durability, TaskStore};
