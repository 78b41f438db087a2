//! A tool of a server, as a tool of a session.

use std::sync::Arc;

use async_trait::async_trait;
use engine::mcp::{Declared, OfferedTool};
use engine::ports::{
    Access, AccessClass, Ask, Concurrency, LineSink, McpCall, McpHints, McpTool, Tool, ToolContext,
    ToolOutcome, ToolOutput, ToolSpec, Visibility,
};
use protocol::{ToolCall, quote_within};
use serde_json::{Map, Value};

use super::output::outcome;
use super::server_handle::{Repeat, ServerCall, ServerHandle};

/// The maximum number of characters of a line about progress.
const LONGEST_LINE: usize = 300;

/// Calls a server.
pub(super) struct ServerTool {
    spec: ToolSpec,
    tool: McpTool,
    server: ServerHandle,
    /// Asks a person; `None` where the session has no one who could answer.
    ask: Option<Arc<dyn Ask>>,
}

impl ServerTool {
    /// Returns the tool of a session that `offered` describes.
    pub(super) fn new(
        offered: OfferedTool,
        server: ServerHandle,
        ask: Option<Arc<dyn Ask>>,
    ) -> Self {
        let OfferedTool { name, tool, declared, description, schema, .. } = offered;
        let visibility = match declared {
            Declared::Yes => Visibility::Declared,
            Declared::Deferred => Visibility::Hidden,
        };
        let spec = ToolSpec {
            name,
            description: description.into(),
            parameters: schema,
            checked: None,
            example: "{}".to_owned(),
            visibility,
        };
        Self { spec, tool, server, ask }
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn classify(&self, arguments: &Map<String, Value>) -> Access {
        let definition = self.server.definition();
        let class = match self.tool.read_only && definition.read_only_hints == McpHints::Trusted {
            true => AccessClass::Read(Vec::new()),
            false => {
                let arguments = Value::Object(arguments.clone());
                let what = format!("{}/{} {arguments}", definition.name, self.tool.name);
                AccessClass::Server { what }
            }
        };
        Access { class, concurrency: Concurrency::Shared }
    }

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let report = Arc::clone(&context.progress);
        let progress: LineSink =
            Arc::new(move |line: String| report(quote_within(&line, LONGEST_LINE)));
        let repeat = match self.tool.idempotent || self.tool.read_only {
            true => Repeat::Once,
            false => Repeat::IfNotSent,
        };
        let call = McpCall {
            tool: self.tool.name.clone(),
            arguments: call.arguments,
            timeout: self.server.definition().timeout,
        };
        let call = ServerCall {
            call,
            repeat,
            session: context.origin.session,
            ask: self.ask.clone(),
            progress,
            cancel: context.cancel.clone(),
        };
        match self.server.call(call).await {
            Ok(result) => outcome(result, &self.spec.name, &context.artifacts).await,
            Err(text) => ToolOutcome::Failed(ToolOutput::text(text)),
        }
    }
}
