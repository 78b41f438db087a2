//! What an engine uses MCP servers with.

use std::path::Path;
use std::sync::Arc;

use actors::McpPorts;
use async_trait::async_trait;
use engine::ports::{McpDefinition, McpDefinitions};
use exec::Processes;
use peers::Connector;
use store::McpCacheFiles;

use super::McpServers;
use crate::app_context::AppContext;

impl AppContext {
    /// Returns what an engine uses MCP servers with. Their programs are started by `processes`.
    pub(crate) fn mcp_ports(&self, processes: &Processes) -> McpPorts {
        let processes = processes.clone();
        let cache = McpCacheFiles::new(self.places.mcp_cache(), Arc::clone(&self.clock));
        McpPorts {
            definitions: Arc::new(DefinedServers(self.clone())),
            connector: Arc::new(Connector::new(move || Arc::new(processes.owner()))),
            cache: Arc::new(cache),
        }
    }
}

/// The servers that the user's files define.
struct DefinedServers(AppContext);

#[async_trait]
impl McpDefinitions for DefinedServers {
    async fn in_folder(&self, folder: &Path) -> (Vec<Arc<McpDefinition>>, Vec<String>) {
        McpServers::for_folder(&self.0, folder).await
    }
}
