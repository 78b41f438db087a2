//! The arguments of `regatta mcp`.

use clap::{ArgAction, Args, Subcommand, ValueEnum};
use regatta::mcp::ServerOwner;

/// The long help.
pub(super) const HELP: &str = "\
Lists the MCP servers that sessions use, or changes them.

Examples:
  regatta mcp                     all servers, and why some are not used
  regatta mcp add docs https://mcp.example.com/mcp
  regatta mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  regatta mcp test files          starts it and lists its tools
  regatta mcp enable github       one of another program's file
  regatta mcp --json

Servers are defined in mcp.json beside config.yml, in .regatta/mcp.json of a
repository, which counts once you trust it (regatta trust), and in the files of
other programs, which count once you enable a server or set mcp.foreign: on.
docs/mcp.md describes the files.";

const ADD: &str = "\
Adds a server to your mcp.json, or with --project to that of the repository.

Examples:
  regatta mcp add docs https://mcp.example.com/mcp
  regatta mcp add docs https://mcp.example.com/mcp \\
    --header 'Authorization: Bearer ${DOCS_TOKEN}'
  regatta mcp add git --env 'TOKEN=${GIT_TOKEN}' -- uvx mcp-server-git

${NAME} is the variable of the environment in which a session begins, so that
the file has no secret.";

const SHOW: &str = "\
Shows what the file of a server says, and whether the server is used. Values of
variables and headers are not shown.

Examples:
  regatta mcp show github
  regatta mcp show github --json";

const REMOVE: &str = "\
Removes a server from your mcp.json, or with --project from that of the
repository.

Examples:
  regatta mcp remove docs
  regatta mcp remove docs --project";

const ENABLE: &str = "\
Enables a server that is disabled, or that stands in a file of another program.
The latter is enabled as it is defined now: a changed definition is not used.

Examples:
  regatta mcp enable github";

const DISABLE: &str = "\
Disables a server, in whatever file it is defined.

Examples:
  regatta mcp disable github";

const TEST: &str = "\
Starts or reaches a server, lists its tools and ends it. The exit code is 1 if
the server cannot be used.

Examples:
  regatta mcp test github
  regatta mcp test github --json";

/// The arguments of `regatta mcp`.
#[derive(Args, Clone, Debug, Default)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    /// The subcommand; without one, the servers are listed.
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

/// The subcommands of `regatta mcp`.
#[derive(Subcommand, Clone, Debug)]
pub enum McpCommand {
    /// List the servers, and why some are not used
    #[command(alias = "ls")]
    List,
    /// Show one server
    #[command(long_about = SHOW, alias = "get")]
    Show(McpNameArgs),
    /// Add a server
    #[command(long_about = ADD)]
    Add(Box<McpAddArgs>),
    /// Remove a server
    #[command(long_about = REMOVE, alias = "rm")]
    Remove(McpRemoveArgs),
    /// Enable a server
    #[command(long_about = ENABLE)]
    Enable(McpNameArgs),
    /// Disable a server
    #[command(long_about = DISABLE)]
    Disable(McpNameArgs),
    /// Start a server and list its tools
    #[command(long_about = TEST)]
    Test(McpNameArgs),
}

/// The name of a server.
#[derive(Args, Clone, Debug)]
pub struct McpNameArgs {
    /// The name of the server
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// The arguments of `regatta mcp remove`.
#[derive(Args, Clone, Debug)]
pub struct McpRemoveArgs {
    /// The name of the server
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Remove it from .regatta/mcp.json of the repository
    #[arg(long, action = ArgAction::SetTrue)]
    project: bool,
}

/// The arguments of `regatta mcp add`.
#[derive(Args, Clone, Debug)]
pub struct McpAddArgs {
    /// The name of the server
    #[arg(value_name = "NAME")]
    pub name: String,

    /// The URL of the server
    #[arg(value_name = "URL", conflicts_with = "command")]
    pub url: Option<String>,

    /// The program of the server, and its arguments
    #[arg(value_name = "CMD", last = true)]
    pub command: Vec<String>,

    /// Set a variable for the program, as NAME=VALUE
    #[arg(short, long, value_name = "NAME=VALUE", requires = "command")]
    pub env: Vec<String>,

    /// Send a header to the URL, as 'NAME: VALUE'
    #[arg(short = 'H', long, value_name = "NAME: VALUE", requires = "url")]
    pub header: Vec<String>,

    /// What is spoken: stdio (with a CMD), http or sse [default: http with a URL]
    #[arg(short, long, value_name = "TRANSPORT", value_enum)]
    pub transport: Option<TransportChoice>,

    /// Add it to .regatta/mcp.json of the repository
    #[arg(long, action = ArgAction::SetTrue)]
    project: bool,
}

/// The value of `--transport`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportChoice {
    /// Standard input and output of a program.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events.
    Sse,
}

impl McpAddArgs {
    /// Returns whose file is changed.
    #[must_use]
    pub fn owner(&self) -> ServerOwner {
        if self.project { ServerOwner::Project } else { ServerOwner::User }
    }
}

impl McpRemoveArgs {
    /// Returns whose file is changed.
    #[must_use]
    pub fn owner(&self) -> ServerOwner {
        if self.project { ServerOwner::Project } else { ServerOwner::User }
    }
}
