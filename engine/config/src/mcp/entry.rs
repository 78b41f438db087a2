//! What a file says about one server, and what all files say together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::secret::Secret;

/// The servers of all files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerCatalog {
    /// The servers, in the order of precedence. Several may have the same name.
    pub entries: Vec<ServerEntry>,
    /// The names that the user has disabled, whoever defines the server.
    pub disabled: BTreeSet<String>,
    /// The servers of other programs' files that the user has enabled.
    pub enabled: Vec<EnabledServer>,
    /// The mistakes. Each has cost only the entry or the file that it names.
    pub warnings: Vec<ServerWarning>,
}

/// One server, as a file says it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerEntry {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub place: ServerPlace,
    /// How it is reached.
    pub address: ServerAddress,
    /// Whether its file enables it.
    pub is_enabled: bool,
    /// Whether a command fails where the server cannot be used.
    pub is_required: bool,
    /// How long the first request of a session waits for it.
    pub startup_timeout: Option<Duration>,
    /// How long a call may go on without progress.
    pub timeout: Option<Duration>,
    /// The revision of the protocol to speak.
    pub protocol: Option<String>,
    /// Which tasks share a process of it.
    pub scope: ServerScope,
    /// The maximum number of calls under way.
    pub concurrency: Option<NonZeroUsize>,
    /// Only these tools are offered; all if absent.
    pub allowed_tools: Option<BTreeSet<String>>,
    /// These tools are not offered.
    pub denied_tools: BTreeSet<String>,
    /// Whether a tool that the server calls read-only is one.
    pub trusts_read_only_hints: bool,
}

/// Where a server is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPlace {
    /// The program whose file it is.
    pub program: ServerProgram,
    /// Who has written it.
    pub level: ServerLevel,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
}

impl ServerPlace {
    /// Returns whether it is the file of the user's own servers.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.program == ServerProgram::Regatta && self.level == ServerLevel::User
    }
}

impl fmt::Display for ServerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Who has written the file of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerLevel {
    /// The user.
    User,
    /// Anyone who can write to the repository.
    Project,
}

/// The program whose file defines a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerProgram {
    /// This one.
    Regatta,
    /// omp.
    Omp,
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Cursor.
    Cursor,
    /// Windsurf.
    Windsurf,
    /// Visual Studio Code.
    VsCode,
    /// Any that reads `mcp.json` at the root of a project.
    Any,
}

/// How a server is reached, with values that are not resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerAddress {
    /// A program that reads requests from its standard input.
    Program {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The variables that it gets besides those of every server.
        environment: BTreeMap<String, Secret>,
        /// The working directory.
        folder: Option<String>,
    },
    /// A URL.
    Url {
        /// What is spoken there.
        kind: UrlKind,
        /// The URL.
        url: String,
        /// Additional headers.
        headers: BTreeMap<String, Secret>,
    },
}

/// What is spoken at a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlKind {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events.
    Sse,
}

/// Which tasks share a process of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerScope {
    /// All.
    #[default]
    Shared,
    /// Each isolated task has its own.
    Workspace,
}

/// A server of another program's file that the user has enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnabledServer {
    /// Its name.
    pub name: String,
    /// The file.
    pub source: String,
    /// The digest of its definition at that time.
    pub definition: String,
}

/// A mistake in a file of servers. It contains no value that may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerWarning {
    /// The program whose file it is.
    pub program: ServerProgram,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, if the mistake is in one.
    pub line: Option<u64>,
    /// What is wrong, and what is done about it.
    pub message: String,
}

impl fmt::Display for ServerWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        write!(f, "{}{line}: {}", self.file.display(), self.message)
    }
}
