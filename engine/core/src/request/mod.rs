//! Requests to models: retries, deadlines, fallbacks and the limits of accounts, as policy over the
//! ports. A provider makes one attempt; everything between two attempts is decided here.

mod attempt;
mod client;
mod estimate;
mod gate_queue;
mod jitter;
mod policy;
mod progress;
#[cfg(test)]
mod virtual_time;
mod watchdog;

pub use client::{FailedRequest, ModelClient};
pub use estimate::estimated_tokens;
pub use gate_queue::{GateEffect, GateInput, GatePolicy, GateQueue, Ticket};
pub use policy::{RequestPolicy, RetryPolicy, Watchdog};
pub use progress::{Progress, ProgressSink};
