//! Requests to models: retries, deadlines, fallbacks and the limits of provider accounts. A
//! provider makes a single attempt; this module decides what happens between attempts.

mod attempt;
mod client;
mod estimate;
mod failed_request;
mod gate_queue;
mod partial_content;
mod policy;
mod routes;
#[cfg(test)]
mod virtual_time;

pub use attempt::{Progress, ProgressSink};
pub use client::ModelClient;
pub(crate) use estimate::aborted_usage;
pub use estimate::message_tokens;
pub use failed_request::FailedRequest;
pub use gate_queue::{
    GateEffect, GateEnd, GateHold, GateInput, GatePolicy, GateQueue, GateReport, Ticket,
};
pub(crate) use partial_content::PartialContent;
pub use policy::{FallbackRevert, RequestPolicy, RetryPolicy, Watchdog, estimated_tokens};
pub use routes::{Absences, RouteChange, Routes};
