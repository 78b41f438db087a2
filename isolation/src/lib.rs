//! Isolation of tasks in private copies of a user's repository: opening and checking the
//! repository, taking a snapshot of its working tree, workspaces by copy, captures in the task
//! store, merging and landing. A backend decides how a workspace is made and captured; everything
//! else is common to all backends. All git work goes through libgit2; no program is run, and no
//! symlink of a repository is followed.

mod backends;
mod baseline;
mod branch;
mod capture;
mod captured_work;
mod captures;
mod carry;
mod disk_room;
mod encoding;
mod error;
mod file_entry;
mod git_texts;
mod ignore;
mod index_file;
mod landing;
mod libgit_setup;
mod merge;
mod merged_workspace;
mod nested;
mod paths;
mod pool;
mod port;
mod recovery;
mod repository;
mod retention;
mod run_folder;
mod run_lock;
pub mod sample;
mod settle;
mod store;
#[cfg(test)]
mod testing;
mod tracked_files;
mod tree;
mod user_git_config;
mod user_git_files;
mod view;
mod workspace;

pub use backends::{
    Backend, Backends, CaptureWriter, FileVersion, FrozenTree, RecoveredWorkspace, RunContext,
};
pub use baseline::{TreeListing, carry_notices};
pub use captured_work::{CapturedFiles, CapturedWork};
pub use captures::{CapturedFile, Captures, FrozenFile, PathFilter};
pub use carry::{CarryGlobs, GlobError};
pub use file_entry::Mode as FileMode;
pub use landing::WorkInTree;
pub use libgit_setup::initialise;
pub use merged_workspace::{MergedCopies, MergedCopy};
pub use paths::IsolationPaths;
pub use port::Repositories;
pub use repository::{git_state_at, head_tree};
pub use retention::{
    OpenedStore, PreparedRemoval, Removal, StoreContents, StoreRetention, StoredCapture,
};
pub use settle::{Display, MergeTool, merge_tool};
pub use store::PatchNeeds;
pub use tracked_files::tracked_files;
pub use view::{DirectoryView, DiskThreads};
pub use workspace::NewWorkspace;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
