//! Connects to servers: implements the port of the connector.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    McpClient, McpConnection, McpConnector, McpDefinition, McpError, McpErrorKind, Processes,
};

/// Connects to MCP servers. Each server that is a program gets an owner of processes of its own.
pub struct Connector {
    #[expect(dead_code, reason = "the transports are not built yet")]
    processes: Box<dyn Fn() -> Arc<dyn Processes> + Send + Sync>,
}

impl Connector {
    /// Returns a connector. `processes` returns a new owner of processes for each server.
    #[must_use]
    pub fn new(processes: impl Fn() -> Arc<dyn Processes> + Send + Sync + 'static) -> Self {
        Self { processes: Box::new(processes) }
    }
}

#[async_trait]
impl McpConnector for Connector {
    async fn connect(
        &self,
        definition: &McpDefinition,
        _client: Arc<dyn McpClient>,
    ) -> Result<Arc<dyn McpConnection>, McpError> {
        let message = format!("MCP server `{}` cannot be reached yet", definition.name);
        Err(McpError { kind: McpErrorKind::NotSent, message })
    }
}
