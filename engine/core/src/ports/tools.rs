//! What a model may call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{Content, ToolCall};
use serde_json::{Map, Value};

use super::{CancelToken, Commands, LineSink, WorkspaceView};

/// A tool of one session. Built-in tools, and those of other programs, are all this trait.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns what a model is told about it, and what its arguments are checked against.
    fn spec(&self) -> &ToolSpec;

    /// Brings other spellings of the arguments to the declared one, before they are checked.
    fn reshape(&self, _arguments: &mut Map<String, Value>) {}

    /// Says what a call with these arguments does to its surroundings. They may not have been
    /// checked; a call whose arguments are wrong is never carried out.
    fn classify(&self, arguments: &Map<String, Value>) -> Access;

    /// Carries out one call, whose arguments match the schema. Whatever goes wrong is an outcome.
    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome;
}

/// What is known about a tool before it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name. No two tools of a session have the same.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// The JSON Schema of its arguments that the model is told.
    pub parameters: Value,
    /// The JSON Schema that arguments are checked against, where it is not `parameters`.
    pub checked: Option<Value>,
    /// Right arguments, as JSON. A model that got them wrong is shown them.
    pub example: String,
    /// Whether the model is told of it.
    pub visibility: Visibility,
}

/// Whether a model is told of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// It is.
    Declared,
    /// It is not: only a scripted model knows of it.
    Hidden,
}

/// What a call does to its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub class: AccessClass,
    /// Whether it may run beside other calls.
    pub concurrency: Concurrency,
}

/// The classes of what a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// It reads these paths, as the model wrote them, and changes nothing.
    Read(Vec<String>),
    /// It changes these paths, as the model wrote them.
    Write(Vec<String>),
    /// It runs this command, which can do anything.
    Exec(String),
}

/// Whether a call may run beside other calls of the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// It may.
    Shared,
    /// It waits for all earlier calls, and all later ones wait for it.
    Exclusive,
}

impl Access {
    /// Returns the access of a call that touches nothing and may run beside others.
    #[must_use]
    pub fn none() -> Self {
        Self { class: AccessClass::Read(Vec::new()), concurrency: Concurrency::Shared }
    }
}

/// What a call has at hand. A tool reaches nothing else.
#[derive(Clone)]
pub struct ToolContext {
    /// The workspace.
    pub view: Arc<dyn WorkspaceView>,
    /// Runs commands.
    pub commands: Arc<dyn Commands>,
    /// Keeps output that is too long for the model.
    pub artifacts: Arc<dyn Artifacts>,
    /// Is given a line now and then on how the call goes.
    pub progress: LineSink,
    /// Says that the call is to stop.
    pub cancel: CancelToken,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// It did as it was asked.
    Output(ToolOutput),
    /// It did not; the output says why, and how to go on.
    Failed(ToolOutput),
    /// The machine has no more of something: disk, memory, descriptors, processes. The session
    /// cannot go on.
    ResourceExhausted(String),
    /// The session is to end with this value.
    Yielded(Value),
    /// The session is to end without one: it cannot do what it was asked, for this reason.
    GaveUp(String),
}

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<Content>,
    /// What a program reads.
    pub details: Option<Value>,
}

impl ToolOutput {
    /// Returns text without details.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], details: None }
    }

    /// Returns it with details.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }
}

/// Builds tools for sessions: the built-in ones, those of a server, those of an extension.
#[async_trait]
pub trait ToolFactory: Send + Sync {
    /// Returns what it is called in reports.
    fn name(&self) -> &str;

    /// Builds the tools of one session, in the order in which the model is told of them. A tool
    /// that cannot be built is an error in its place; the others are built all the same.
    async fn build(&self, env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>>;
}

/// What the tools of a session are built for.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEnv {
    /// The folder in the workspace that relative paths begin at; empty for its root.
    pub subfolder: PathBuf,
    /// The user's own working tree, of which the workspace may be a copy.
    pub repo: PathBuf,
    /// What is added to the environment of commands.
    pub environment: BTreeMap<String, OsString>,
    /// How many bytes of output are kept of one call.
    pub keep: u64,
    /// The JSON Schema of what is to be yielded; any value is accepted without one.
    pub schema: Option<Value>,
}

/// A tool that could not be built, and is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool `{tool}` is not available: {reason}")]
pub struct ToolBuildError {
    /// The tool, or the factory if nothing is known of its tools.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// Carries out the calls of one session.
#[async_trait]
pub trait ToolRunner: Send + Sync {
    /// Returns the tools that the model is told of, always in the same order.
    fn declarations(&self) -> Arc<[ToolDeclaration]>;

    /// Returns what each of `calls` does to its surroundings, in the same order.
    async fn classify(&self, calls: &[ToolCall]) -> Vec<Access>;

    /// Carries out one call. Whatever goes wrong is an outcome that the model reads.
    async fn call(&self, call: ToolCall) -> ToolOutcome;
}

/// A tool as a model knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// Its name.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// Opens folders of artifacts.
pub trait ArtifactStore: Send + Sync {
    /// Returns the artifacts in `folder`, which need not exist yet.
    fn open(&self, folder: &Path) -> Arc<dyn Artifacts>;
}

/// The artifacts of one session.
#[async_trait]
pub trait Artifacts: Send + Sync {
    /// Names a new artifact for output of `tool`. No other call gets the same name, and no file
    /// that exists has it. The file is made by who writes it.
    async fn reserve(&self, tool: &str) -> Artifact;

    /// Returns the size of an artifact in bytes.
    async fn size(&self, artifact: &Artifact) -> io::Result<u64>;

    /// Reads `most` bytes from `offset` on, or fewer at the end.
    async fn read(&self, artifact: &Artifact, offset: u64, most: u64) -> io::Result<Vec<u8>>;
}

/// One artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its name in the session's folder.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}
