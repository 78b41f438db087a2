//! An append-only file whose writers share syncs. What many callers need to be durable at about the
//! same time becomes durable with one sync. And the lock of a file.

mod group_log;
mod locked_file;

pub use group_log::{Announced, GroupLog, Records, copy, open_locked, read};
pub use locked_file::LockedFile;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
