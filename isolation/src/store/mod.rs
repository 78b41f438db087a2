//! The task store: one bare git repository per repository of the user's, which leans on nobody.
//! It holds captures, pins and the bytes of landings.

mod capture;
mod durable;
mod leftovers;
mod open;
mod patch;
#[cfg(test)]
mod tests;
mod trees;

pub(crate) use capture::Contents;
pub(crate) use leftovers::remove_leftovers;
pub(crate) use open::{Durability, TaskStore};
