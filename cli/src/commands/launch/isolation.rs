//! `--isolated`: the workspace of a session. It is that of a task, whose work the commands for runs show,
//! land, take back and throw away.

use std::path::PathBuf;
use std::sync::Arc;

use actors::Engine;
use config::make_private;
use protocol::{Captured, EventKind, Outcome};

use super::super::context::CommandContext;
use super::super::landing_notices::print_notice;
use super::super::run::{submit_error, workspaces_of};
use crate::args::{Globals, IsolationChoice, LaunchArgs};
use crate::render::{self, CommandHints, Terminal, changed_lines, count};
use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind};
use regatta::recovery::open_repository;
use regatta::session::{
    EndedWorkspace, ISOLATED_TASK, IsolatedPlace, IsolatedWorkspace, NotIsolated,
};

/// What the workspaces of a session are made of.
pub(super) struct Isolating<'a> {
    pub(super) app: &'a AppContext,
    pub(super) args: &'a LaunchArgs,
    pub(super) globals: &'a Globals,
    pub(super) engine: Engine,
    /// The folder in which the repository is looked for.
    pub(super) folder: PathBuf,
    /// The log of the session.
    pub(super) log: PathBuf,
    /// The title of its runs.
    pub(super) title: String,
}

/// The workspace of a session.
pub(super) struct Isolation<'a> {
    pub(super) of: Isolating<'a>,
    pub(super) context: CommandContext,
    pub(super) workspace: IsolatedWorkspace,
}

impl<'a> Isolation<'a> {
    /// Makes a workspace of the tree as it is now, and returns it with what the user should know.
    ///
    /// # Errors
    /// There is no repository, or it cannot be used now; or the workspace cannot be made.
    pub(super) async fn begin(of: Isolating<'a>) -> Result<(Self, Vec<String>), Error> {
        let in_place = |error: Error| match error.kind {
            ErrorKind::Repository => error.hint("leave `--isolated` out (works in place)"),
            _ => error,
        };
        let opened = open_repository(of.app, &of.folder).await.map_err(in_place)?;
        let mode = of.args.isolation.map(IsolationChoice::mode);
        let about = (of.title.clone(), of.log.clone());
        let spec = of.app.isolated_run(opened.repository.facts(), mode, about)?;
        if let Some(workspaces) = workspaces_of(of.app, &spec) {
            // If the folder is missing, preparing the run reports it.
            let _said_later = make_private(&workspaces);
        }
        let mut notes: Vec<_> = opened.found.iter().map(|line| format!("note: {line}")).collect();
        let mut degraded = |event: &EventKind| {
            if let EventKind::Degraded { from, to, why } = event {
                notes.push(format!("note: {from}: {to} ({why})"));
            }
        };
        let (repository, notify) = (opened.repository, Arc::new(print_notice));
        let made =
            IsolatedWorkspace::open(&of.engine, repository, spec.clone(), notify, &mut degraded);
        let workspace = made.await.map_err(|refused| match refused {
            NotIsolated::Submit(error) => in_place(submit_error(error)),
            NotIsolated::Failed(failure) => {
                let what = "cannot prepare the workspace of the session";
                Error::new(ErrorKind::Repository, what).because_of(&failure)
            }
        })?;
        let view = render::View::of(of.globals.into(), Terminal::here());
        let hints = CommandHints { home: None, repo: of.globals.repo().cloned() };
        let context = CommandContext::of(of.app, spec.repo.clone(), view, hints);
        Ok((Self { of, context, workspace }, notes))
    }

    /// Returns where the session works.
    pub(super) fn place(&self) -> &IsolatedPlace {
        self.workspace.place()
    }

    /// Captures the work when the session is closed. Returns what is left, and what another workspace is
    /// made of.
    pub(super) async fn end(self) -> (EndedWorkspace, CommandContext, Isolating<'a>) {
        (self.workspace.end().await, self.context, self.of)
    }

    /// Captures the work when the session is closed, and returns lines that say where it is kept.
    pub(super) async fn leave(self) -> Vec<String> {
        let (ended, context, _of) = self.end().await;
        kept_lines(&ended, &context.hints)
    }
}

/// Returns lines that say where the work is kept that has not landed, and what to type.
pub(super) fn kept_lines(ended: &EndedWorkspace, hints: &CommandHints) -> Vec<String> {
    let failure = ended.failure().map(|failure| format!("warning: {}", failure.message));
    let run = &ended.run;
    let Some(report) = &ended.report else {
        let line = format!("the work of run {run} stays in its workspace; the next command has it");
        return vec![line, format!("then: {}", hints.command(&format!("runs show {run}")))];
    };
    let Some(work) = ended.work() else {
        let then = format!("then: {}", hints.command(&format!("runs show {run}")));
        return failure.into_iter().flat_map(|failure| [failure, then.clone()]).collect();
    };
    let target = match report.outcome {
        Outcome::Done { .. } => run.to_string(),
        // What has not ended well lands by its name only.
        Outcome::Failed { .. } | Outcome::Cancelled => format!("{run}/{ISOLATED_TASK}"),
    };
    let command = |verb: &str| hints.command(&format!("{verb} {target}"));
    let (land, show) = (command("apply"), command("diff"));
    let kept = format!("the work has not landed, and is kept: {}", amount(work));
    let lines = [kept, format!("land it with: {land}"), format!("look at it with: {show}")];
    failure.into_iter().chain(lines).collect()
}

pub(super) fn amount(work: &Captured) -> String {
    format!("{} {}", count(work.changes.files, "file"), changed_lines(work.changes))
}
