//! The MCP servers of sessions: which are defined, which of them may start, and with which values.

mod changes;
mod definition;
mod engine_ports;
mod environment;
mod probe;
mod project;
mod resolve;
mod servers;
mod values;

pub use changes::ServerOwner;
pub use definition::definition_lines;
pub use probe::ProbedServer;
pub(crate) use project::{ProjectServer, servers_of_project};
pub use servers::{ListedServer, McpServers, ServerState};

#[cfg(test)]
mod tests;
