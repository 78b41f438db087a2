//! The demo: a small sample repository, eight tasks on it, and a check of what came of them.

mod evidence;
mod judge;
mod sample;
mod tickets;

pub use evidence::{Endings, ReadPatch, TaskEvidence, gather};
pub use judge::disagreements;
pub use sample::{Sample, SampleError};
pub use tickets::{Fate, TICKETS, Ticket, script};
