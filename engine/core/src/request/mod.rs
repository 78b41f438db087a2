//! Requests to models: retries, deadlines, fallbacks and the limits of provider accounts. A
//! provider makes a single attempt; this module decides what happens between attempts.

mod attempt;
mod client;
mod estimate;
mod gate_queue;
mod partial_content;
mod policy;
#[cfg(test)]
mod virtual_time;

pub use attempt::{Progress, ProgressSink};
pub use client::{FailedRequest, ModelClient};
pub use gate_queue::{
    GateEffect, GateEnd, GateHold, GateInput, GatePolicy, GateQueue, GateReport, Ticket,
};
pub(crate) use partial_content::PartialContent;
pub use policy::{RequestPolicy, RetryPolicy, Watchdog, estimated_tokens};
