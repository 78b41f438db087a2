//! The trait of built-in tools, and the parts that all of them share: the generation of argument
//! schemas, and the renaming of arguments that models spell differently.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    Access, AccessClass, Background, CommandOwner, CommandShell, Concurrency, Found,
    SessionPurpose, Tool, ToolContext, ToolEnv, ToolOutcome, ToolSpec, Visibility, WorkspaceView,
};
use protocol::{Content, EditMode, ToolCall};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::display::visible_text;
use crate::error::ToolError;
use crate::judged::judged;
pub(crate) use crate::session::{Session, run_blocking};

/// A built-in tool.
pub(crate) trait Builtin: Send + Sync + Sized + 'static {
    /// The name, which models call it by.
    const NAME: &'static str;
    /// The description of the tool, written for the model.
    const DESCRIPTION: &'static str;
    /// An example of valid arguments as JSON, shown to a model whose arguments are invalid.
    const EXAMPLE: &'static str;
    /// Whether the tool is declared to the model.
    const VISIBILITY: Visibility = Visibility::Declared;

    /// The sessions that have the tool; all if absent.
    const PURPOSE: Option<SessionPurpose> = None;
    /// The mode of edits that offers the tool; all if absent.
    const EDIT_MODE: Option<EditMode> = None;
    /// What the tool needs beside the session.
    const REQUIRES: Requires = Requires::Nothing;
    /// Whether calls leave actions pending, which `resolve` applies or discards.
    const LEAVES_PENDING: bool = false;
    /// Which part of a long result people are shown.
    const SHOWN_PART: ShownPart = ShownPart::Beginning;

    /// The arguments. Their doc comments are part of the schema, written for the model.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Returns the tool of a session.
    fn new(session: &Arc<Session>) -> Self;

    /// Begins in the background what the first call would have to wait for.
    fn prepare(
        &self,
        _shell: CommandShell,
        _commands: &Arc<dyn CommandOwner>,
        _background: &dyn Background,
    ) {
    }

    /// Renames arguments that models spell differently to the declared names.
    fn reshape(_arguments: &mut Map<String, Value>) {}

    /// Returns what a call is about, for people. `None` lets the one who shows it choose an argument.
    fn title(_arguments: &Map<String, Value>) -> Option<String> {
        None
    }

    /// Returns the lines that people are shown of a result, from its details. `None` shows a part of its text.
    fn shown_result(_details: &Value) -> Option<Vec<String>> {
        None
    }

    /// Returns whether sessions in this environment have the tool.
    fn is_offered(_env: &ToolEnv) -> bool {
        true
    }

    /// Returns the declaration for the model of a session in this environment, where it differs from the usual one.
    /// The arguments of calls are checked against the usual schema.
    fn declared(_usual: &ToolSpec, _env: &ToolEnv) -> Option<ToolSpec> {
        None
    }

    /// Classifies what a call reads and changes.
    fn classify(arguments: &Map<String, Value>) -> Access;

    /// Does the same with what the tool knows of earlier calls.
    fn access(&self, arguments: &Map<String, Value>) -> Access {
        Self::classify(arguments)
    }

    /// Returns the change that a call would make, as a unified diff.
    fn preview(
        &self,
        _arguments: Self::Arguments,
        _view: &dyn WorkspaceView,
    ) -> impl Future<Output = Option<String>> + Send {
        async { None }
    }

    /// Fails if a call cannot succeed as the files are now. Changes nothing. Its paths can be used.
    fn check(
        &self,
        _arguments: Self::Arguments,
        _view: &dyn WorkspaceView,
    ) -> impl Future<Output = Result<(), ToolError>> + Send {
        async { Ok(()) }
    }

    /// Executes one call.
    fn run(
        &self,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutcome, ToolError>> + Send;
}

/// What a tool needs beside the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requires {
    Nothing,
    /// The grammars of languages.
    Syntax,
}

/// A part of a long result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownPart {
    /// The first lines.
    Beginning,
    /// The last lines.
    End,
}

/// Returns what a call of a built-in tool is about.
pub(crate) fn title<T: Builtin>(mut arguments: Map<String, Value>) -> Option<String> {
    T::reshape(&mut arguments);
    T::title(&arguments)
}

/// Returns the specification of a built-in tool.
pub(crate) fn spec<T: Builtin>() -> ToolSpec {
    ToolSpec {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.into(),
        parameters: arguments_schema::<T::Arguments>().into(),
        checked: None,
        example: T::EXAMPLE.to_owned(),
        visibility: T::VISIBILITY,
    }
}

/// Builds a built-in tool for a session.
pub(crate) fn build<T: Builtin>(spec: &Arc<ToolSpec>, session: &Arc<Session>) -> Arc<dyn Tool> {
    let spec = match T::declared(spec, &session.env) {
        None => Arc::clone(spec),
        Some(declared) => {
            Arc::new(ToolSpec { checked: Some(Arc::clone(&spec.parameters)), ..declared })
        }
    };
    Arc::new(ToolAdapter { tool: T::new(session), spec, session: Arc::clone(session) })
}

/// Adapts a built-in tool to the [`Tool`] port.
struct ToolAdapter<T> {
    tool: T,
    spec: Arc<ToolSpec>,
    session: Arc<Session>,
}

#[async_trait]
impl<T: Builtin> Tool for ToolAdapter<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        shell: CommandShell,
        commands: &Arc<dyn CommandOwner>,
        background: &dyn Background,
    ) {
        self.tool.prepare(shell, commands, background);
    }

    fn reshape(&self, arguments: &mut Map<String, Value>) {
        T::reshape(arguments);
    }

    fn classify(&self, arguments: &Map<String, Value>) -> Access {
        self.tool.access(arguments)
    }

    fn leaves_pending(&self) -> bool {
        T::LEAVES_PENDING
    }

    async fn find(&self, view: &dyn WorkspaceView, path: &str) -> Option<Found> {
        self.session.paths.find(view, path).await.ok()
    }

    async fn preview(
        &self,
        arguments: &Map<String, Value>,
        view: &dyn WorkspaceView,
    ) -> Option<String> {
        let Session { paths, seen, .. } = self.session.as_ref();
        judged((paths, seen), view, self.tool.access(arguments).class).await;
        let arguments = serde_json::from_value(Value::Object(arguments.clone())).ok()?;
        self.tool.preview(arguments, view).await
    }

    async fn check(
        &self,
        arguments: &Map<String, Value>,
        view: &dyn WorkspaceView,
    ) -> Result<(), ToolOutcome> {
        let paths = match self.tool.access(arguments).class {
            AccessClass::Read(paths) | AccessClass::Write(paths) => paths,
            AccessClass::Exec { .. } | AccessClass::Server { .. } => Vec::new(),
        };
        let checked = async {
            for path in &paths {
                self.session.paths.find(view, path).await?;
            }
            let arguments = serde_json::from_value(Value::Object(arguments.clone()));
            let arguments = arguments.map_err(|error| ToolError::Arguments(error.to_string()))?;
            self.tool.check(arguments, view).await
        };
        checked.await.map_err(ToolError::into_outcome)
    }

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let arguments = serde_json::from_value(Value::Object(call.arguments))
            .map_err(|error| ToolError::Arguments(error.to_string()));
        let ran = match arguments {
            Ok(arguments) => self.tool.run(arguments, context).await,
            Err(error) => Err(error),
        };
        let outcome =
            ran.unwrap_or_else(|error| error.for_model(context.change_shown).into_outcome());
        visible_outcome(outcome)
    }
}

/// Returns an outcome whose texts have no character that controls a terminal, hides or reorders text: names,
/// diffs and errors may have any.
fn visible_outcome(mut outcome: ToolOutcome) -> ToolOutcome {
    if let ToolOutcome::Output(output)
    | ToolOutcome::Failed(output)
    | ToolOutcome::Refused(output) = &mut outcome
    {
        for content in &mut output.content {
            if let Content::Text { text } = content {
                *text = visible_text(std::mem::take(text));
            }
        }
    }
    outcome
}

/// Returns the JSON Schema of arguments, without references and without keywords that are useless
/// to a model.
fn arguments_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.remove("description");
        // Some providers refuse an object schema without `properties`.
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Removes titles, formats and defaults, and `null` from the types of optional properties.
fn simplify(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for noise in ["title", "format", "default"] {
        object.remove(noise);
    }
    // Descriptions come from doc comments, which contain line breaks. The breaks are removed.
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = object.get_mut("items") {
        simplify(items);
    }
}

/// Renames the first argument whose name is in `other` to `right`, unless `right` is given.
pub(crate) fn rename(arguments: &mut Map<String, Value>, right: &str, other: &[&str]) {
    for name in other {
        if arguments.contains_key(right) {
            return;
        }
        if let Some(value) = arguments.remove(*name) {
            arguments.insert(right.to_owned(), value);
        }
    }
}

/// Returns the string in the argument `name`; empty if it is missing or no string.
pub(crate) fn text(arguments: &Map<String, Value>, name: &str) -> String {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the access of a call that changes the file in the argument `path`.
pub(crate) fn write_access(arguments: &Map<String, Value>) -> Access {
    let class = AccessClass::Write(vec![text(arguments, "path")]);
    Access { class, concurrency: Concurrency::Shared }
}

#[cfg(test)]
mod tests;
