//! Finds renamed files and folders between two versions of a tree, as git does: first files with
//! the same content, then files of the same name, then the most similar ones.

mod detect;
mod folders;
mod similarity;

pub(crate) use detect::{Added, Removed, Rename, Wanted, detect};
pub(crate) use folders::{
    Folder, FolderCounts, FolderRenames, Relevance, RemovedFolders, folder_of,
};
