//! Requests to models: retries, deadlines, fallbacks and the limits of accounts, as policy over the
//! ports. A provider makes one attempt; everything between two attempts is decided here.

mod attempt;
mod client;
mod gate_queue;
mod policy;
#[cfg(test)]
mod test_support;

pub use attempt::{Progress, ProgressSink};
pub use client::{FailedRequest, ModelClient};
pub use gate_queue::{GateEffect, GateInput, GatePolicy, GateQueue, Ticket};
pub use policy::{RequestPolicy, RetryPolicy, Watchdog, estimated_tokens};
