//! Servers of the Model Context Protocol: implements the engine's port for them on the SDK `rmcp`.

mod connector;
mod handshake;

mod event_stream;
mod http_client;
mod lines;
mod program;
mod sse_events;
mod stderr_ring;

mod connection;
mod lists;
mod requests;

mod changes;
mod client;
mod content;
mod elicitation;

mod bounds;
mod ending;
mod faults;
mod guarded;
mod printable;
mod subject;

pub use connector::Connector;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
