//! The snapshot of the user's working tree when a run starts. Every workspace of the run starts
//! from it, and its content stays available whatever happens to the tree.

mod conversion;
mod index;
mod listing;
mod pins;
mod run_files;
mod scan;
mod scan_nested;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;

pub use listing::TreeListing;
pub use snapshot::carry_notices;

pub(crate) use conversion::{Conversion, conversion, encoding_fault};
pub(crate) use listing::{list_tree, list_whole_tree, some_of};
pub(crate) use pins::{reference as pins_reference, size_text};
pub(crate) use run_files::RunFiles;
pub(crate) use scan::{IgnoredEntry, now_ns, printable};
pub(crate) use scan_nested::MOST_NESTED;
pub(crate) use snapshot::{
    ContentReader, Snapshot, TABLE, keep_file_list, read_file_list, read_whole, remove_file_list,
    write_whole,
};
pub(crate) use table::split as split_path;
pub(crate) use table::{ContentLocation, Folder, FolderKind, FrozenEntry, Table};
