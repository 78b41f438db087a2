//! A command that runs: what is owned of it, and what makes sure that it ends.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::group::Group;
use crate::watcher::Token;

/// How long dropping one may take. A killed process needs a fraction of a millisecond, or its turn
/// on a busy machine; one that hangs in the kernel is left to the launcher.
pub(crate) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// A command that was started. Dropping it kills everything in its group, and waits for that.
pub(crate) struct Running {
    leader: Option<Child>,
    group: Group,
    token: Token,
    left: Arc<dyn Fn(Leftover) + Send + Sync>,
}

/// What is left of a command when nobody owns it any more.
pub(crate) enum Leftover {
    /// Nothing of this group.
    Nothing(Token),
    /// This one, which was killed and is still to be collected.
    Dying(Child, Token),
}

impl Running {
    /// Takes charge of a child that leads `group`. `left` is told what is left of it in the end.
    pub(crate) fn new(
        child: Child,
        group: Group,
        token: Token,
        left: Arc<dyn Fn(Leftover) + Send + Sync>,
    ) -> Self {
        Self { leader: Some(child), group, token, left }
    }

    /// Returns its group.
    pub(crate) fn group(&self) -> Group {
        self.group
    }

    /// Collects the command, which has ended, and returns how.
    pub(crate) fn collect(&mut self) -> io::Result<ExitStatus> {
        let ended = || io::Error::other("the command was collected already");
        let status = self.leader.as_mut().ok_or_else(ended)?.wait()?;
        self.leader = None;
        Ok(status)
    }

    /// Kills whatever is left of its group.
    pub(crate) fn kill(&self) {
        match &self.leader {
            // Until it is collected, the number of the group is its own.
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
        (self.left)(match self.leader.take() {
            None => {
                self.group.wait(until.saturating_duration_since(Instant::now()));
                Leftover::Nothing(self.token)
            }
            Some(leader) => Leftover::Dying(leader, self.token),
        });
    }
}
