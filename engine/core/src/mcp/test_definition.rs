//! A definition for the tests of servers.

use std::time::Duration;

use crate::ports::{McpDefinition, McpTransport};

pub(super) fn test_definition(name: &str) -> McpDefinition {
    McpDefinition {
        name: name.to_owned(),
        transport: McpTransport::Stdio {
            command: "server".into(),
            arguments: Vec::new(),
            environment: Default::default(),
            folder: None,
        },
        protocol: None,
        startup_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(60),
        concurrency: 8,
        required: false,
        scope: Default::default(),
        tools: Default::default(),
        read_only_hints: Default::default(),
        source: "mcp.json:1".to_owned(),
        key: format!("key of {name}"),
    }
}
