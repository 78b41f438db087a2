//! The working tree: paths that do not leave it, and the files and folders they lead to.

mod error;
mod file;
mod folder;
mod names;
mod replace;
mod root;
mod walk;
mod words;

pub(crate) use error::{FileError, PathError};
pub(crate) use file::{Seen, open_file, read_whole, seen};
pub(crate) use folder::{Listing, list, make_folders};
pub(crate) use replace::replace;
pub(crate) use root::Tree;
pub(crate) use walk::Found;
