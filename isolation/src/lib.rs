//! Private copies of a user's repository and the way back from them: opening and checking it,
//! freezing its working tree, workspaces by copy, captures in the task store, merging and landing.
//! All git work goes through libgit2; no program is run, and no symlink of a repository followed.

mod baseline;
mod branch;
mod capture;
mod captures;
mod entry;
mod error;
mod ignore;
mod landing;
mod libgit;
mod merge;
mod places;
mod port;
mod recovery;
mod repository;
mod run_folder;
pub mod sample;
mod store;
#[cfg(test)]
mod testing;
mod tracked;
mod tree;
mod workspace;

pub use captures::{Captures, FrozenFile, Scope};
pub use libgit::initialise;
pub use places::Places;
pub use port::Worktrees;
pub use tracked::tracked_files;
