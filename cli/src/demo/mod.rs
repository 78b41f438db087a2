//! The demo: a small sample repository, eight tasks on it, and a check of what came of them.

mod check;
mod sample_repository;
mod scenario;
mod tickets;

pub use check::disagreements;
pub use check::{Endings, Found, TaskEvidence, gather};
pub use sample_repository::{Sample, SampleError};
pub use tickets::{Change, Fate, TICKETS, Ticket};
