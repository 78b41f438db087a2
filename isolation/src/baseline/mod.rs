//! The snapshot of the user's working tree when a run starts. Every workspace of the run starts
//! from it, and its content stays available whatever happens to the tree.

mod conversion;
mod index;
mod listing;
mod pins;
mod scan;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;

pub use listing::TreeListing;

pub(crate) use conversion::{Conversion, conversion};
pub(crate) use listing::list_tree;
pub(crate) use pins::reference as pins_reference;
pub(crate) use scan::now_ns;
pub(crate) use snapshot::{
    ContentReader, Snapshot, TABLE, keep_file_list, read_file_list, read_whole, remove_file_list,
    write_whole,
};
pub(crate) use table::{ContentLocation, Folder, FolderKind, FrozenEntry, Table};
