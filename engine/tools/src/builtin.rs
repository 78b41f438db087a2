//! The trait of built-in tools, and the parts that all of them share: the generation of argument
//! schemas, the renaming of arguments that models spell differently, and the state of the session.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    Access, AccessClass, Background, CancelToken, CommandOwner, CommandShell, Concurrency, Found,
    Replace, SessionPurpose, Tool, ToolContext, ToolEnv, ToolOutcome, ToolSpec, ViewPath,
    Visibility, WorkspaceView,
};
use protocol::{EditMode, ToolCall};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::spawn_blocking;

use crate::background::BackgroundCommands;
use crate::bash::folders::Folders;
use crate::bash::user_shell::UserShells;
use crate::change::change_since;
use crate::error::{FileError, ToolError};
use crate::images::ImageSizes;
use crate::judged::judged;
use crate::paths::Paths;
use crate::seen_files::SeenFiles;

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

    /// Inserts the schema of the task's result into the schema of the arguments that is declared to
    /// the model. The arguments of calls are checked against the schema without this insertion.
    fn declare(_schema: &mut Value, _result: &Value) {}

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

    /// Executes one call.
    fn run(
        &self,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutcome, ToolError>> + Send;
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
    let spec = match &session.env.schema {
        None => Arc::clone(spec),
        Some(result) => {
            let mut declared = ToolSpec::clone(spec);
            T::declare(Arc::make_mut(&mut declared.parameters), result);
            declared.checked = Some(Arc::clone(&spec.parameters));
            Arc::new(declared)
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

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let arguments = serde_json::from_value(Value::Object(call.arguments))
            .map_err(|error| ToolError::Arguments(error.to_string()));
        let ran = match arguments {
            Ok(arguments) => self.tool.run(arguments, context).await,
            Err(error) => Err(error),
        };
        ran.unwrap_or_else(|error| error.for_model(context.change_shown).into_outcome())
    }
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

/// The state that the built-in tools of one session share.
pub(crate) struct Session {
    /// The environment the tools were built for.
    pub(crate) env: ToolEnv,
    /// Resolves the paths of the model.
    pub(crate) paths: Paths,
    /// The user's shell.
    pub(crate) shells: Arc<UserShells>,
    /// The folders of named sessions of commands.
    pub(crate) folders: Folders,
    /// The commands in the background.
    pub(crate) background: BackgroundCommands,
    /// Whether images for the model are made smaller.
    pub(crate) images: ImageSizes,
    /// The files that the session has seen.
    pub(crate) seen: SeenFiles,
    /// The lock that a call holds while it changes a file. One file may have several paths, so all
    /// files share one lock. Waiting calls get the lock in the order in which they asked for it.
    changes: Mutex<()>,
}

impl Session {
    /// Returns the state for tools built for `env`.
    pub(crate) fn new(env: ToolEnv, shells: Arc<UserShells>, images: ImageSizes) -> Self {
        let paths = Paths::new(env.subfolder.clone(), env.repo.clone());
        let (folders, background) = (Folders::default(), BackgroundCommands::default());
        Self {
            env,
            paths,
            shells,
            folders,
            background,
            images,
            seen: SeenFiles::default(),
            changes: Mutex::default(),
        }
    }

    /// Refuses to overwrite a file, with this content, that has changed since the session has seen it. The
    /// error says how, and the file counts as seen then.
    pub(crate) async fn refuse_unseen(
        &self,
        path: &ViewPath,
        shown: &str,
        content: &[u8],
    ) -> Result<(), ToolError> {
        let Some(before) = self.seen.change(path, content) else { return Ok(()) };
        let content = content.to_vec();
        let change = run_blocking(move || change_since(before, content)).await?;
        Err(FileError::ChangedSince { path: shown.to_owned(), change }.into())
    }

    /// Writes a file, which the session has seen then.
    pub(crate) async fn write(
        &self,
        view: &dyn WorkspaceView,
        path: &ViewPath,
        shown: &str,
        bytes: Vec<u8>,
        replace: Replace,
    ) -> Result<(), ToolError> {
        let mut glance = self.seen.glance();
        glance.push(&bytes);
        let written = view.write(path, bytes, replace).await;
        written.map_err(|error| FileError::of("write", shown, error))?;
        self.seen.saw(path, glance);
        Ok(())
    }

    /// Waits until no other call changes a file, and returns the guard that allows it.
    pub(crate) async fn lock_changes(
        &self,
        cancel: &CancelToken,
    ) -> Result<MutexGuard<'_, ()>, ToolError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ToolError::Aborted),
            guard = self.changes.lock() => Ok(guard),
        }
    }
}

/// Runs a long computation on a thread for blocking work.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(ToolError::Aborted),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Said to nobody.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Arguments {
        /// Where.
        path: String,
        /// How
        /// many.
        #[schemars(range(min = 1, max = 9))]
        limit: Option<u32>,
        parts: Vec<Part>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Part {
        old_text: String,
    }

    #[test]
    fn a_schema_is_one_piece_without_noise() {
        assert_eq!(
            arguments_schema::<Arguments>(),
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Where." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 9, "description": "How many." },
                    "parts": { "type": "array", "items": {
                        "type": "object",
                        "properties": { "oldText": { "type": "string" } },
                        "additionalProperties": false,
                        "required": ["oldText"],
                    } },
                },
                "additionalProperties": false,
                "required": ["path", "parts"],
            })
        );
    }

    #[test]
    fn other_names_are_taken_for_the_right_one_and_never_over_it() {
        let mut arguments = json!({ "file": "a", "filename": "b" }).as_object().unwrap().clone();
        rename(&mut arguments, "path", &["file", "filename"]);
        assert_eq!(Value::from(arguments.clone()), json!({ "filename": "b", "path": "a" }));
        rename(&mut arguments, "path", &["filename"]);
        assert_eq!(arguments["path"], "a");
    }
}
