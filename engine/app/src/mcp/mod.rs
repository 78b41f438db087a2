//! The MCP servers of sessions: which are defined, which of them may start, and with which values.

mod engine_ports;
mod servers;

pub use servers::McpServers;
