//! An append-only file whose writers share syncs. What many callers need to be durable at about the
//! same time becomes durable with one sync.

mod group_log;

pub use group_log::{Announced, GroupLog, Records, copy, open_locked, read};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
