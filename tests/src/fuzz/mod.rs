//! Seeded fuzzers: random repositories and tasks against an independent judge of landings, and
//! random kills of a run and of its recovery.

mod commit;
mod files;
pub mod kills;
pub mod landing;
mod points;
mod random;
mod report;

pub use random::Random;

use report::report;
