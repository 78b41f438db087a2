//! The context of the commands that read runs and captured work, and how they write results.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{LedgerEntry, RunSpec};
use serde::Serialize;

use super::run::RunResult;
use crate::render::{CommandHints, OutputWidth, Terminal, View, printable_json, wrapped};
use crate::resolve::Defaults;
use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind};
use regatta::runs::RepositoryRuns;

/// The port to agents that resolve conflicts: does one run of its own.
#[async_trait(?Send)]
pub trait ResolverRuns: Send + Sync {
    /// The models and limits of the settings.
    async fn defaults(&self) -> Defaults;

    /// Does a run in the repository, and returns its name when it has ended.
    ///
    /// # Errors
    /// The run could not be started, or was stopped.
    async fn run(&self, spec: RunSpec) -> Result<RunResult, Error>;
}

/// The runs of a repository, and the output options.
#[derive(Clone)]
pub struct CommandContext {
    /// The runs of the repository.
    pub runs: RepositoryRuns,
    /// The format, verbosity and colours of the output.
    pub view: View,
    /// Formats the commands that are suggested to the user.
    pub hints: CommandHints,
    /// Does the runs of agents that resolve conflicts, for commands that may have some.
    pub resolvers: Option<Arc<dyn ResolverRuns>>,
}

impl CommandContext {
    /// Returns the context of the repository at `root`.
    #[must_use]
    pub fn of(app: &AppContext, root: PathBuf, view: View, hints: CommandHints) -> Self {
        Self { runs: RepositoryRuns::of(app, root), view, hints, resolvers: None }
    }

    /// Records entries in the ledger, durably.
    pub(super) async fn record(&self, entries: Vec<LedgerEntry>) -> Result<(), Error> {
        Ok(self.runs.record(entries).await?)
    }
}

/// Where a command writes its result.
pub trait Output: Write {
    /// Returns the maximum length of a line.
    fn room(&self) -> OutputWidth;
}

impl Output for io::Stdout {
    fn room(&self) -> OutputWidth {
        Terminal::here().stdout_room()
    }
}

impl Output for Vec<u8> {
    fn room(&self) -> OutputWidth {
        OutputWidth::Pipe
    }
}

/// The output of a command.
pub type Out<'a> = &'a mut (dyn Output + Send);

/// Writes lines of a result. On a terminal, long ones are wrapped.
pub(super) fn say(out: Out<'_>, text: &str) -> Result<(), Error> {
    let text = wrapped(text, out.room());
    write_text(out, &text)
}

/// Writes lines that were not written by this program, or that a program reads. They are not wrapped.
pub(super) fn write_text(out: Out<'_>, text: &str) -> Result<(), Error> {
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| Error::output(&error))
}

/// Writes a result as one JSON document.
pub(super) fn print_json(out: Out<'_>, value: &impl Serialize) -> Result<(), Error> {
    let document = serde_json::to_string_pretty(value).map_err(|error| {
        Error::new(ErrorKind::Bug, "cannot write the result as JSON").caused_by(&error)
    })?;
    write_text(out, &printable_json(document))
}
