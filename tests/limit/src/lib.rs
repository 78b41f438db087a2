//! A time limit for each test, under plain `cargo test`, and the one way in which tests wait.
//!
//! A crate has this in its root, and then every `#[test]` in it is watched:
//!
//! ```text
//! #[cfg(test)]
//! #[macro_use]
//! extern crate test_limit;
//! ```
//!
//! A test that leaves no processor to others runs [`alone`].
//!
//! A test that runs for longer than 100 seconds ends the process: it is named on standard error,
//! with every other test that is still running. `REGATTA_TEST_LIMIT` is another limit in seconds,
//! for a slow machine. A test that needs longer calls [`raise`] with the reason.
//!
//! A test never sleeps to wait: it awaits an event, or what [`eventually`] looks at.
//!
//! `REGATTA_TEST_TIMES` names a file to which each test adds a line: its seconds and its name.
//!
//! A test that something is over in time judges it by [`InTime`], so that a busy machine fails none.

mod skipping;
mod waiting;
mod watchdog;
mod yardstick;

pub use skipping::skip;
pub use test_limit_macros::test;
pub use waiting::{eventually, within};
pub use watchdog::{Watched, alone, begin, raise};
pub use yardstick::{InTime, Tries, crowd};
