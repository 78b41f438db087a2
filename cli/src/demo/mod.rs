//! The demo: a small sample repository, eight tasks on it, and a check of what came of them.

mod check;
mod sample_repository;
mod scenario;
mod tickets;

pub use check::disagreements;
pub use check::{EndCounts, EvidenceSources, TaskEvidence, collect_evidence};
pub use sample_repository::{Sample, SampleError};
pub use tickets::{Change, ExpectedEnd, TICKETS, Ticket};
