//! Compaction: what a conversation that becomes too long is replaced by. Decides when it is due,
//! what is kept and what a model is asked to sum up; all of it without I/O.

mod branch;
mod cut;
mod details;
mod files;
mod policy;
mod preparation;
mod prompts;
mod prune;
#[cfg(test)]
mod test_messages;
mod transcript;

pub use branch::{BranchPreparation, BranchSummaries, BranchSummaryPolicy};
pub use details::CompactionDetails;
pub use policy::{CompactionPolicy, Threshold, Trigger};
pub use preparation::{Compacted, Oversized, Preparation, prepare};
pub use prompts::SummaryInstructions;
pub use prune::{prune, without_outputs};
