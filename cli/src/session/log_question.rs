//! What a person is asked about the session that is continued: which one, and whether to go on with a
//! copy.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use regatta::session::{ChosenLog, Sessions};
use store::{SessionInfo, is_log_open};

use crate::args::Globals;
use crate::render::{count, one_line};
use regatta::error::{Error, ErrorKind};

/// How long a process that was just ended may hold its session, and how often that is looked at.
const ENDING: Duration = Duration::from_secs(1);
const LOOKS: u32 = 20;

/// Returns whether there is a terminal on which a session is chosen from a list.
pub(crate) fn can_choose() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Lists the sessions of the folder. On a terminal, the user chooses one to continue. Returns `None`
/// if there is none, or none was chosen.
///
/// # Errors
/// The sessions cannot be read, or the terminal cannot be used.
pub(crate) async fn pick(
    sessions_of: &Sessions<'_>,
    globals: &Globals,
) -> Result<Option<ChosenLog>, Error> {
    let sessions = sessions_of.places().survey().map_err(|error| {
        Error::new(ErrorKind::Machine, "cannot read the sessions").caused_by(&error)
    })?;
    let mut out = io::stdout();
    let written = |written: io::Result<()>| written.map_err(|error| Error::output(&error));
    if sessions.is_empty() {
        written(writeln!(out, "No sessions found"))?;
        return Ok(None);
    }
    let is_asked = can_choose();
    #[cfg(not(feature = "tui"))]
    let _colors_of_the_list = globals;
    #[cfg(feature = "tui")]
    if is_asked && let Some(chosen) = in_list(&sessions, globals).await? {
        return match chosen {
            Some(path) => continued_or_copied(sessions_of, path).map(Some),
            None => written(writeln!(out, "No session selected")).map(|()| None),
        };
    }
    if !is_asked {
        written(writeln!(out, "The sessions of this folder, the latest first:"))?;
    }
    for (at, session) in sessions.iter().enumerate() {
        written(writeln!(out, "{:>3}  {}", at + 1, line_of(session)))?;
    }
    if !is_asked {
        let latest = sessions.first().map(|session| one_line(&session.id)).unwrap_or_default();
        written(writeln!(out, "\ntry: regatta --resume {latest} -p PROMPT"))?;
        return Ok(None);
    }
    written(write!(out, "Which one? ").and_then(|()| out.flush()))?;
    let number = answer().parse::<usize>().ok();
    let chosen = number.and_then(|number| sessions.get(number.checked_sub(1)?));
    match chosen {
        Some(session) => continued_or_copied(sessions_of, session.path.clone()).map(Some),
        None => written(writeln!(out, "No session selected")).map(|()| None),
    }
}

/// Returns the log of a session that is continued. If another process has it open, a terminal asks
/// whether to go on with a copy; without one, opening it fails.
pub(super) fn continued_or_copied(
    sessions: &Sessions<'_>,
    path: PathBuf,
) -> Result<ChosenLog, Error> {
    let is_in_use = || is_log_open(&path).unwrap_or(false);
    if !has_person() || !is_in_use() {
        return Sessions::continued(path);
    }
    for _look in 0..LOOKS {
        std::thread::sleep(ENDING / LOOKS);
        if !is_in_use() {
            return Sessions::continued(path);
        }
    }
    match is_confirmed("Another process has the session open. Go on with a copy of it?") {
        true => sessions.fork(&path),
        false => Err(Error::usage("no session was selected")),
    }
}

/// A session of another folder is not continued here; a terminal asks whether to fork it.
pub(super) fn of_other_folder(
    sessions: &Sessions<'_>,
    name: &str,
    session: &SessionInfo,
) -> Result<ChosenLog, Error> {
    let cwd = session.cwd.display().to_string();
    if !has_person() {
        return Err(Error::usage(format!("session `{name}` is in another project ({cwd})"))
            .hint(format!("regatta --fork {name} … (continues a copy here)")));
    }
    let cwd = one_line(&cwd);
    let question =
        format!("Session `{name}` is in another project ({cwd}). Fork into current directory?");
    match is_confirmed(&question) {
        true => sessions.fork(&session.path),
        false => Err(Error::usage("no session was selected")),
    }
}

/// Returns whether a person can be asked.
pub(crate) fn has_person() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question that is answered with yes or no.
pub(crate) fn is_confirmed(question: &str) -> bool {
    let mut stderr = io::stderr();
    let _unread = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    matches!(answer().as_str(), "y" | "Y" | "yes")
}

/// Reads a line of standard input.
fn answer() -> String {
    let mut answer = String::new();
    let _end = io::stdin().lock().read_line(&mut answer);
    answer.trim().to_owned()
}

/// Lets the user choose a session from a list on the terminal; `None` if this terminal cannot have one.
#[cfg(feature = "tui")]
async fn in_list(
    sessions: &[SessionInfo],
    globals: &Globals,
) -> Result<Option<Option<PathBuf>>, Error> {
    use crate::render::{TermCapability, Terminal, View};
    use crate::signals::{self, Signals};
    use crate::view::{SessionChoice, choose_session};

    let terminal = Terminal::here();
    let (Some(size), TermCapability::Able) = (terminal.stdout, terminal.capability) else {
        return Ok(None);
    };
    let palette = View::of(globals.into(), terminal).palette;
    let rows = sessions.iter().map(super::switch::listed).collect();
    let mut signals = Signals::listen()?;
    let chosen = choose_session(rows, (palette, size), &mut signals).await;
    match chosen.map_err(|error| Error::output(&error))? {
        SessionChoice::Chosen(path) => Ok(Some(Some(path))),
        SessionChoice::Nothing => Ok(Some(None)),
        SessionChoice::Interrupted(why) => {
            Err(Error::usage("stopped before anything was started").exit(signals::exit_code(why)))
        }
    }
}

/// Returns the line of a session in a list: the beginning of its id, when it was changed, how many
/// messages it has, and its name or first prompt.
fn line_of(session: &SessionInfo) -> String {
    let id: String = session.id.chars().take(13).collect();
    let title: String = one_line(&title_of(session)).chars().take(60).collect();
    let messages = count(session.messages, "message");
    format!("{}  {:>8}  {messages:>12}  {title}", one_line(&id), age_of(session))
}

/// Returns the name of a session, or else its first prompt.
pub(super) fn title_of(session: &SessionInfo) -> String {
    let title = session.title.as_ref().or(session.first_prompt.as_ref());
    title.map_or_else(|| "(no prompt)".to_owned(), Clone::clone)
}

/// Returns how long ago a session was changed.
pub(super) fn age_of(session: &SessionInfo) -> String {
    let seconds = session.modified.elapsed().unwrap_or_default().as_secs();
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}
