//! A session on the terminal.

use std::sync::Arc;

use actors::{Engine, Events, SessionHandle, SessionState};
use protocol::ExitCode;

use super::note;
use crate::app_context::AppContext;
use crate::args::{Globals, LaunchArgs};
use crate::error::{Error, ErrorKind};
use crate::render::{self, TermCapability, Terminal};
use crate::session::{ChosenLog, LogStorage, Prompts, SessionPorts, earlier};
use crate::signals::{self, Signals};
use crate::view::{Conversation, ConversationEnd, SurfaceKind};

/// Shows a session on the terminal until the user leaves it.
///
/// # Errors
/// The terminal cannot be used, or a part of the program failed.
pub(super) async fn converse(
    app: &AppContext,
    (args, globals): (&LaunchArgs, &Globals),
    (engine, session, events): (Engine, SessionHandle, Events),
    prompts: Prompts,
    log: &ChosenLog,
    signals: &mut Signals,
) -> Result<ExitCode, Error> {
    let Some(state) = session.state().await else {
        return Err(Error::new(ErrorKind::Bug, "the session is closed"));
    };
    let commands = engine.command_owner();
    let of_commands = (Arc::clone(&commands), log.path.as_path());
    let intro = intro(args, &state);
    let ports = SessionPorts::new(app, state.model, state.folder, of_commands);
    let ports = ports.with_scope(args.models.as_ref());
    let terminal = Terminal::here();
    let conversation = Conversation {
        engine: &engine,
        session: &session,
        events,
        prompts,
        earlier: earlier(&log.path),
        intro,
        surface: match terminal.capability {
            TermCapability::Able => SurfaceKind::Screen,
            TermCapability::Dumb => SurfaceKind::Lines,
        },
        ports: &ports,
        palette: render::View::of(globals.into(), terminal).palette,
        size: terminal.stdout.ok_or_else(|| Error::usage("there is no terminal"))?,
        faults: app.faults.clone(),
    };
    let left = conversation.run(signals).await;
    let id = session.id();
    let has_messages = session.state().await.is_some_and(|state| state.messages > 0);
    session.close().await;
    let _left = commands.end().await; // what the commands of the user have started
    let failure = engine.close().await;
    app.user_models.finish_renewals().await;
    if has_messages && log.storage == LogStorage::File {
        note(globals, &format!("continue with: regatta --resume {}", id.uuid()));
    }
    match (failure, left?) {
        (Some(what), _) | (None, ConversationEnd::EngineFailed(what)) => {
            Err(Error::new(ErrorKind::Bug, "a part of the program failed").because(what))
        }
        (None, ConversationEnd::Interrupted(why)) => Ok(signals::exit_code(why)),
        (None, ConversationEnd::Done) => Ok(ExitCode::Success),
    }
}

/// Returns the line at the begin of a conversation: what works where, and how help is had.
fn intro(args: &LaunchArgs, state: &SessionState) -> String {
    let (model, folder) = (state.model.name(), state.folder.display());
    match args.tool_names().is_empty() {
        true => format!("{model} has no tools · /help"),
        false => format!("{model} uses its tools in {folder}, in place · /help"),
    }
}
