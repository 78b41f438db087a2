//! `regatta [PROMPT…]`: a session. Print mode answers the prompts of the command line and ends.

use std::io::{self, IsTerminal as _, Write as _};

use actors::{Answerer, Engine, OpenSessionError};
use engine::exit_code::Interruption;
use engine::prompt::SystemPrompt;
use protocol::ExitCode;
use serde_json::{Value, json};
use store::is_log_open;

use super::approval_notes;
use super::note::note;
use crate::args::{Form, Globals, LaunchArgs, OutputMode};
use crate::elsewhere::{TypedLine, with_options};
use crate::notifier::Notifier;
use crate::render::{self, Terminal, shell_word, shell_words};
use crate::run_log::Log;
use crate::session::{
    Mentions, PipedRole, SessionPlace, SessionPlan, can_choose, choose, pick, plan_with,
    prompt_parts, read_piped, sessions_in, usable_model,
};
use crate::signals::{self, Signals, exit_now};
use regatta::app_context::AppContext;
use regatta::each::title_of;
use regatta::error::{Error, ErrorKind};
use regatta::session::{
    ChosenLog, IsolatedPlace, PromptInputs, Prompts, WorkingFolder, assemble, context_files,
    working_folder,
};

#[cfg(feature = "tui")]
mod converse;
#[cfg(feature = "tui")]
mod isolated_work;
mod isolation;
mod last_place;
mod print;
mod print_end;
mod print_output;

use isolation::{Isolating, Isolation};
use last_place::note_of_copy;
use print::print;
use print_end::ended;
use print_output::PrintOutput;

/// Runs a session.
///
/// # Errors
/// The session could not be opened, or the last prompt was not answered.
pub(super) async fn run(
    app: &AppContext,
    args: &LaunchArgs,
    globals: &Globals,
    log: &Log,
) -> Result<ExitCode, Error> {
    let Some(Asked { prompts, form, folder, chosen }) = asked(app, args, globals).await? else {
        return Ok(ExitCode::Success);
    };
    let mut signals = Signals::listen()?;
    let about = (&folder, &chosen, &prompts);
    let Prepared { engine, plan, place, isolation } =
        prepare(app, (args, globals), about, &mut signals).await?;
    let first = first_line(args, form, &folder, (&place, &plan.spec.system));
    let first = first.map(|first| format!("note: {first}"));
    let had_copy = (!args.isolated).then(|| note_of_copy(&app.ledger.reader(), &chosen)).flatten();
    let first = first.into_iter().chain(had_copy);
    let approvals = app.settings.approvals(args.approval_mode);
    let refused = match form {
        SessionForm::Print => {
            approval_notes::of_session(args, approvals.mode_in(place.workspace()))
        }
        #[cfg(feature = "tui")]
        SessionForm::Terminal => None,
    };
    for line in
        refused.into_iter().chain(first).chain(prompts.notices.iter().cloned()).chain(plan.notes)
    {
        note(globals, &line);
    }
    let answerer = match form {
        SessionForm::Print => Answerer::None,
        #[cfg(feature = "tui")]
        SessionForm::Terminal => Answerer::Client,
    };
    #[cfg(feature = "tui")]
    let mode = plan.tools.mode.clone();
    let notifier = Notifier::watch(app, &folder.path, engine.listen().await);
    let opened = engine.open_session(plan.spec, plan.tools.answered_by(answerer)).await;
    let (session, events) = match opened {
        Ok(opened) => opened,
        Err(refused) => {
            if let Some(isolation) = isolation {
                isolation.leave().await; // nothing has changed
            }
            engine.close().await;
            return Err(not_opened(&refused, &chosen));
        }
    };
    log.begin(&app.places.session_trace(session.id()));
    match form {
        SessionForm::Print => {}
        #[cfg(feature = "tui")]
        SessionForm::Terminal => {
            let opened = (engine, session, events);
            let options = (args, globals);
            let where_to = (place, isolation, chosen);
            let ended =
                converse::converse(app, options, opened, prompts, where_to, mode, &mut signals)
                    .await;
            notifier.finish().await;
            return ended;
        }
    }
    let mode = output_mode(args, globals);
    if mode == OutputMode::Json {
        let header = json!({
            "type": "session", "version": 3, "id": session.id().uuid(),
            "timestamp": chosen.created.unwrap_or_else(|| app.clock.now()), "cwd": folder.path,
        });
        write_lines(&[header]).map_err(|error| Error::output(&error))?;
    }
    let mut output = PrintOutput::new(app, session.id(), mode, globals);
    let printed = print((&engine, events), &session, prompts, &mut signals, &mut output).await;
    session.close().await;
    let kept = leave(isolation, &mut signals).await;
    let failure = engine.close().await;
    app.user_models.finish_renewals().await;
    let ended = ended(args, globals, mode, (failure, printed));
    output.end(); // last lines, also where they and the answer are on one terminal
    notifier.finish().await;
    kept.iter().for_each(|line| note(globals, line));
    ended
}

/// What a session is opened in, and with.
struct Prepared<'a> {
    engine: Engine,
    plan: SessionPlan,
    place: SessionPlace,
    isolation: Option<Isolation<'a>>,
}

/// Checks the options, finds a model that can be used, opens the engine, and makes the workspace of an
/// isolated session.
///
/// # Errors
/// One of these cannot be had, or a signal came. Nothing of it is left.
async fn prepare<'a>(
    app: &'a AppContext,
    (args, globals): (&'a LaunchArgs, &'a Globals),
    (folder, chosen, prompts): (&WorkingFolder, &ChosenLog, &Prompts),
    signals: &mut Signals,
) -> Result<Prepared<'a>, Error> {
    let stopped = |why| stopped("stopped before anything was started", why);
    let parts = prompt_parts(args)?;
    if args.isolated && is_log_open(&chosen.path).unwrap_or(false) {
        return Err(in_use(Error::new(ErrorKind::Machine, NOT_OPENED), chosen)
            .because("another session has it open"));
    }
    let model = tokio::select! {
        model = usable_model(app, args, chosen) => model?,
        why = signals.next() => return Err(stopped(why)),
    };
    let engine = app.open_engine(app.subagents_at_once()).await?;
    let placed = tokio::select! {
        placed = place(app, (args, globals), &engine, folder, (chosen, prompts)) => placed,
        why = signals.next() => Err(stopped(why)),
    };
    match placed {
        Ok((place, isolation)) => {
            let plan = plan_with(app, args, &place, chosen, (model, parts)).await;
            Ok(Prepared { engine, plan, place, isolation })
        }
        Err(error) => {
            engine.close().await;
            Err(error)
        }
    }
}

/// Returns the error of what a signal has stopped.
fn stopped(what: &str, why: Interruption) -> Error {
    Error::usage(what).exit(signals::exit_code(why))
}

/// Returns the first line of a session: where it works, in place, if it has tools, and which context files
/// it has read. A conversation begins with that itself, except for the reason why it works elsewhere.
fn first_line(
    args: &LaunchArgs,
    form: SessionForm,
    WorkingFolder { path, not_in }: &WorkingFolder,
    (place, system): (&SessionPlace, &SystemPrompt),
) -> Option<String> {
    let not_in = not_in.map(|folder| format!("not in {folder} (--allow-home works there)"));
    let is_told = form == SessionForm::Print && args.has_tools();
    let place = (is_told || not_in.is_some()).then(|| {
        let how = not_in.as_deref().unwrap_or("in place");
        match &place.isolated {
            None => format!("the session works in {}, {how}", path.display()),
            Some(isolated) => isolated_words(isolated),
        }
    });
    let read = context_files(system).filter(|_| form == SessionForm::Print);
    match (place, read) {
        (Some(place), Some(read)) => Some(format!("{place}, and has read {read}")),
        (None, Some(read)) => Some(format!("the session has read {read}")),
        (place, None) => place,
    }
}

/// Returns where an isolated session works, for people.
fn isolated_words(isolated: &IsolatedPlace) -> String {
    let (repo, run) = (isolated.repo.display(), &isolated.run);
    format!("the session works in a copy of {repo} (run {run}); nothing lands by itself")
}

/// Returns where the session works, and its workspace if it is isolated.
async fn place<'a>(
    app: &'a AppContext,
    (args, globals): (&'a LaunchArgs, &'a Globals),
    engine: &Engine,
    folder: &WorkingFolder,
    (log, prompts): (&ChosenLog, &Prompts),
) -> Result<(SessionPlace, Option<Isolation<'a>>), Error> {
    let folder = folder.path.clone();
    if !args.isolated {
        return Ok((SessionPlace { folder, isolated: None }, None));
    }
    let first = log.name.as_deref().or(prompts.texts.first().map(String::as_str));
    let title = title_of(first.unwrap_or("isolated session"));
    let (engine, log) = (engine.clone(), log.path.clone());
    let of = Isolating { app, args, globals, engine, folder: folder.clone(), log, title };
    let (isolation, notes) = Isolation::begin(of).await?;
    notes.iter().for_each(|line| note(globals, line));
    let isolated = Some(isolation.place().clone());
    Ok((SessionPlace { folder, isolated }, Some(isolation)))
}

/// Captures the work of an isolated session that is closed, and returns lines that say where it is kept.
/// After another signal, the next start captures it.
async fn leave(isolation: Option<Isolation<'_>>, signals: &mut Signals) -> Vec<String> {
    let Some(isolation) = isolation else { return Vec::new() };
    tokio::select! {
        kept = isolation.leave() => kept,
        why = signals.next() => exit_now(why),
    }
}

/// What a command line asks of a session.
struct Asked {
    prompts: Prompts,
    form: SessionForm,
    /// The folder in which the session works.
    folder: WorkingFolder,
    chosen: ChosenLog,
}

/// Reads what the session is asked, and chooses its log. Returns `None` if the sessions were only
/// listed.
async fn asked(
    app: &AppContext,
    args: &LaunchArgs,
    globals: &Globals,
) -> Result<Option<Asked>, Error> {
    let here = globals.repo().cloned().unwrap_or_else(|| ".".into());
    let (home, temporary) = (app.places.home(), std::env::temp_dir());
    let folder = working_folder(&here, home, &temporary, args.home_work())?;
    let sessions = sessions_in(app, args, &folder.path);
    if args.resume == Some(None) && !can_choose() && !args.prompts.is_empty() {
        return Err(Error::usage("`--resume` needs the id of a session here")
            .because("without a terminal none can be chosen from a list")
            .hint("regatta --resume ID -p PROMPT")
            .hint("regatta --continue -p PROMPT (the latest session)")
            .hint("regatta --resume (lists the sessions)"));
    }
    let picked = match args.resume {
        Some(None) => match pick(&sessions, globals).await? {
            None => return Ok(None),
            picked => picked,
        },
        Some(Some(_)) | None => None,
    };
    let role = if args.prompts.is_empty() { PipedRole::Prompt } else { PipedRole::Context };
    let piped = read_piped(role, &mut |line| note(globals, line))?;
    let (words, piped_text, images) = (&args.prompts, piped.as_deref(), app.image_sizes());
    let from = &here.canonicalize().unwrap_or_else(|_gone| folder.path.clone());
    let inputs = PromptInputs { words, piped: piped_text, folder: from, home, images };
    let mut prompts = assemble(inputs)?;
    Mentions::add_to(&mut prompts, from, home, images);
    let form = form_of(args, globals, piped.as_deref())?;
    if prompts.texts.is_empty() && form == SessionForm::Print {
        return Err(Error::usage("there is no prompt").hint("regatta -p 'explain this folder'"));
    }
    let chosen = picked.map_or_else(|| choose(&sessions, args), Ok)?;
    sessions.remember(&chosen);
    Ok(Some(Asked { prompts, form, folder, chosen }))
}

/// Whether a session prints an answer, or is a conversation on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionForm {
    Print,
    #[cfg(feature = "tui")]
    Terminal,
}

/// Returns the form of a session.
///
/// # Errors
/// It would be a conversation, and this terminal or this program cannot have one.
fn form_of(
    args: &LaunchArgs,
    globals: &Globals,
    piped: Option<&str>,
) -> Result<SessionForm, Error> {
    let is_json_on_terminal = globals.form() == Form::Json && io::stdin().is_terminal();
    if args.is_print() || is_json_on_terminal || piped.is_some() {
        return Ok(SessionForm::Print);
    }
    let json = if globals.form() == Form::Json { " --json" } else { "" };
    let refused = |why: &str| {
        let prompts: Vec<_> = args.prompts.iter().filter_map(|prompt| prompt.to_str()).collect();
        let is_one_word = |prompt: &&str| !prompt.contains(char::is_whitespace);
        let prompts = match prompts.as_slice() {
            [] => "PROMPT".to_owned(),
            // Several words would be refused, as prompts of one word each.
            words if words.iter().all(is_one_word) => shell_word(&words.join(" ")),
            prompts => shell_words(prompts),
        };
        let line: Vec<_> = std::env::args_os().collect();
        let hint = format!("regatta -p{json} {prompts} (answers and ends)");
        Err(Error::usage(format!("cannot begin a conversation: {why}"))
            .hint(with_options(&hint, TypedLine::of("launch", &line).options())))
    };
    if !io::stdin().is_terminal() {
        return refused("standard input is not a terminal");
    }
    let terminal = Terminal::here();
    match terminal.stdout {
        None => refused("standard output is not a terminal"),
        #[cfg(feature = "tui")]
        Some(_) => Ok(SessionForm::Terminal),
        #[cfg(not(feature = "tui"))]
        Some(_) => refused("this build has no view (the feature `tui`)"),
    }
}

/// Returns the form of the output: `--json` stands for `--mode json`.
fn output_mode(args: &LaunchArgs, globals: &Globals) -> OutputMode {
    args.mode.unwrap_or(match globals.form() {
        Form::Json => OutputMode::Json,
        Form::Text => OutputMode::Text,
    })
}

/// Writes JSON documents to standard output, one in a line.
fn write_lines(lines: &[Value]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{}", render::printable_json(line.to_string()))?;
    }
    out.flush()
}

const NOT_OPENED: &str = "cannot open the session";

/// Returns why a session was not opened. One that is open elsewhere can be forked.
fn not_opened(refused: &OpenSessionError, log: &ChosenLog) -> Error {
    let error = Error::new(ErrorKind::Machine, NOT_OPENED).because(refused.to_string());
    match refused.to_string().contains("has it open") {
        true => in_use(error, log),
        false => error,
    }
}

/// Adds what can be done about a session that is open elsewhere.
fn in_use(error: Error, log: &ChosenLog) -> Error {
    let file = render::shell_word(&log.path.to_string_lossy());
    error.hint(format!("regatta --fork {file} … (continues a copy)"))
}
