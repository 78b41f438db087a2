//! A tool of a program that embeds the engine.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    Access, Tool, ToolBuildError, ToolContext, ToolEnv, ToolFactory, ToolOutcome, ToolOutput,
    ToolSpec, Visibility,
};
use protocol::ToolCall;
use serde_json::{Map, Value};

type Function = dyn Fn(&Map<String, Value>) -> Result<String, String> + Send + Sync;

/// A tool that is one function of its arguments. It neither reads nor changes the workspace, so that its calls
/// run side by side and are never asked about. For more, implement [`Tool`] and [`ToolFactory`].
#[derive(Clone)]
pub struct OwnTool {
    spec: ToolSpec,
    function: Arc<Function>,
}

impl OwnTool {
    /// Returns a tool. Models read its name, its description and the JSON Schema of its arguments.
    /// `function` gets arguments that match the schema, and returns the text of the result, or that of an
    /// error; it should not block.
    #[must_use]
    pub fn new(
        name: &str,
        description: &str,
        schema: Value,
        function: impl Fn(&Map<String, Value>) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.into(),
            parameters: Arc::new(schema),
            checked: None,
            example: "{}".to_owned(),
            visibility: Visibility::Declared,
        };
        Self { spec, function: Arc::new(function) }
    }
}

#[async_trait]
impl Tool for OwnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn classify(&self, _arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn execute(&self, call: ToolCall, _context: &ToolContext) -> ToolOutcome {
        match (self.function)(&call.arguments) {
            Ok(text) => ToolOutcome::Output(ToolOutput::text(text)),
            Err(text) => ToolOutcome::Failed(ToolOutput::text(text)),
        }
    }
}

#[async_trait]
impl ToolFactory for OwnTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    async fn build(&self, _env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>> {
        vec![Ok(Arc::new(self.clone()))]
    }
}
