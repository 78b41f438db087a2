//! A working tree looked at from outside: nothing in it is trusted, and no symlink is followed.

mod folder;
mod list;
mod look;

pub(crate) use folder::Parent;
pub(crate) use list::{FolderListing, ListedEntry, RepositoryRoot, join};
pub(crate) use look::{Stat, Tree, TreeEntry};
