//! Learns that a process has ended without collecting it, so that its number stays its own.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How often a kernel that cannot tell is asked.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// How the end of a child of ours is learned.
#[derive(Debug)]
pub(crate) enum Exit {
    /// The kernel tells.
    Told(AsyncFd<OwnedFd>),
    /// The kernel, or what guards it, does not know process descriptors: it is asked.
    Asked(Pid),
}

impl Exit {
    /// Begins to listen for the end of `child`, which is not collected yet.
    pub(crate) fn of(child: Pid) -> io::Result<Self> {
        match pidfd_open(child, PidfdFlags::NONBLOCK) {
            Ok(descriptor) => listen(descriptor).map(Self::Told),
            Err(Errno::NOSYS | Errno::INVAL | Errno::PERM | Errno::ACCESS) => {
                Ok(Self::Asked(child))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has ended. It is still to be collected then.
    pub(crate) async fn wait(&self) {
        if let Self::Told(descriptor) = self
            && descriptor.readable().await.is_ok()
        {
            return;
        }
        while !self.has_ended() {
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let found = match self {
            Self::Told(descriptor) => waitid(WaitId::PidFd(descriptor.get_ref().as_fd()), look),
            Self::Asked(child) => waitid(WaitId::Pid(*child), look),
        };
        // An error means that there is no such child any more.
        !matches!(found, Ok(None) | Err(Errno::INTR))
    }
}

#[expect(unsafe_code, reason = "tokio has no safe way to listen to a descriptor of any kind")]
fn listen(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned, so it stays open and the same until what listens to it is
    // dropped.
    let listener = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    Ok(listener?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn child(script: &str) -> (std::process::Child, Pid) {
        let mut shell = Command::new("sh");
        let child = shell.args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let process = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        (child, process)
    }

    #[test]
    async fn the_end_of_a_child_is_learned_and_the_child_left_to_be_collected() {
        let (mut child, process) = child("exit 3");
        Exit::of(process).unwrap().wait().await;
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }

    #[test]
    async fn a_kernel_that_cannot_tell_is_asked() {
        let (mut child, process) = child("read word; exit 4");
        let exit = Exit::Asked(process);
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
