//! Runs the user's merge tool on the terminal: in the foreground, so that it gets what is typed, and
//! with the terminal as it was when the tool has ended.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use engine::ports::EndCause;
use protocol::ExitCode;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use regatta::error::{Error, ErrorKind};

/// What makes the shell go on where the tool does: whether Ctrl-C ends the tool is for the tool to say,
/// which gets the signal as if nothing had been set.
const SHELL_GOES_ON: &str = "trap : INT QUIT";

/// How long a tool that has to end gets before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// Returns whether there is a terminal on which a tool can be used.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// How a tool ended.
pub(super) enum ToolEnd {
    With(EndCause),
    TimedOut,
    /// Regatta was asked to end.
    Stopped(ExitCode),
}

/// Runs a script on the terminal. It is in the same process group, as the jobs of a shell are: Ctrl-C
/// is for the tool alone, and Ctrl-Z stops both.
///
/// # Errors
/// The script cannot be started.
pub(super) async fn run(
    script: &str,
    folder: &Path,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    timeout: Duration,
) -> Result<ToolEnd, Error> {
    let machine = |error: io::Error| {
        Error::new(ErrorKind::Machine, "cannot run the merge tool").caused_by(&error)
    };
    // What the keyboard sends is for the tool. While a handler is installed, it does not end this process.
    let mut ignored = Vec::new();
    for kind in [SignalKind::interrupt(), SignalKind::quit()] {
        ignored.push(signal(kind).map_err(machine)?);
    }
    let mut terminate = signal(SignalKind::terminate()).map_err(machine)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(machine)?;
    let _restored = TerminalState::keep();
    // Results may go elsewhere: what the tool shows is on the terminal.
    let screen = io::stderr().as_fd().try_clone_to_owned().map_err(machine)?;
    let mut child = Command::new("/bin/sh")
        .args(["-c", &format!("{SHELL_GOES_ON}\n{script}")])
        .current_dir(folder)
        .env_clear()
        .envs(environment)
        .stdout(Stdio::from(screen))
        .spawn()
        .map_err(machine)?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut waiting = tokio::task::spawn_blocking(move || child.wait());
    let end = tokio::select! {
        ended = &mut waiting => return Ok(ToolEnd::With(cause(ended, machine)?)),
        () = tokio::time::sleep(timeout) => ToolEnd::TimedOut,
        _ = terminate.recv() => ToolEnd::Stopped(ExitCode::Terminated),
        _ = hangup.recv() => ToolEnd::Stopped(ExitCode::Terminated),
    };
    for signal in [Signal::TERM, Signal::KILL] {
        for process in id.into_iter().flat_map(with_descendants) {
            let _gone = kill_process(process, signal); // it may have ended
        }
        if tokio::time::timeout(GRACE, &mut waiting).await.is_ok() {
            break;
        }
    }
    Ok(end)
}

fn cause(
    ended: Result<io::Result<ExitStatus>, tokio::task::JoinError>,
    machine: impl Fn(io::Error) -> Error,
) -> Result<EndCause, Error> {
    let status = ended.map_err(|error| machine(io::Error::other(error)))?.map_err(machine)?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => EndCause::Exited(code),
        (None, signal) => EndCause::Signalled(signal.unwrap_or_default()),
    })
}

/// Returns a process and all that it has started, as far as they are its descendants still.
fn with_descendants(process: Pid) -> Vec<Pid> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        let id = process.as_raw_nonzero();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        let ids = children.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?));
        for child in ids {
            if !found.contains(&child) {
                found.push(child);
            }
        }
        next += 1;
    }
    found
}

/// The state of the terminal, which it gets back when this is dropped.
struct TerminalState(Option<Termios>);

impl TerminalState {
    fn keep() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }
}

impl Drop for TerminalState {
    fn drop(&mut self) {
        if let Some(state) = &self.0 {
            // A terminal that is gone has no state.
            let _gone = tcsetattr(io::stdin(), OptionalActions::Drain, state);
        }
    }
}
