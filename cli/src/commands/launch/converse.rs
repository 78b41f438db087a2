//! Sessions on the terminal, one after another.

use std::sync::Arc;

use actors::{Engine, Events, SessionHandle, SessionState};
use protocol::ExitCode;

use super::super::note::note;
use crate::args::{Globals, LaunchArgs};
use crate::render::{self, TermCapability, Terminal};
use crate::session::{SessionPorts, SessionSwitch, earlier};
use crate::signals::{self, Signals};
use crate::view::{Conversation, ConversationEnd, OpenedSession, SurfaceKind, ViewOf};
use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind};
use regatta::session::{ChosenLog, LogStorage, Prompts, context_files};

/// Shows a session on the terminal, and those that the user goes on with, until the user leaves.
///
/// # Errors
/// The terminal cannot be used, or a part of the program failed.
pub(super) async fn converse(
    app: &AppContext,
    (args, globals): (&LaunchArgs, &Globals),
    (engine, session, events): (Engine, SessionHandle, Events),
    mut prompts: Prompts,
    mut log: ChosenLog,
    signals: &mut Signals,
) -> Result<ExitCode, Error> {
    let Some(state) = session.state().await else {
        return Err(Error::new(ErrorKind::Bug, "the session is closed"));
    };
    let intro = intro(args, &state);
    let (folder, first_model) = (state.folder, state.model);
    let commands = engine.command_owner();
    let terminal = Terminal::here();
    let size = terminal.stdout.ok_or_else(|| Error::usage("there is no terminal"))?;
    let kind = match terminal.capability {
        TermCapability::Able => SurfaceKind::Screen,
        TermCapability::Dumb => SurfaceKind::Lines,
    };
    let palette = render::View::of(globals.into(), terminal).palette;
    let mut view = ViewOf::New { kind, palette, size, intro };
    let (mut session, mut events, mut said) = (session, events, earlier(&log.path));
    let left = loop {
        let of_commands = (Arc::clone(&commands), log.path.as_path());
        let ports = SessionPorts::new(app, first_model.clone(), folder.clone(), of_commands);
        let ports = ports.await.with_scope(args.models.as_ref());
        let sessions = SessionSwitch {
            app,
            args,
            engine: &engine,
            ports: &ports,
            folder: folder.clone(),
            first_model: first_model.clone(),
        };
        let conversation = Conversation {
            engine: &engine,
            session: &session,
            events,
            log: &log,
            prompts: std::mem::take(&mut prompts),
            earlier: said,
            ports: &ports,
            sessions: &sessions,
            view,
            faults: app.faults.clone(),
        };
        let (opened, kept) = match conversation.run(signals).await {
            Ok(ConversationEnd::Switch(opened, kept)) => (*opened, kept),
            left => break left,
        };
        let line = close(session, &log).await;
        let OpenedSession { session: next, events: of_next, log: its_log, notes, text, .. } =
            opened;
        let notes = line.into_iter().chain(notes).collect();
        view = ViewOf::Before { kept, text, notes };
        (session, events, log, said) = (next, of_next, its_log, opened.earlier);
    };
    let line = close(session, &log).await;
    let _left = commands.end().await; // what the commands of the user have started
    let failure = engine.close().await;
    app.user_models.finish_renewals().await;
    line.iter().for_each(|line| note(globals, line));
    match (failure, left?) {
        (Some(failure), _) | (None, ConversationEnd::EngineFailed(failure)) => {
            Err(Error::engine_failed(&failure))
        }
        (None, ConversationEnd::Interrupted(why)) => Ok(signals::exit_code(why)),
        (None, ConversationEnd::Done | ConversationEnd::Switch(..)) => Ok(ExitCode::Success),
    }
}

/// Closes a session, and returns how it can be continued.
async fn close(session: SessionHandle, log: &ChosenLog) -> Option<String> {
    let id = session.id();
    let has_messages = session.state().await.is_some_and(|state| state.messages > 0);
    session.close().await;
    let is_kept = has_messages && log.storage == LogStorage::File;
    is_kept.then(|| format!("continue with: regatta --resume {}", id.uuid()))
}

/// Returns the line at the begin of a conversation: what works where, which context files it has read, and
/// how to get help.
fn intro(args: &LaunchArgs, state: &SessionState) -> String {
    let (model, folder) = (state.model.name(), state.folder.display());
    let read = context_files(&state.system).map(|read| format!(" · has read {read}"));
    let read = read.unwrap_or_default();
    match args.has_tools() {
        false => format!("{model} has no tools{read} · /help"),
        true => format!("{model} uses its tools in {folder}, in place{read} · /help"),
    }
}
