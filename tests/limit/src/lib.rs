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
//! with every other test that is still running. `REGATTA_TEST_LIMIT` is another limit in seconds.
//! A test that needs longer calls [`raise`] with the reason.
//!
//! How often a test repeats something is decided by `REGATTA_DEPTH` ([`Depth`]), here and nowhere
//! else: [`Rounds`] for random cases, [`Tries`] for what must be over in time, [`sample`] and
//! [`by_depth`] for everything else.
//!
//! At most as many tests work at the same time as there are processors. A test that mostly waits
//! calls [`waits`], and does not count.
//!
//! A test never sleeps to wait: it awaits an event, or what [`eventually`] looks at. No upper bound
//! in seconds fails on a busy machine: [`eventually`], [`took_at_most`] and [`InTime`] scale it by
//! how slow the machine is at that moment ([`slowdown`]).
//!
//! `REGATTA_TEST_TIMES` names a file to which each test adds a line: its seconds and its name.

mod depth;
mod permits;
mod rounds;
mod skipping;
mod waiting;
mod watchdog;
mod yardstick;

pub use depth::{Depth, by_depth, depth, sample, seed};
pub use permits::waits;
pub use rounds::{Done, Rounds};
pub use skipping::skip;
pub use test_limit_macros::test;
pub use waiting::{eventually, took_at_most, within};
pub use watchdog::{Watched, alone, begin, raise};
pub use yardstick::{InTime, Tries, crowd, slowdown};
