//! Which log a session has, by the command line.

use std::io;
use std::path::{Path, PathBuf};

use regatta::app_context::AppContext;
use regatta::error::{Error, ErrorKind};
use regatta::session::{ChosenLog, LogStorage, Sessions};
use store::{Breadcrumbs, FoundSession};

use super::log_question::{continued_or_copied, of_other_folder};
use crate::args::LaunchArgs;

/// Returns the sessions that work in `folder`, and what this terminal used last.
pub(crate) fn sessions_in<'a>(
    app: &'a AppContext,
    args: &LaunchArgs,
    folder: &Path,
) -> Sessions<'a> {
    let tty = rustix::termios::ttyname(io::stdin(), Vec::new()).ok();
    let tty = tty.map(|name| PathBuf::from(name.to_string_lossy().into_owned()));
    let variable = |name: &str| std::env::var(name).ok();
    let breadcrumbs =
        Breadcrumbs::of_terminal(&app.places.terminal_sessions(), tty.as_deref(), variable);
    Sessions::of(app, args.session_dir.as_deref(), folder, breadcrumbs)
}

/// Returns the log that the arguments ask for. Makes the copy of `--fork`.
///
/// # Errors
/// There is no such session, it is one of another folder, or it cannot be copied.
pub(crate) fn choose(sessions: &Sessions<'_>, args: &LaunchArgs) -> Result<ChosenLog, Error> {
    let failed = |error: &io::Error| {
        Error::new(ErrorKind::Machine, "cannot read the sessions").caused_by(error)
    };
    if let Some(name) = &args.fork {
        let from = match sessions.places().find(name).map_err(|error| failed(&error))? {
            FoundSession::Here(path) if path.exists() => path,
            FoundSession::Elsewhere(info) => info.path,
            FoundSession::Here(path) => sessions.of_task(name).map_or(path, |task| task.log),
            FoundSession::Nothing => sessions.of_task(name).ok_or_else(|| not_found(name))?.log,
        };
        return sessions.fork(&from);
    }
    if let Some(Some(name)) = &args.resume {
        return match sessions.places().find(name).map_err(|error| failed(&error))? {
            FoundSession::Here(path) if path.exists() => continued_or_copied(sessions, path),
            FoundSession::Elsewhere(info) => of_other_folder(sessions, name, &info),
            found => match (sessions.of_task(name), found) {
                (Some(task), _) => Err(task.refused(name)),
                (None, FoundSession::Here(path)) => continued_or_copied(sessions, path),
                (None, _) => Err(not_found(name)),
            },
        };
    }
    if args.continues {
        let found = sessions.most_recent();
        if let Some(path) = found.map_err(|error| failed(&error))? {
            return continued_or_copied(sessions, path);
        }
    }
    let storage = if args.no_session { LogStorage::in_memory() } else { LogStorage::File };
    Ok(sessions.new_log(storage))
}

fn not_found(name: &str) -> Error {
    Error::usage(format!("session `{name}` was not found"))
        .hint("regatta --resume (lists the sessions of this folder)")
}
