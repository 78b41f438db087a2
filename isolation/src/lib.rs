//! Private copies of a user's repository and the way back from them: opening and checking it,
//! freezing its working tree, workspaces by copy, captures in the task store, merging and landing.
//! All git work goes through libgit2; no program is run, and no symlink of a repository followed.

mod entry;
mod error;
mod libgit;
mod merge;
mod places;
mod repository;
pub mod sample;
mod store;
mod tree;

pub use libgit::initialise;
pub use places::Places;
