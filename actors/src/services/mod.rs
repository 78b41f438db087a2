//! What lives longer than a session: MCP servers, which all sessions of the engine share.

mod find_tools;
mod output;
mod server;
mod server_client;
mod server_handle;
mod server_snapshot;
mod server_tool;
mod session_servers;
mod supervisor;

pub(crate) use session_servers::{ServersSetup, SessionServers};
pub(crate) use supervisor::{Services, ServicesMessage};
