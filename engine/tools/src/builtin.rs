//! A built-in tool with typed arguments, and how it becomes a tool like any other.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{Access, Tool, ToolContext, ToolOutcome, ToolSpec, Visibility};
use protocol::ToolCall;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::declared;
use crate::error::ToolError;
use crate::session::Session;

/// A built-in tool.
pub(crate) trait Builtin: Send + Sync + Sized + 'static {
    /// Its name.
    const NAME: &'static str;
    /// The capability that it is, so that it can be switched off.
    const CAPABILITY: &'static str;
    /// What it does, in words for the model.
    const DESCRIPTION: &'static str;
    /// Arguments that are right, as JSON. A model that got them wrong is shown them.
    const EXAMPLE: &'static str;
    /// Whether the model is told of it.
    const VISIBILITY: Visibility = Visibility::Declared;

    /// What it is called with. Their doc comments are for the model.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Returns the tool of a session.
    fn new(session: &Arc<Session>) -> Self;

    /// Brings other spellings of the arguments to the declared one.
    fn reshape(_arguments: &mut Map<String, Value>) {}

    /// Puts the schema of the task's result into the schema of the arguments that the model is
    /// told. What is called is checked against the schema without it.
    fn declare(_schema: &mut Value, _result: &Value) {}

    /// Says what a call does to its surroundings.
    fn classify(arguments: &Map<String, Value>) -> Access;

    /// Carries out one call.
    fn run(
        &self,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutcome, ToolError>> + Send;
}

/// Returns what is known about a built-in tool before it is called.
pub(crate) fn spec<T: Builtin>() -> ToolSpec {
    ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.to_owned(),
        parameters: declared::schema::<T::Arguments>(),
        checked: None,
        example: T::EXAMPLE.to_owned(),
        visibility: T::VISIBILITY,
    }
}

/// Builds a built-in tool for a session.
pub(crate) fn build<T: Builtin>(spec: &Arc<ToolSpec>, session: &Arc<Session>) -> Arc<dyn Tool> {
    let spec = match &session.env.schema {
        None => Arc::clone(spec),
        Some(result) => {
            let mut declared = ToolSpec::clone(spec);
            T::declare(&mut declared.parameters, result);
            declared.checked = Some(spec.parameters.clone());
            Arc::new(declared)
        }
    };
    Arc::new(Typed { tool: T::new(session), spec })
}

/// A built-in tool as a tool like any other.
struct Typed<T> {
    tool: T,
    spec: Arc<ToolSpec>,
}

#[async_trait]
impl<T: Builtin> Tool for Typed<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn reshape(&self, arguments: &mut Map<String, Value>) {
        T::reshape(arguments);
    }

    fn classify(&self, arguments: &Map<String, Value>) -> Access {
        T::classify(arguments)
    }

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let arguments = serde_json::from_value(Value::Object(call.arguments))
            .map_err(|error| ToolError::Arguments(error.to_string()));
        let ran = match arguments {
            Ok(arguments) => self.tool.run(arguments, context).await,
            Err(error) => Err(error),
        };
        ran.unwrap_or_else(ToolError::into_outcome)
    }
}
