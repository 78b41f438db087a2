//! A running command: waits for its exit, stops it when asked, and kills its process group when it is
//! dropped.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use engine::ports::{CancelToken, CommandError, EndCause};
use tokio::time::{self, sleep_until, timeout};

use crate::command_error::command_error;
use crate::socket::Socket;
use crate::wire::{CommandRequest, Group, Reply, StartStep};

/// How long a reaper may take to start a command. It takes long if the program lies on a slow disk.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The longest time dropping a command may take. A killed process ends within milliseconds; one that
/// hangs in the kernel is left to its reaper.
const DROP_LIMIT: Duration = Duration::from_secs(1);

/// How long a killed command may take until its reaper says that it has exited. The reaper needs
/// milliseconds, unless it is suspended.
const EXIT_LIMIT: Duration = Duration::from_secs(5);

/// How long to wait for a killed group to end.
const KILLED_TIMEOUT: Duration = Duration::from_secs(2);

/// A command that was started, or is about to be. Dropping it kills its process group, and waits until
/// that has ended.
#[derive(Debug)]
pub(crate) struct Running {
    socket: Socket,
    /// The leader of the group; 0 until the command has started.
    leader: u32,
    /// How the leader has exited.
    status: Option<ExitStatus>,
    group: Group,
}

impl Running {
    /// Returns a command about which the reaper at the other end of `socket` will report.
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, leader: 0, status: None, group: Group::Runs }
    }

    /// Waits until the command has started; `what` names the operation in the error.
    pub(crate) async fn started(&mut self, what: &str) -> Result<(), CommandError> {
        match timeout(START_LIMIT, self.socket.receive()).await {
            Ok(Ok(Some(Reply::Started(leader)))) => {
                self.leader = leader.unsigned_abs();
                Ok(())
            }
            Ok(Ok(Some(Reply::Failed(step, error)))) => {
                self.group = Group::Gone;
                Err(command_error(format!("{what}{}", at(step)), error.into()))
            }
            _dead_or_suspended => {
                Err(CommandError::Launcher { what: what.to_owned(), source: launcher_died() })
            }
        }
    }

    /// Returns the leader of the group, which may have exited.
    pub(crate) fn leader(&self) -> u32 {
        self.leader
    }

    /// Asks the reaper for something, if any process of the group is left.
    pub(crate) fn ask(&self, request: CommandRequest) {
        if self.group == Group::Runs {
            self.socket.try_send(&request.encode());
        }
    }

    /// Waits until the command has exited. It is cancel safe.
    pub(crate) async fn exited(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            let reply = self.socket.receive().await;
            self.note(reply?)?;
        }
    }

    /// Waits until no process of the group runs. It is cancel safe.
    async fn gone(&mut self) -> io::Result<()> {
        while self.group == Group::Runs {
            let reply = self.socket.receive().await;
            self.note(reply?)?;
        }
        Ok(())
    }

    fn note(&mut self, reply: Option<Reply>) -> io::Result<()> {
        match reply {
            Some(Reply::Exited(status, group)) => {
                (self.status, self.group) = (Some(ExitStatus::from_raw(status)), group);
            }
            Some(Reply::Gone | Reply::Failed(..)) => self.group = Group::Gone,
            Some(Reply::Started(_)) => {}
            Some(Reply::Ready(_) | Reply::Ended(_)) => {
                return Err(io::ErrorKind::InvalidData.into());
            }
            None => {
                self.group = Group::Gone;
                return Err(launcher_died());
            }
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ask(CommandRequest::Kill);
        let until = Instant::now() + DROP_LIMIT;
        while self.group == Group::Runs {
            let Some(reply) = self.socket.receive_blocking(until) else { return };
            let _ended = self.note(Some(reply));
        }
    }
}

/// Returns the error of a command whose reaper has closed its socket.
fn launcher_died() -> io::Error {
    io::Error::other(
        "the launcher or the reaper of the command has died, and the command was killed; something \
         outside of Regatta has ended it",
    )
}

/// Returns what the message about a failed start says about the step.
fn at(step: StartStep) -> &'static str {
    match step {
        StartStep::Request | StartStep::Fork | StartStep::Program => "",
        StartStep::Session => " in a session of its own",
        StartStep::Folder => ": cannot enter its folder",
        StartStep::Streams => ": cannot set its standard streams",
        StartStep::Terminal => ": cannot give it its terminal",
        StartStep::Namespaces => ": cannot enter the namespaces",
        StartStep::Limits => ": cannot set its limits",
    }
}

/// Returns the error of a killed command whose reaper does not say that it has exited.
fn no_answer() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!(
            "the reaper of the command does not answer, {} s after it was asked to kill it; \
             something outside of Regatta has suspended it",
            EXIT_LIMIT.as_secs()
        ),
    )
}

/// Waits until a command that has not started yet is not to be waited for any more: at once if it
/// was cancelled so, else after the grace period.
pub(crate) async fn until_given_up(stop: &CancelToken, grace: Duration) {
    let gently = async {
        stop.cancelled().await;
        time::sleep(grace).await;
    };
    tokio::select! {
        () = stop.cancelled_at_once() => {}
        () = gently => {}
    }
}

/// Whether a command was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopRequest {
    /// The command was not asked to stop.
    None,
    /// The command got SIGTERM, and will be killed at this time.
    Graceful(time::Instant),
    /// The command was killed, and its exit is waited for until this time.
    Kill(time::Instant),
}

impl StopRequest {
    fn kill(running: &Running) -> Self {
        running.ask(CommandRequest::Kill);
        Self::Kill(time::Instant::now() + EXIT_LIMIT)
    }

    /// Returns when something else must be done if the command has not exited.
    fn until(self) -> Option<time::Instant> {
        match self {
            Self::None => None,
            Self::Graceful(until) | Self::Kill(until) => Some(until),
        }
    }
}

/// Waits until the command exits, or stops it when asked, and then ends its whole group.
pub(crate) async fn wait_or_stop(
    running: &mut Running,
    stop: &CancelToken,
    grace: Duration,
) -> io::Result<EndCause> {
    let (request, status) = until_exit(running, stop, grace).await?;
    if let StopRequest::Graceful(until) = request {
        // A shell may exit before its children. The grace period applies to the whole group.
        tokio::select! {
            biased;
            () = stop.cancelled_at_once() => {}
            gone = running.gone() => gone?,
            () = sleep_until(until) => {}
        }
    }
    running.ask(CommandRequest::Kill);
    if timeout(KILLED_TIMEOUT, running.gone()).await.is_err() {
        tracing::warn!(group = running.leader, "a killed process group is still there");
    }
    Ok(cause(request, status))
}

async fn until_exit(
    running: &mut Running,
    stop: &CancelToken,
    grace: Duration,
) -> io::Result<(StopRequest, ExitStatus)> {
    let mut request = StopRequest::None;
    loop {
        let until = request.until();
        tokio::select! {
            biased;
            status = running.exited() => return Ok((request, status?)),
            () = stop.cancelled_at_once(), if !matches!(request, StopRequest::Kill(_)) => {
                request = StopRequest::kill(running);
            }
            () = stop.cancelled(), if request == StopRequest::None => {
                running.ask(CommandRequest::Stop);
                request = StopRequest::Graceful(time::Instant::now() + grace);
            }
            () = sleep_until(until.unwrap_or_else(time::Instant::now)), if until.is_some() => {
                if matches!(request, StopRequest::Kill(_)) {
                    return Err(no_answer());
                }
                request = StopRequest::kill(running);
            }
        }
    }
}

fn cause(request: StopRequest, status: ExitStatus) -> EndCause {
    match (request, status.code(), status.signal()) {
        (StopRequest::Graceful(_) | StopRequest::Kill(_), _, _) => EndCause::Stopped,
        (StopRequest::None, Some(code), _) => EndCause::Exited(code),
        (StopRequest::None, None, signal) => EndCause::Signalled(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_was_asked_to_stop_was_stopped_however_it_ended() {
        let (ended, killed) = (ExitStatus::from_raw(0), ExitStatus::from_raw(9));
        let now = time::Instant::now();
        let (graceful, kill) = (StopRequest::Graceful(now), StopRequest::Kill(now));
        for status in [ended, killed] {
            assert_eq!(cause(graceful, status), EndCause::Stopped);
            assert_eq!(cause(kill, status), EndCause::Stopped);
        }
        assert_eq!(cause(StopRequest::None, ended), EndCause::Exited(0));
        assert_eq!(cause(StopRequest::None, killed), EndCause::Signalled(9));
    }
}
