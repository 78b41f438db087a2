//! Seeded fuzzers: random repositories and tasks against an independent judge of landings, and
//! random kills of a run and of its recovery.

mod commit;
mod files;
pub mod kills;
pub mod landing;
mod points;
mod random;
mod rounds;

pub use random::Random;
pub use rounds::Rounds;

use rounds::report;
