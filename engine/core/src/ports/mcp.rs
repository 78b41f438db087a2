//! The port for MCP servers: programs that offer tools by the Model Context Protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use protocol::{Content, Question};
use serde_json::{Map, Value};

use super::{CancelToken, LineSink};

/// The definition of one server, with every value resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpDefinition {
    /// The name of the server, which is unique in its session.
    pub name: String,
    /// How the server is reached.
    pub transport: McpTransport,
    /// The revision of the protocol to speak; without one, it is negotiated.
    pub protocol: Option<String>,
    /// How long the first request of a session waits for the server, if its tools are not cached.
    pub startup_timeout: Duration,
    /// How long a call may go on without progress.
    pub timeout: Duration,
    /// The maximum number of calls under way.
    pub concurrency: usize,
    /// Whether a command fails where the server cannot be used.
    pub required: bool,
    /// Which tasks share a process of the server.
    pub scope: McpScope,
    /// Which tools of the server are offered.
    pub tools: McpToolFilter,
    /// Whether a tool that the server calls read-only is one.
    pub read_only_hints: McpHints,
    /// The place of the definition, for people: a file and a line.
    pub source: String,
    /// The identity of the definition: a hash of what would run or be reached. Sessions with equal definitions
    /// share a server.
    pub key: String,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that reads requests from its standard input.
    Stdio {
        /// The program. Without a slash, it is searched in the `PATH` of `environment`.
        command: OsString,
        /// Its arguments.
        arguments: Vec<OsString>,
        /// Its complete environment.
        environment: BTreeMap<OsString, OsString>,
        /// The working directory; an empty folder of its own without one.
        folder: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Additional headers. They are sent to the origin of `url` only.
        headers: BTreeMap<String, String>,
    },
    /// HTTP with server-sent events, of the revision 2024-11-05.
    Sse {
        /// The address of the stream of events.
        url: String,
        /// Additional headers. They are sent to the origin of `url` only.
        headers: BTreeMap<String, String>,
    },
}

/// Which tasks share a process of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpScope {
    /// All sessions and tasks of an engine.
    #[default]
    Shared,
    /// Each isolated task has a process of its own, in its workspace.
    Workspace,
}

/// Whether the user trusts what a server says about its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpHints {
    /// Every call is one that may do anything.
    #[default]
    Ignored,
    /// A call of a tool that the server calls read-only changes nothing.
    Trusted,
}

/// Which tools of a server are offered, by the names that the server gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpToolFilter {
    /// Only these; all if absent.
    pub allow: Option<BTreeSet<String>>,
    /// Not these.
    pub deny: BTreeSet<String>,
}

impl McpToolFilter {
    /// Returns whether a tool is offered.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.contains(tool)) && !self.deny.contains(tool)
    }
}

/// Connects to servers.
#[async_trait]
pub trait McpConnector: Send + Sync {
    /// Starts or reaches a server, and agrees with it on a revision of the protocol. If the future is dropped,
    /// no process and no connection is left.
    ///
    /// # Errors
    /// The server cannot be started or reached, or speaks no revision that is supported.
    async fn connect(
        &self,
        definition: &McpDefinition,
        client: Arc<dyn McpClient>,
    ) -> Result<Arc<dyn McpConnection>, McpError>;
}

/// What a server may ask of the engine, and what it reports.
#[async_trait]
pub trait McpClient: Send + Sync {
    /// Returns the folders in which the sessions of the server work.
    fn roots(&self) -> Vec<PathBuf>;

    /// A list of the server has changed.
    fn changed(&self, list: McpList);

    /// The server has logged a line.
    fn logged(&self, line: String);

    /// Asks a person a question of the server. `None` if the person does not answer.
    async fn ask(&self, question: Question) -> Option<String>;
}

/// A list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum McpList {
    /// Its tools.
    Tools,
    /// Its resources.
    Resources,
    /// Its prompts.
    Prompts,
}

/// A connection to a server. Dropping it ends the server's process.
#[async_trait]
pub trait McpConnection: Send + Sync {
    /// Returns what the server says about itself.
    fn info(&self) -> &McpServerInfo;

    /// Lists the tools.
    ///
    /// # Errors
    /// The server answers with an error, or not in time, or beyond the bounds of a list.
    async fn tools(&self) -> Result<Vec<McpTool>, McpError>;

    /// Calls a tool. Lines about its progress go to `progress`; a cancelled call is reported to the server, and its
    /// late answer dropped.
    ///
    /// # Errors
    /// The call did not run, or may have run without an answer; [`McpError::kind`] says which. A tool that fails is
    /// no error, but [`McpResult::is_error`].
    async fn call(
        &self,
        call: McpCall,
        progress: LineSink,
        cancel: CancelToken,
    ) -> Result<McpResult, McpError>;

    /// Lists the resources and the templates of resources.
    ///
    /// # Errors
    /// As [`McpConnection::tools`].
    async fn resources(&self) -> Result<Vec<McpResource>, McpError>;

    /// Reads a resource.
    ///
    /// # Errors
    /// The server answers with an error, or not in time.
    async fn read_resource(&self, uri: &str) -> Result<Vec<Content>, McpError>;

    /// Lists the prompts.
    ///
    /// # Errors
    /// As [`McpConnection::tools`].
    async fn prompts(&self) -> Result<Vec<McpPrompt>, McpError>;

    /// Returns the text of a prompt.
    ///
    /// # Errors
    /// The server answers with an error, or not in time.
    async fn prompt(
        &self,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<String, McpError>;

    /// Waits until the connection has ended, and returns why.
    async fn closed(&self) -> McpError;

    /// Ends the connection and the server's process: within a second, and by SIGKILL if it has to be.
    async fn close(&self);
}

/// Keeps what servers offer, so that a session need not wait for a server that starts.
#[async_trait]
pub trait McpCache: Send + Sync {
    /// Returns what the server with this key offered last; `None` if it is not known, or too old.
    async fn load(&self, key: &str) -> Option<McpOffer>;

    /// Keeps what a server offers. A failure is logged: the next start is slower.
    async fn store(&self, key: &str, offer: McpOffer);
}

/// What a server offers to models.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct McpOffer {
    /// Its tools.
    pub tools: Vec<McpTool>,
    /// How they are used.
    pub instructions: Option<String>,
}

/// Knows which servers there are.
#[async_trait]
pub trait McpDefinitions: Send + Sync {
    /// Returns the servers of sessions in this folder of the user's tree, and what the user should know about
    /// others that cannot be used.
    async fn in_folder(&self, folder: &Path) -> (Vec<Arc<McpDefinition>>, Vec<String>);
}

/// What a server says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServerInfo {
    /// The name of its program.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The revision of the protocol that is spoken.
    pub protocol: String,
    /// How its tools are used, for the model.
    pub instructions: Option<String>,
    /// The lists that it has.
    pub lists: BTreeSet<McpList>,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct McpTool {
    /// The name that the server gives it.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments, as the server wrote it.
    pub input_schema: Value,
    /// Whether the server says that it changes nothing.
    pub read_only: bool,
    /// Whether the server says that a second call with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct McpCall {
    /// The name that the server gives the tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// How long it may go on without progress.
    pub timeout: Duration,
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpResult {
    /// The content for the model: texts, images, and a note for each link and sound. Where there is none, the
    /// structured content as JSON.
    pub content: Vec<Content>,
    /// The structured content.
    pub structured: Option<Value>,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A resource, or a template of resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpResource {
    /// Its address, which may have placeholders.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPrompt {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The names of its arguments, and whether each has to be given.
    pub arguments: Vec<(String, bool)>,
}

/// Why a request to a server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct McpError {
    /// What is known about the request.
    pub kind: McpErrorKind,
    /// What happened, with the last lines of standard error where there are some.
    pub message: String,
}

/// What is known about a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpErrorKind {
    /// The server did not get it: it surely did not run.
    NotSent,
    /// The server may have got it, and gave no answer.
    NoAnswer,
    /// The server answered with this error.
    Answered(i64),
    /// The server wants a login.
    Unauthorized,
    /// It was cancelled.
    Cancelled,
}
