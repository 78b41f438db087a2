//! Access to a working tree whose contents are not trusted. No symlink is followed.

mod letter_case;
mod listing;
mod open_folder;
mod read_entry;

pub(crate) use letter_case::folded;
pub(crate) use listing::{FolderListing, ListedEntry, RepositoryRoot, join};
pub(crate) use open_folder::{Parent, split};
pub(crate) use read_entry::{Stat, Tree, TreeEntry, read_entry_in, read_open};
