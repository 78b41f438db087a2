//! Sessions on the terminal, one after another.

use std::sync::Arc;

use actors::{ChosenMode, Engine, Events, SessionHandle, SessionState};
use protocol::{ExitCode, Failure, ModelRoute};

use super::super::note::note;
use super::isolation::Isolation;
use super::{isolated_words, leave, stopped};
use crate::args::{Globals, LaunchArgs};
use crate::render::{self, TermCapability, Terminal};
use crate::session::{SessionApprovals, SessionPlace, SessionPorts, SessionSwitch, earlier};
use crate::signals::{self, Signals};
use crate::view::{
    Conversation, ConversationEnd, IsolatedWork, KeptView, NotOpened, OpenedSession, SurfaceKind,
    ViewOf, WorkEnd,
};
use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind};
use regatta::session::{ChosenLog, Prompts, context_files};

/// Shows a session on the terminal, and those that the user goes on with, until the user leaves.
///
/// # Errors
/// The terminal cannot be used, or a part of the program failed.
pub(super) async fn converse(
    app: &AppContext,
    (args, globals): (&LaunchArgs, &Globals),
    (engine, session, events): (Engine, SessionHandle, Events),
    mut prompts: Prompts,
    (mut place, mut isolation, mut log): (SessionPlace, Option<Isolation<'_>>, ChosenLog),
    mode: ChosenMode,
    signals: &mut Signals,
) -> Result<ExitCode, Error> {
    let Some(state) = session.state().await else {
        return Err(Error::new(ErrorKind::Bug, "the session is closed"));
    };
    let intro = intro(args, &place, &state);
    let first_model = state.model;
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
    let (left, line) = loop {
        let of_commands = (Arc::clone(&commands), log.path.as_path());
        let approvals = SessionApprovals::of(app, args, &place, mode.clone());
        let ports =
            SessionPorts::new(app, first_model.clone(), place.works_in(), of_commands, approvals);
        let ports = ports.await.with_scope(args.models.as_ref());
        let sessions = SessionSwitch {
            app,
            args,
            engine: &engine,
            ports: &ports,
            place: place.clone(),
            mode: mode.clone(),
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
            isolated: isolation.as_ref().map(|work| work as &dyn IsolatedWork),
            view,
            faults: app.faults.clone(),
        };
        let left = conversation.run(signals).await;
        let state = session.state().await;
        let line = close(session, &log, &place).await;
        let (opened, kept, line) = match left {
            Ok(ConversationEnd::Switch(opened, kept)) => (*opened, kept, line),
            Ok(ConversationEnd::Work(end, mut kept)) => {
                let _left = commands.end().await;
                let model = state.map_or_else(|| first_model.clone(), |state| state.model);
                let ended = (isolation.take(), end);
                let talk = (&log, &model);
                match in_another(ended, sessions, talk, &mut kept, signals).await {
                    Ok((other, opened)) => {
                        place.isolated = Some(other.place().clone());
                        isolation = Some(other);
                        (opened, kept, None)
                    }
                    Err(error) => break (Err(error), line),
                }
            }
            left => break (left, line),
        };
        let OpenedSession { session: next, events: of_next, log: its_log, notes, text, .. } =
            opened;
        let notes = line.into_iter().chain(notes).collect();
        view = ViewOf::Before { kept, text, notes };
        (session, events, log, said) = (next, of_next, its_log, opened.earlier);
    };
    let _left = commands.end().await; // what the commands of the user have started
    let kept = leave(isolation, signals).await;
    let failure = engine.close().await;
    app.user_models.finish_renewals().await;
    line.iter().chain(&kept).for_each(|line| note(globals, line));
    ended(failure, left?)
}

fn ended(failure: Option<Failure>, left: ConversationEnd) -> Result<ExitCode, Error> {
    match (failure, left) {
        (Some(failure), _) | (None, ConversationEnd::EngineFailed(failure)) => {
            Err(Error::engine_failed(&failure))
        }
        (None, ConversationEnd::Interrupted(why)) => Ok(signals::exit_code(why)),
        (None, ConversationEnd::Done | ConversationEnd::Switch(..) | ConversationEnd::Work(..)) => {
            Ok(ExitCode::Success)
        }
    }
}

/// Ends the workspace of a session that is closed, and opens the session in another. The landing, and what
/// is said of it, have the terminal for themselves, as a command of its own. Ctrl-C stops the landing; before
/// and after it, it ends the conversation, as the other signals do.
async fn in_another<'a>(
    (isolation, end): (Option<Isolation<'a>>, WorkEnd),
    sessions: SessionSwitch<'_>,
    (log, model): (&ChosenLog, &ModelRoute),
    kept: &mut KeptView,
    signals: &mut Signals,
) -> Result<(Isolation<'a>, OpenedSession), Error> {
    let isolation = isolation
        .ok_or_else(|| Error::new(ErrorKind::Bug, "the session has no workspace to end"))?;
    kept.lend().map_err(|error| Error::output(&error))?;
    let of = isolation.settle(end, signals).await?;
    let stopped = |why| stopped("stopped before the conversation had another copy", why);
    if let Some(why) = signals.take() {
        return Err(stopped(why));
    }
    let (isolation, notes) = tokio::select! {
        begun = Isolation::begin(of) => begun?,
        why = signals.next() => return Err(stopped(why)),
    };
    let isolated = Some(isolation.place().clone());
    let sessions =
        SessionSwitch { place: SessionPlace { isolated, ..sessions.place.clone() }, ..sessions };
    let opened = tokio::select! {
        opened = sessions.reopen(log.clone(), model) => opened.map_err(|why| not_reopened(&why)),
        why = signals.next() => Err(stopped(why)),
    };
    let resumed = |opened| match kept.resume() {
        Ok(()) => Ok(opened),
        Err(error) => Err(Error::output(&error)),
    };
    match opened.and_then(resumed) {
        Ok(opened) => Ok((isolation, opened.with_notes(notes))),
        Err(error) => {
            isolation.leave().await; // nothing has changed
            Err(error)
        }
    }
}

fn not_reopened(refused: &NotOpened) -> Error {
    let why = match refused {
        NotOpened::Failed(why) => why.clone(),
        NotOpened::InUse(_) | NotOpened::Elsewhere(..) | NotOpened::OfTask(..) => {
            "another process has it open".to_owned()
        }
    };
    Error::new(ErrorKind::Machine, "cannot open the session again").because(why)
}

/// Closes a session, and returns how it can be continued.
async fn close(session: SessionHandle, log: &ChosenLog, place: &SessionPlace) -> Option<String> {
    let id = session.id();
    let has_messages = session.state().await.is_some_and(|state| state.messages > 0);
    session.close().await;
    let is_kept = has_messages && !log.storage.is_in_memory();
    is_kept.then(|| {
        let isolated = if place.isolated.is_some() { "--isolated " } else { "" };
        format!("continue with: regatta {isolated}--resume {}", id.uuid())
    })
}

/// Returns the line at the begin of a conversation: what works where, which context files it has read, and
/// how to get help.
fn intro(args: &LaunchArgs, place: &SessionPlace, state: &SessionState) -> String {
    let (model, folder) = (state.model.name(), place.folder.display());
    let read = context_files(&state.system).map(|read| format!(" · has read {read}"));
    let read = read.unwrap_or_default();
    match (args.has_tools(), &place.isolated) {
        (true, Some(isolated)) => {
            let words = isolated_words(isolated);
            format!("{model}: {words}{read} · /diff · /land · /discard · /help")
        }
        (false, _) => format!("{model} has no tools{read} · /help"),
        (true, None) => format!("{model} uses its tools in {folder}, in place{read} · /help"),
    }
}
