//! The view through which tools access a workspace that is a folder. Each component of a path is
//! opened in its parent folder and never through a symlink, so that no symlink leads out of the
//! workspace, whenever it is made.

mod batches;
mod directory_view;
mod file_operations;
mod replace;
mod resolve;
mod write_record;

pub use directory_view::{DirectoryView, DiskThreads};

pub(crate) use write_record::WriteRecord;
