//! The ledger: what runs and their tasks did, in one SQLite file that several engines share.
//! `docs/ledger.md` describes the file for people who read it with other programs.

mod cause;
mod connection;
mod entry;
mod fetch;
mod find;
mod ledger;
mod opening;
mod reader;
mod rows;
#[cfg(test)]
mod sample;
mod version;
mod words;
mod writer;

pub use find::FindError;
pub use ledger::Ledger;
pub use reader::Reader;
pub use rows::{RunRow, RunTerms, TaskCounts, TaskRow};
pub use version::VERSION;
