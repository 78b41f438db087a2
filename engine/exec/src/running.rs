//! A command that runs: what is owned of it, and what makes sure that it ends.

use std::io;
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::group::Group;
use crate::launcher::Order;
use crate::watcher::Token;

/// How long dropping one may take. A killed process needs a fraction of a millisecond, or its turn
/// on a busy machine; one that hangs in the kernel is left to the launcher.
pub(crate) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// A command that was started. Dropping it kills everything in its group, and waits for that.
#[derive(Debug)]
pub(crate) struct Running {
    leader: Option<Child>,
    group: Group,
    token: Token,
    orders: Sender<Order>,
}

impl Running {
    /// Takes charge of a child that leads `group`.
    pub(crate) fn new(child: Child, group: Group, token: Token, orders: Sender<Order>) -> Self {
        Self { leader: Some(child), group, token, orders }
    }

    /// Returns its group.
    pub(crate) fn group(&self) -> Group {
        self.group
    }

    /// Returns the ends of its output that we read.
    pub(crate) fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        match &mut self.leader {
            Some(leader) => (leader.stdout.take(), leader.stderr.take()),
            None => (None, None),
        }
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
        let order = match self.leader.take() {
            None => {
                self.group.wait(until.saturating_duration_since(Instant::now()));
                Order::Release(self.token)
            }
            Some(leader) => Order::Bury(leader, self.token),
        };
        let _closed = self.orders.send(order);
    }
}
