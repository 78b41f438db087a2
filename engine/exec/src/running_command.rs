//! A command as its reaper sees it: its process group, from the start until no process of it runs.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};

use crate::descendants::is_group_dead;
use crate::start_message::AfterExit;
use crate::wire::{self, CommandRequest, Group, Reply};

/// How long to wait for a group before checking whether it has only zombies left. The check reads
/// every process of the machine in `/proc`.
const BEFORE_PROC_SCAN: Duration = Duration::from_millis(8);

/// A command whose group may still run.
pub(crate) struct RunningCommand {
    leader: Pid,
    socket: OwnedFd,
    after_exit: AfterExit,
    state: State,
}

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The leader runs, or has not been reaped.
    Running,
    /// The leader was reaped at this moment, and others of its group ran.
    Exited(Instant),
    /// No process of the group runs.
    Gone,
    /// The engine has closed its socket while the leader ran. The group was killed.
    Abandoned,
}

impl RunningCommand {
    /// Returns a command that was just started.
    pub(crate) fn new(leader: Pid, socket: OwnedFd, after_exit: AfterExit) -> Self {
        Self { leader, socket, after_exit, state: State::Running }
    }

    /// Returns the leader of the group.
    pub(crate) fn leader(&self) -> Pid {
        self.leader
    }

    /// Returns the socket to the engine.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns whether the engine may still say something about the command.
    pub(crate) fn is_heard(&self) -> bool {
        self.state != State::Abandoned
    }

    /// Sends the group a signal if any process of it is left.
    fn signal(&self, signal: Signal) {
        let is_there = match self.state {
            State::Running | State::Abandoned => true,
            State::Exited(_) => !self.is_empty(),
            State::Gone => false,
        };
        if is_there {
            let _gone = kill_process_group(self.leader, signal);
        }
    }

    fn is_empty(&self) -> bool {
        test_kill_process_group(self.leader) == Err(Errno::SRCH)
    }

    /// Does what the engine wants.
    pub(crate) fn handle(&mut self, request: CommandRequest) {
        match request {
            CommandRequest::Kill => {
                self.after_exit = AfterExit::KillGroup;
                self.signal(Signal::KILL);
            }
            CommandRequest::Stop => {
                self.after_exit = AfterExit::KeepGroup;
                self.signal(Signal::TERM);
                // A process that SIGSTOP suspended handles SIGTERM only after SIGCONT.
                self.signal(Signal::CONT);
            }
            CommandRequest::Interrupt => self.signal(Signal::INT),
            CommandRequest::Terminate => self.signal(Signal::TERM),
        }
    }

    /// Kills the group, of which the engine wants to know nothing more.
    pub(crate) fn abandon(&mut self) {
        self.after_exit = AfterExit::KillGroup;
        self.signal(Signal::KILL);
        self.state = match self.state {
            State::Running | State::Abandoned => State::Abandoned,
            State::Exited(_) | State::Gone => State::Gone,
        };
    }

    /// Kills the rest of the group if the leader has exited and was not reaped.
    pub(crate) fn kill_rest_if_exited(&self) {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if self.state == State::Running
            && self.after_exit == AfterExit::KillGroup
            && matches!(waitid(WaitId::Pid(self.leader), look), Ok(Some(_)))
        {
            let _gone = kill_process_group(self.leader, Signal::KILL);
        }
    }

    /// The leader was reaped. Tells the engine its status, and whether the group is gone.
    pub(crate) fn reaped(&mut self, status: i32) {
        if self.state == State::Abandoned {
            self.state = State::Gone;
            return;
        }
        let is_gone = self.is_empty();
        self.state = if is_gone { State::Gone } else { State::Exited(Instant::now()) };
        let group = if is_gone { Group::Gone } else { Group::Runs };
        self.report(Reply::Exited(status, group));
    }

    /// Returns whether the command must be kept; tells the engine when its group is gone.
    pub(crate) fn is_under_way(&mut self, now: Instant) -> bool {
        if let State::Exited(since) = self.state {
            let is_late = now.duration_since(since) >= BEFORE_PROC_SCAN;
            if self.is_empty() || (is_late && is_group_dead(self.leader)) {
                self.state = State::Gone;
                self.report(Reply::Gone);
            }
        }
        self.state != State::Gone
    }

    /// Returns how long to wait before looking at the group again. Its last process may be the child
    /// of another.
    pub(crate) fn pause(&self, now: Instant) -> Option<Duration> {
        let State::Exited(since) = self.state else { return None };
        let passed = now.duration_since(since);
        Some(passed.clamp(Duration::from_millis(1), Duration::from_millis(50)))
    }

    fn report(&self, reply: Reply) {
        // The socket has room for all replies about one command. The engine may be gone.
        let _gone = wire::send(&self.socket, &[&reply.encode()], &[]);
    }
}
