//! Session logs: what was said in each session, one JSON object per line, durable message by
//! message.

mod ids;
mod line;
mod log;
mod open;
mod read;
mod scan;
mod scribes;
mod shorten;
mod trouble;
mod writing;

#[cfg(test)]
mod tests;

pub use line::SessionLine;
pub use log::SessionLogFiles;
pub use read::{read_session, used_in};
