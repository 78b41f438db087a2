//! Session logs: the messages of each session in a file, one JSON object per line. Each message is
//! durable before the session goes on.

mod error;
mod journal;
mod line;
mod log;
mod log_writer;
mod open;
mod reader;

#[cfg(test)]
mod tests;

pub use line::SessionLine;
pub use log::SessionLogFiles;
pub use reader::{read_session, used_in};
