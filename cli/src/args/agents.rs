//! The arguments of `regatta agents`.

use clap::Args;

/// The long help.
pub(super) const HELP: &str = "\
Lists the agents to which a session can give tasks, or shows one as a whole.

Examples:
  regatta agents
  regatta agents explore         what its file says, and what that means here
  regatta agents --json

An agent is a Markdown file in the folder agents of .regatta, .omp, .pi,
.claude, .codex or .gemini: of each, the nearest one up to the root of the
repository, then that of your home. Seven come with Regatta. The first of a
name counts. docs/agent-files.md describes the files.";

/// The arguments of `regatta agents`.
#[derive(Args, Clone, Debug, Default)]
pub struct AgentsArgs {
    /// Show this agent as a whole
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}
