//! What a tool of ours is, and how tools with different arguments stand in one table.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::ports::{CancelToken, LineSink, ToolAnswer, ToolConcurrency};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::declared;
use crate::desk::Desk;
use crate::trouble::Trouble;

/// A tool of ours.
pub(crate) trait Builtin: 'static {
    /// Its name.
    const NAME: &'static str;
    /// The capability that it is, so that it can be switched off.
    const CAPABILITY: &'static str;
    /// What it does, in words for the model.
    const DESCRIPTION: &'static str;
    /// Whether it may run beside others.
    const CONCURRENCY: ToolConcurrency;
    /// Arguments that are right, as JSON. A model that got them wrong is shown them.
    const EXAMPLE: &'static str;

    /// What it is called with. Their doc comments are for the model.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Brings other spellings of the arguments to the declared one.
    fn reshape(_arguments: &mut Map<String, Value>) {}

    /// Puts the schema of the task's result into the schema of the arguments that the model is
    /// told. What is called is held against the schema without it.
    fn declare(_schema: &mut Value, _result: &Value) {}

    /// Carries out one call.
    fn call(
        arguments: Self::Arguments,
        desk: Arc<Desk>,
        errand: Errand,
    ) -> impl Future<Output = Result<ToolAnswer, Trouble>> + Send;
}

/// Who wants to hear of a call, and how it is stopped.
#[derive(Clone)]
pub(crate) struct Errand {
    /// Told a line now and then.
    pub(crate) line: LineSink,
    /// How to stop.
    pub(crate) stop: CancelToken,
}

/// A call on its way.
pub(crate) type Calling = Pin<Box<dyn Future<Output = Result<ToolAnswer, Trouble>> + Send>>;

/// A tool in the table.
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: &'static str,
    /// The capability that it is.
    pub(crate) capability: &'static str,
    /// What it does.
    pub(crate) description: &'static str,
    /// Whether it may run beside others.
    pub(crate) concurrency: ToolConcurrency,
    /// Right arguments.
    pub(crate) example: &'static str,
    /// Brings other spellings of the arguments to the declared one.
    pub(crate) reshape: fn(&mut Map<String, Value>),
    /// What arguments are held against.
    pub(crate) schema: fn() -> Value,
    /// Puts the schema of the task's result into the schema that the model is told.
    pub(crate) declare: fn(&mut Value, &Value),
    /// Carries out one call.
    pub(crate) call: fn(Map<String, Value>, Arc<Desk>, Errand) -> Calling,
}

impl Entry {
    /// Returns the entry of a tool.
    pub(crate) const fn of<T: Builtin>() -> Self {
        Self {
            name: T::NAME,
            capability: T::CAPABILITY,
            description: T::DESCRIPTION,
            concurrency: T::CONCURRENCY,
            example: T::EXAMPLE,
            reshape: T::reshape,
            schema: declared::schema::<T::Arguments>,
            declare: T::declare,
            call: |arguments, desk, errand| {
                Box::pin(async move {
                    let arguments = serde_json::from_value(Value::Object(arguments))
                        .map_err(|error| Trouble::Arguments(error.to_string()))?;
                    T::call(arguments, desk, errand).await
                })
            },
        }
    }
}
