//! What is kept of runs: the ledger, which says what they and their tasks did, in one SQLite file
//! that several engines share; and session logs, which say what was said in each session.
//! `docs/ledger.md` describes the ledger for people who read it with other programs.

mod artifacts;
mod cause;
mod connection;
mod entry;
mod fetch;
mod find;
mod ledger;
mod opening;
mod reader;
mod record;
mod rows;
#[cfg(test)]
mod sample;
mod session;
mod version;
mod words;
mod writer;

pub use artifacts::ArtifactFolders;
pub use find::FindError;
pub use ledger::Ledger;
pub use reader::Reader;
pub use rows::{RunRow, RunTerms, TaskCounts, TaskRow};
pub use session::{SessionLine, SessionLogFiles, read_session, used_in};
pub use version::VERSION;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
