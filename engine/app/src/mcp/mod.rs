//! The MCP servers of sessions: which are defined, which of them may start, and with which values.

mod servers;

pub use servers::McpServers;
