//! Carried files: ignored files of the user's tree that are copied into each workspace. They are
//! selected once per run, are never linked and never captured.

mod big_folders;
mod carried;
mod globs;
mod include_notices;
mod left_behind;
mod room;
mod select;
#[cfg(test)]
mod tests;
mod wanted;

pub use globs::{CarryGlobs, GlobError};

pub(crate) use carried::{CARRIED, CARRIED_FILES, Carried, CarriedFolder};
pub(crate) use select::{IgnoredFiles, Selection, select};
