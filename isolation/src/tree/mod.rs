//! Access to a working tree whose contents are not trusted. No symlink is followed.

mod entry;
mod listing;
mod open_folder;

pub(crate) use entry::{Stat, Tree, TreeEntry};
pub(crate) use listing::{FolderListing, ListedEntry, RepositoryRoot, join};
pub(crate) use open_folder::Parent;
