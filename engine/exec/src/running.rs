//! A running command: waits for its exit, stops it when asked, and kills its process group when it is
//! dropped.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::ports::{CancelToken, EndCause};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{self, sleep_until};

use crate::process_group::ProcessGroup;
use crate::watcher::Token;

/// The longest time dropping a command may take. A killed process ends within milliseconds; one that
/// hangs in the kernel is handed to the launcher.
pub(crate) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// A started command. Dropping it kills its process group, and waits until that has ended.
pub(crate) struct Running {
    leader: Option<Child>,
    group: ProcessGroup,
    token: Token,
    on_release: Arc<dyn Fn(Leftover) + Send + Sync>,
}

/// What is left of a command when its owner has dropped it.
pub(crate) enum Leftover {
    /// No process.
    Nothing(Token),
    /// The killed process, which has not been reaped yet.
    Dying(Child, Token),
}

impl Running {
    /// Takes ownership of a child that leads `group`. `on_release` is called when it is dropped.
    pub(crate) fn new(
        child: Child,
        group: ProcessGroup,
        token: Token,
        on_release: Arc<dyn Fn(Leftover) + Send + Sync>,
    ) -> Self {
        Self { leader: Some(child), group, token, on_release }
    }

    /// Returns the process group.
    pub(crate) fn group(&self) -> ProcessGroup {
        self.group
    }

    /// Reaps the command, which has exited, and returns its status.
    pub(crate) fn reap(&mut self) -> io::Result<ExitStatus> {
        let reaped = || io::Error::other("the command was reaped already");
        let status = self.leader.as_mut().ok_or_else(reaped)?.wait()?;
        self.leader = None;
        Ok(status)
    }

    /// Kills all processes of the group.
    pub(crate) fn kill(&self) {
        match &self.leader {
            // The id of the group is not reused before the leader is reaped.
            Some(_) => self.group.signal(Signal::KILL),
            None => self.group.kill_if_there(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let until = Instant::now() + DROP_LIMIT;
        while let Some(leader) = &mut self.leader {
            let alive = matches!(leader.try_wait(), Ok(None));
            if !alive {
                self.leader = None;
            } else if Instant::now() >= until {
                break;
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        (self.on_release)(match self.leader.take() {
            None => {
                self.group.wait(until.saturating_duration_since(Instant::now()));
                Leftover::Nothing(self.token)
            }
            Some(leader) => Leftover::Dying(leader, self.token),
        });
    }
}

/// How long to wait for a killed group to end.
const KILLED_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether a command was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopRequest {
    /// The command was not asked to stop.
    None,
    /// The command got SIGTERM, and will be killed at this time.
    Graceful(time::Instant),
    /// The command was killed.
    Kill,
}

/// Waits until the command exits, or stops it when asked, and then ends its whole group.
pub(crate) async fn wait_or_stop(
    running: &mut Running,
    exit: &Exit,
    stop: &CancelToken,
    grace: Duration,
) -> io::Result<EndCause> {
    let request = until_exit(running, exit, stop, grace).await;
    let status = if let StopRequest::Graceful(until) = request {
        // A shell may exit before its children. The grace period applies to the whole group.
        let status = running.reap()?;
        let left = until.saturating_duration_since(time::Instant::now());
        tokio::select! {
            biased;
            () = stop.cancelled_at_once() => {}
            _gone = running.group().gone(left) => {}
        }
        running.kill();
        status
    } else {
        running.kill();
        running.reap()?
    };
    if !running.group().gone(KILLED_TIMEOUT).await {
        let group = running.group().leader().as_raw_nonzero().get();
        tracing::warn!(group, "a killed process group is still there");
    }
    Ok(cause(request, status))
}

async fn until_exit(
    running: &Running,
    exit: &Exit,
    stop: &CancelToken,
    grace: Duration,
) -> StopRequest {
    let mut request = StopRequest::None;
    loop {
        let grace_end = match request {
            StopRequest::Graceful(until) => Some(until),
            StopRequest::None | StopRequest::Kill => None,
        };
        tokio::select! {
            biased;
            () = exit.wait() => return request,
            () = stop.cancelled_at_once(), if request != StopRequest::Kill => {
                running.kill();
                request = StopRequest::Kill;
            }
            () = stop.cancelled(), if request == StopRequest::None => {
                running.group().signal(Signal::TERM);
                // A process that SIGSTOP suspended handles SIGTERM only after SIGCONT.
                running.group().signal(Signal::CONT);
                request = StopRequest::Graceful(time::Instant::now() + grace);
            }
            () = sleep_until(grace_end.unwrap_or_else(time::Instant::now)), if grace_end.is_some() => {
                running.kill();
                request = StopRequest::Kill;
            }
        }
    }
}

fn cause(request: StopRequest, status: ExitStatus) -> EndCause {
    match (request, status.code(), status.signal()) {
        (StopRequest::Graceful(_) | StopRequest::Kill, _, _) => EndCause::Stopped,
        (StopRequest::None, Some(code), _) => EndCause::Exited(code),
        (StopRequest::None, None, signal) => EndCause::Signalled(signal.unwrap_or_default()),
    }
}

/// How often the exit is polled where the kernel has no process descriptors.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits for the exit of a child without reaping it, so that its process id is not reused.
#[derive(Debug)]
pub(crate) enum Exit {
    /// By a process descriptor.
    Pidfd(AsyncFd<OwnedFd>),
    /// By polling, where process descriptors are not available or not permitted.
    Polled(Pid),
}

impl Exit {
    /// Begins to wait for the exit of `child`, which has not been reaped.
    pub(crate) fn watch(child: Pid) -> io::Result<Self> {
        match pidfd_open(child, PidfdFlags::NONBLOCK) {
            Ok(descriptor) => listen(descriptor).map(Self::Pidfd),
            Err(Errno::NOSYS | Errno::INVAL | Errno::PERM | Errno::ACCESS) => {
                Ok(Self::Polled(child))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has exited. The caller has to reap it afterwards.
    pub(crate) async fn wait(&self) {
        if let Self::Pidfd(descriptor) = self
            && descriptor.readable().await.is_ok()
        {
            return;
        }
        while !self.has_ended() {
            time::sleep(POLL_INTERVAL).await;
        }
    }

    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let found = match self {
            Self::Pidfd(descriptor) => waitid(WaitId::PidFd(descriptor.get_ref().as_fd()), look),
            Self::Polled(child) => waitid(WaitId::Pid(*child), look),
        };
        // An error means that the child has been reaped.
        !matches!(found, Ok(None) | Err(Errno::INTR))
    }
}

#[expect(unsafe_code, reason = "tokio has no safe way to listen to a descriptor of any kind")]
fn listen(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned, so it stays open until the listener is dropped.
    let listener = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    Ok(listener?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_command_that_was_asked_to_stop_was_stopped_however_it_ended() {
        let (ended, killed) = (ExitStatus::from_raw(0), ExitStatus::from_raw(9));
        let graceful = StopRequest::Graceful(time::Instant::now());
        for status in [ended, killed] {
            assert_eq!(cause(graceful, status), EndCause::Stopped);
            assert_eq!(cause(StopRequest::Kill, status), EndCause::Stopped);
        }
        assert_eq!(cause(StopRequest::None, ended), EndCause::Exited(0));
        assert_eq!(cause(StopRequest::None, killed), EndCause::Signalled(9));
    }

    fn child(script: &str) -> (std::process::Child, Pid) {
        let mut shell = Command::new("sh");
        let child = shell.args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let process = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        (child, process)
    }

    #[test]
    async fn the_end_of_a_child_is_learned_and_the_child_left_to_be_collected() {
        let (mut child, process) = child("exit 3");
        Exit::watch(process).unwrap().wait().await;
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }

    #[test]
    async fn a_kernel_that_cannot_tell_is_asked() {
        let (mut child, process) = child("read word; exit 4");
        let exit = Exit::Polled(process);
        assert!(!exit.has_ended());
        let mut input = child.stdin.take().unwrap();
        // It ends when it has been asked for in vain.
        let end = async { input.write_all(b"end\n").unwrap() };
        let wait = async {
            exit.wait().await;
            exit.has_ended()
        };
        assert!(tokio::join!(wait, end).0);
        assert_eq!(child.wait().unwrap().code(), Some(4));
        assert!(exit.has_ended(), "a child that was collected has ended");
    }
}
