//! The task store: one bare git repository per repository of the user's, which leans on nobody.
//! It holds captures, pins and the bytes of landings.

mod captures;
mod leftovers;
mod open;
mod sync;
#[cfg(test)]
mod tests;
mod trees;

pub(crate) use captures::Contents;
pub(crate) use leftovers::remove_leftovers;
pub(crate) use open::{Durability, TaskStore};
