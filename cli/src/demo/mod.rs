//! The demo: a small sample repository, eight tasks on it, and a check of what came of them.

mod evidence;
mod hearsay;
mod judge;
mod sample;
mod scenario;
mod tickets;

pub use evidence::{Endings, Found, TaskEvidence, gather};
pub use judge::disagreements;
pub use sample::{Sample, SampleError};
pub use tickets::{Change, Fate, TICKETS, Ticket};
