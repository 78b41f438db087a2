//! The bounds of what a server may send.

use std::time::Duration;

/// The maximum size of one message.
pub(crate) const MESSAGE_BYTES: usize = 16 << 20;

/// The maximum number of entries in a list.
pub(crate) const ENTRIES: usize = 10_000;

/// The maximum number of pages of a list.
pub(crate) const PAGES: usize = 250;

/// The maximum depth of the schema of a tool.
pub(crate) const SCHEMA_DEPTH: usize = 64;

/// The maximum number of messages that the server has not taken.
pub(crate) const UNSENT: usize = 1_000;

/// The maximum time that a call takes, with progress.
pub(crate) const CALL: Duration = Duration::from_secs(600);

/// How often a server may ask for input before it answers one request.
pub(crate) const INPUT_ROUNDS: usize = 10;

/// The maximum number of characters in a text of an error.
pub(crate) const ERROR_TEXT: usize = 2_000;
