//! Session logs: the messages of each session in a file, one JSON object per line. Each message is
//! durable before the session goes on.

mod blobs;
mod breadcrumbs;
mod error;
mod find;
mod folder_names;
mod fork;
mod gaps;
mod journal;
mod large;
mod line;
mod list;
mod loaded;
mod log;
mod log_writer;
mod migrate;
mod open;
mod reader;
mod rewrite;
mod survey;
mod title;
mod writer_pool;

#[cfg(test)]
mod tests;

pub use blobs::BlobFolder;
pub use breadcrumbs::Breadcrumbs;
pub use find::{FoundSession, SessionPlaces, sessions_named};
pub use fork::{Branched, ForkError, artifacts_of, branch, fork, new_log_path};
pub use line::{LoadedHeader, SessionLine};
pub use list::{SessionInfo, list_all_sessions, list_sessions};
pub use loaded::{Body, LoadedSession};
pub use log::{SessionLogFiles, is_log_open};
pub use open::Durability;
pub use reader::{read_damaged_session, read_session, used_in};
pub use title::{Titled, set_title};
