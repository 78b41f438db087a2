//! How tools see a workspace that is a folder. Each step of a path is opened in the folder before
//! it and never through a symlink, so that a link put there at any moment leads nowhere.

mod directory;
mod entries;
mod replace;
mod resolve;

pub use directory::{DirectoryView, DiskThreads};
