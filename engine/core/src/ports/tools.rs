//! The port for tools, which models call, and for artifacts, the files that keep long output.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{Content, TaskName, ToolCall};
use serde_json::{Map, Value};

use super::{
    Ask, Background, CallJournal, CallOrigin, CancelToken, CommandOwner, Found, LineSink,
    PendingSlot, SpawnOffer, Subagents, WorkspaceView,
};

/// A tool of one session, built in or supplied by another program.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the description of the tool and the schema of its arguments.
    fn spec(&self) -> &ToolSpec;

    /// Begins in the background what its first call would have to wait for. It is called once, when its session
    /// begins. Commands of the session run in `_shell` as long as nothing changes that.
    fn prepare(
        &self,
        _shell: CommandShell,
        _commands: &Arc<dyn CommandOwner>,
        _background: &dyn Background,
    ) {
    }

    /// Renames alternative spellings of the arguments before they are checked.
    fn reshape(&self, _arguments: &mut Map<String, Value>) {}

    /// Returns how a call with these arguments accesses its surroundings. The arguments are
    /// possibly unchecked; a call with invalid arguments is never run.
    fn classify(&self, arguments: &Map<String, Value>) -> Access;

    /// Returns whether calls leave actions pending, which the tool `resolve` applies or discards.
    fn leaves_pending(&self) -> bool {
        false
    }

    /// Finds a path that [`Tool::classify`] has returned in the same way as [`Tool::execute`] does. Returns
    /// `None` if the tool would refuse it.
    async fn find(&self, _view: &dyn WorkspaceView, _path: &str) -> Option<Found> {
        None
    }

    /// Returns the change that a call with these arguments would make, as a unified diff that a person can judge
    /// it by: whole, or not at all. Nothing is changed.
    async fn preview(
        &self,
        _arguments: &Map<String, Value>,
        _view: &dyn WorkspaceView,
    ) -> Option<String> {
        None
    }

    /// Fails if a call with these arguments cannot succeed as the files are now, so that it is not worth asking a
    /// person about it. Nothing is changed.
    ///
    /// # Errors
    /// The outcome that [`Tool::execute`] would have.
    async fn check(
        &self,
        _arguments: &Map<String, Value>,
        _view: &dyn WorkspaceView,
    ) -> Result<(), ToolOutcome> {
        Ok(())
    }

    /// Runs one call, whose arguments match the schema. Errors are returned as an outcome.
    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome;
}

/// The description of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name of the tool, which is unique in its session.
    pub name: String,
    /// The description for the model.
    pub description: Arc<str>,
    /// The JSON Schema of the arguments, as shown to the model. All sessions share it.
    pub parameters: Arc<Value>,
    /// The JSON Schema for checking the arguments, if it differs from `parameters`.
    pub checked: Option<Arc<Value>>,
    /// An example of valid arguments as JSON. It is shown to a model that sent invalid ones.
    pub example: String,
    /// Whether the tool is declared to the model.
    pub visibility: Visibility,
}

/// Whether a tool is declared to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The tool is declared.
    Declared,
    /// The tool is declared where there is someone to answer questions. A scripted model has it anyway.
    Answered,
    /// The tool is declared where the session names it. A scripted model has it anyway.
    OnRequest,
    /// The tool is not declared, and can be called by its name.
    Hidden,
}

/// How a call accesses its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The kind of access.
    pub class: AccessClass,
    /// Whether the call may run concurrently with others.
    pub concurrency: Concurrency,
}

/// The kind of access of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// The call reads these paths, as written by the model, and changes nothing.
    Read(Vec<String>),
    /// The call changes these paths, as written by the model.
    Write(Vec<String>),
    /// The call runs a command, which may do anything.
    Exec {
        /// The command, for a shell.
        command: String,
        /// The folder it starts in, as written by the model; empty for that of the session.
        folder: String,
    },
    /// The call has a server do something, which may be anything.
    Server {
        /// The server, its tool and the arguments, for people.
        what: String,
    },
}

/// Whether a call may run concurrently with other calls of the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// The call may run concurrently with other shared calls.
    Shared,
    /// The call runs alone. It starts after all earlier calls have ended, and later calls start
    /// after it has ended.
    Exclusive,
}

impl Access {
    /// Returns the access of a call that accesses nothing and may run concurrently.
    #[must_use]
    pub fn none() -> Self {
        Self { class: AccessClass::Read(Vec::new()), concurrency: Concurrency::Shared }
    }
}

/// Everything that a tool call can use.
#[derive(Clone)]
pub struct ToolContext {
    /// Where the call comes from.
    pub origin: CallOrigin,
    /// The id of the call.
    pub call_id: String,
    /// Records what the call is going to do, before it does it.
    pub journal: Arc<dyn CallJournal>,
    /// The files of the workspace.
    pub view: Arc<dyn WorkspaceView>,
    /// Runs commands.
    pub commands: Arc<dyn CommandOwner>,
    /// Which shell they run in.
    pub shell: CommandShell,
    /// Whether the model may be told what is in the files that the call changes.
    pub change_shown: ChangeShown,
    /// Keeps long output.
    pub artifacts: Arc<dyn Artifacts>,
    /// Runs what goes on when the call has ended.
    pub background: Arc<dyn Background>,
    /// Asks the user; `None` where the session has no one who could answer.
    pub ask: Option<Arc<dyn Ask>>,
    /// Starts subagents; `None` where there are none.
    pub subagents: Option<Subagents>,
    /// Keeps what the call leaves to be applied or discarded by a later one.
    pub pending: PendingSlot,
    /// Receives lines about the progress of the call.
    pub progress: LineSink,
    /// Cancels the call.
    pub cancel: CancelToken,
}

/// Whether what is in the files that a call changes may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeShown {
    /// Nothing forbids it.
    Yes,
    /// A rule forbids to read them, or asks about it.
    No,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// The call succeeded.
    Output(ToolOutput),
    /// The call failed. The output says why, and what to do about it.
    Failed(ToolOutput),
    /// The call was not run, because it is not allowed. The output says why.
    Refused(ToolOutput),
    /// The system is out of a resource: disk space, memory, file descriptors or processes. The
    /// session cannot continue.
    ResourceExhausted(String),
    /// The session ends with this value.
    Yielded(Value),
    /// The session ends without a value, because the model cannot do the task.
    GaveUp(String),
}

/// The output of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The content for the model.
    pub content: Vec<Content>,
    /// Structured data for other programs.
    pub details: Option<Value>,
}

impl ToolOutput {
    /// Returns text output.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], details: None }
    }

    /// Returns the output with these details.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }
}

/// Builds the tools of sessions, for instance the built-in ones or those of a server.
#[async_trait]
pub trait ToolFactory: Send + Sync {
    /// Returns the name of the factory for messages.
    fn name(&self) -> &str;

    /// Builds the tools of one session, in the order in which they are declared to the model. A
    /// tool that cannot be built is returned as an error in its position.
    async fn build(&self, env: &ToolEnv) -> Vec<Result<Arc<dyn Tool>, ToolBuildError>>;
}

/// Tools of a session that change while it lives.
pub trait LiveTools: Send + Sync {
    /// Returns the number of changes so far.
    fn version(&self) -> u64;

    /// Returns the tools at this moment. `taken` are names that they must not have.
    fn tools(self: Arc<Self>, taken: &BTreeSet<String>) -> Vec<Arc<dyn Tool>>;
}

/// The environment of the tools of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEnv {
    /// The folder relative to the root of the workspace from which relative paths start; empty for
    /// the root.
    pub subfolder: PathBuf,
    /// The user's working tree. The workspace may be a copy of it.
    pub repo: PathBuf,
    /// Variables that are added to the environment of commands.
    pub environment: BTreeMap<String, OsString>,
    /// The maximum number of bytes of output to keep for one call.
    pub keep: u64,
    /// The JSON Schema of the value to yield; without one, every value is accepted.
    pub schema: Option<Value>,
    /// What the session is for.
    pub purpose: SessionPurpose,
    /// The id of the model that the session begins with, on which it depends which tools are offered.
    pub model: String,
    /// Whether the model is scripted. Such a model has a tool that panics, so that a scenario can show how
    /// the engine handles a panic.
    pub is_scripted: bool,
    /// The agents that its model can give tasks to; without one, it has no tool for that.
    pub spawn_offer: Option<SpawnOffer>,
}

/// Which shell runs the commands of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandShell {
    /// That of the user, with the functions and aliases of the user's profile.
    User,
    /// `/bin/sh`. Rules judge the text of a command, which an alias or another shell would change.
    Plain,
}

/// What a session is for. Some tools exist only for one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPurpose {
    /// A task of a run, which ends with a result.
    Task,
    /// A conversation, which has no end of its own.
    Conversation,
}

/// A tool that could not be built. The session continues without it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool `{tool}` is not available: {reason}")]
pub struct ToolBuildError {
    /// The name of the tool, or of the factory if its tools are not known.
    pub tool: String,
    /// The reason.
    pub reason: String,
}

/// Opens folders of artifacts.
pub trait ArtifactStore: Send + Sync {
    /// Returns the artifacts in `folder`. The folder does not have to exist yet.
    fn open(&self, folder: &Path) -> Arc<dyn Artifacts>;

    /// Returns the records of the calls whose output is in `folder`.
    fn journal(&self, folder: &Path) -> Arc<dyn CallJournal>;

    /// Returns the files that hold `values` in `folder`, each as `NAME.json`. Nothing is written
    /// yet.
    fn inputs(&self, folder: &Path, values: Vec<(TaskName, Value)>) -> Arc<dyn InputFiles>;
}

/// The yields of the predecessors of a task, as files for its processes. Dropping the last handle
/// removes the folder.
#[async_trait]
pub trait InputFiles: Send + Sync {
    /// Returns the folder of the files.
    fn folder(&self) -> &Path;

    /// Writes the files into a new folder that only this user can open. Replaces an older folder.
    async fn write(self: Arc<Self>) -> io::Result<()>;
}

/// The artifacts of one session, which are files with the output of tools.
#[async_trait]
pub trait Artifacts: Send + Sync {
    /// Reserves a file name for the output of `tool`. The name is unique, and no file with it
    /// exists. The caller creates the file.
    async fn reserve(&self, tool: &str) -> Artifact;

    /// Returns the artifact with this number, if there is a file of it.
    async fn find(&self, number: u64) -> io::Result<Option<Artifact>>;

    /// Returns the result of the subagent with this name, if there is a file of it.
    async fn agent(&self, name: &str) -> io::Result<Option<Artifact>>;

    /// Returns the names of the subagents whose results are kept.
    async fn agents(&self) -> io::Result<Vec<String>>;

    /// Returns the size of an artifact in bytes.
    async fn size(&self, artifact: &Artifact) -> io::Result<u64>;

    /// Creates the file of an artifact that was reserved.
    async fn write(&self, artifact: &Artifact, text: String) -> io::Result<()>;

    /// Reads up to `most` bytes from `offset`.
    async fn read(&self, artifact: &Artifact, offset: u64, most: u64) -> io::Result<Vec<u8>>;
}

/// A file with the output of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The name in the folder of the session.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
}

/// The beginning of the names by which models read artifacts. The number of the artifact follows.
pub const ARTIFACT_SCHEME: &str = "artifact://";

/// The beginning of the names by which models read the results of subagents. The name of the subagent follows.
pub const AGENT_SCHEME: &str = "agent://";

impl Artifact {
    /// Returns the name by which models read it; it is not a path.
    #[must_use]
    pub fn uri(&self) -> String {
        let number = self.name.split('.').next().unwrap_or_default();
        format!("{ARTIFACT_SCHEME}{number}")
    }
}
