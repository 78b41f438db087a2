//! The user's working tree as it was when a run began: what every workspace of the run starts
//! from, kept so that it can be had again whatever becomes of the tree.

mod claim;
mod codec;
mod conversion;
mod converted;
mod freeze;
mod frozen;
mod index;
pub(crate) mod list;
mod listing;
mod notices;
mod pins;
mod scan;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use claim::{LOCK, NewRunLock, RunLock};
pub(crate) use conversion::{Conversion, conversion};
pub(crate) use freeze::{TABLE, read_whole, write_whole};
pub(crate) use frozen::{ContentReader, Snapshot};
pub use listing::TreeListing;
pub(crate) use listing::list_tree;
pub(crate) use pins::reference as pins_reference;
pub(crate) use scan::now_ns;
pub(crate) use table::{ContentLocation, Folder, FolderKind, FrozenEntry, Table};
