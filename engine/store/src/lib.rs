//! What is stored about runs: the ledger, one SQLite file shared by several engines, with what runs
//! and tasks did; session logs with the messages of each session; and the files with the output of
//! commands. `docs/ledger.md` describes the ledger for people who read it with other programs.

mod artifacts;
mod call_journal;
mod columns;
mod connection;
mod error;
mod find;
mod gate_files;
mod inputs;
mod ledger;
mod mcp_cache;
mod prompt_history;
mod reader;
mod recording;
mod replay;
mod retention;
mod rows;
mod session;
#[cfg(test)]
mod test_support;
mod trust_file;
mod writer;

pub use artifacts::ArtifactFolders;
pub use connection::VERSION;
pub use find::FindError;
pub use gate_files::GateFiles;
pub use ledger::Ledger;
pub use mcp_cache::McpCacheFiles;
pub use prompt_history::{HistoryError, Prompt, PromptHistory};
pub use reader::Reader;
pub use retention::{RunRetention, TaskRetention};
pub use rows::{RunRow, RunTerms, TaskCounts, TaskRow};
pub use session::{
    BlobFolder, Body, Branched, Breadcrumbs, Durability, ForkError, FoundSession, LoadedHeader,
    LoadedSession, SessionInfo, SessionLine, SessionLogFiles, SessionPlaces, Titled, artifacts_of,
    branch, fork, is_log_open, list_all_sessions, list_sessions, new_log_path,
    read_damaged_session, read_session, sessions_named, set_title, used_in,
};
pub use trust_file::{RepositoryTrust, TrustError, TrustFile, TrustedPower};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
