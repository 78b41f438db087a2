//! The engine's side of the launcher: starts it with the first command and again when it has died,
//! and hands out reapers.

use std::io;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::ports::CommandError;
use engine::restarts::{CrashLog, Decision, RestartBudget};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::command_error::{command_error, is_shortage};
use crate::socket::Socket;
use crate::wire::{self, FORK, Reply};

/// How often the launcher is started again before no command can be started any more.
const BUDGET: RestartBudget = RestartBudget { restarts: 5, window: Duration::from_secs(60) };

/// How long the launcher may take to answer, which it does within a millisecond. One that takes longer
/// is killed, and with it every command.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// How many reapers without an owner are kept. More are forked when they are needed.
const IDLE: usize = 64;

/// The longest time that closing waits for the launcher, which waits for its reapers.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// The handle of the launcher. Dropping it ends the launcher.
#[derive(Debug)]
pub(crate) struct Launcher(Mutex<State>);

#[derive(Debug)]
struct State {
    command: Command,
    process: Option<Process>,
    /// The number of processes that were started.
    started: u64,
    idle: Vec<Reaper>,
    crashes: CrashLog,
    given_up: Option<String>,
}

/// A running launcher.
#[derive(Debug)]
struct Process {
    number: u64,
    child: Child,
    socket: Arc<Socket>,
}

/// A reaper that serves an owner, or none. Dropping it has the reaper kill everything and end.
#[derive(Debug)]
pub(crate) struct Reaper {
    /// The socket over which the owner's requests go.
    pub(crate) socket: Socket,
    process: i32,
    /// The number of the launcher that has forked it.
    launcher: u64,
}

impl Reaper {
    /// Kills a reaper that does not answer. What it has started comes to the launcher, and is killed
    /// there.
    fn kill(&self) {
        // It is not reaped while its end of the socket is open, so that its number is its own.
        if !self.socket.is_dead()
            && let Some(process) = Pid::from_raw(self.process).filter(|_| self.process > 1)
        {
            let _gone = kill_process(process, Signal::KILL);
        }
    }
}

/// Why there is no reaper.
enum NoReaper {
    /// The launcher cannot fork one: a resource is exhausted.
    Exhausted(io::Error),
    /// The launcher has died or does not answer.
    Dead(&'static str),
}

impl Launcher {
    /// Returns the handle of a launcher that `command` starts when it is needed.
    pub(crate) fn new(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(Mutex::new(State {
            command,
            process: None,
            started: 0,
            idle: Vec::new(),
            crashes: CrashLog::default(),
            given_up: None,
        }))
    }

    /// Returns a reaper without an owner; `what` names in the error what it is for.
    pub(crate) async fn reaper(&self, what: &str) -> Result<Reaper, CommandError> {
        loop {
            let (number, socket) = {
                let mut state = self.0.lock().await;
                if let Some(reaper) = state.take_idle() {
                    return Ok(reaper);
                }
                state.running(what)?
            };
            match fork(&socket, number).await {
                Ok(reaper) => return Ok(reaper),
                Err(NoReaper::Exhausted(error)) => return Err(command_error(what, error)),
                Err(NoReaper::Dead(why)) => self.0.lock().await.note_death(number, why),
            }
        }
    }

    /// Kills a reaper that has died or does not answer, and what it has left. Returns how much of that
    /// is left; `None` if that is unknown, because the launcher has died as well.
    pub(crate) async fn bury(&self, reaper: Reaper) -> Option<u32> {
        reaper.kill();
        let socket = {
            let state = self.0.lock().await;
            let process = state.process.as_ref();
            Arc::clone(&process.filter(|process| process.number == reaper.launcher)?.socket)
        };
        let (answer, theirs) = Socket::pair().ok()?;
        let ask = async {
            socket.send(&[&wire::strays(reaper.process)], &[theirs.as_fd()]).await?;
            drop(theirs);
            answer.receive().await
        };
        match timeout(ANSWER_LIMIT, ask).await {
            Ok(Ok(Some(Reply::Ended(left)))) => Some(left),
            _dead_or_suspended => None,
        }
    }

    /// Keeps a reaper whose owner has ended without leaving a process.
    pub(crate) async fn keep(&self, reaper: Reaper) {
        let mut state = self.0.lock().await;
        if state.idle.len() < IDLE {
            state.idle.push(reaper);
        }
    }
}

/// Has the launcher fork a reaper.
async fn fork(launcher: &Socket, number: u64) -> Result<Reaper, NoReaper> {
    let (socket, theirs) = Socket::pair().map_err(NoReaper::Exhausted)?;
    let ask = async {
        launcher.send(&[FORK], &[theirs.as_fd()]).await?;
        drop(theirs);
        socket.receive().await
    };
    match timeout(ANSWER_LIMIT, ask).await {
        Ok(Ok(Some(Reply::Ready(process)))) => Ok(Reaper { socket, process, launcher: number }),
        Ok(Ok(Some(Reply::Failed(_, error)))) => Err(NoReaper::Exhausted(error.into())),
        Ok(Err(error)) if is_shortage(&error) => Err(NoReaper::Exhausted(error)),
        Ok(Ok(_) | Err(_)) => Err(NoReaper::Dead("it has died")),
        Err(_elapsed) => Err(NoReaper::Dead("it does not answer")),
    }
}

impl State {
    /// Returns an idle reaper of the running launcher.
    fn take_idle(&mut self) -> Option<Reaper> {
        let number = self.process.as_ref().map(|process| process.number);
        loop {
            let reaper = self.idle.pop()?;
            if Some(reaper.launcher) == number && !reaper.socket.is_dead() {
                return Some(reaper);
            }
        }
    }

    /// Returns the running launcher, which is started if there is none.
    fn running(&mut self, what: &str) -> Result<(u64, Arc<Socket>), CommandError> {
        loop {
            if let Some(process) = &self.process {
                return Ok((process.number, Arc::clone(&process.socket)));
            }
            if let Some(why) = &self.given_up {
                let source = io::Error::other(format!(
                    "the launcher, which starts commands, has failed {} times: {why}",
                    BUDGET.restarts + 1
                ));
                return Err(CommandError::Launcher { what: what.to_owned(), source });
            }
            match self.start() {
                Ok(process) => self.process = Some(process),
                Err(error) if is_shortage(&error) => return Err(command_error(what, error)),
                Err(error) => self.note_crash(&error.to_string()),
            }
        }
    }

    fn start(&mut self) -> io::Result<Process> {
        let (socket, theirs) = Socket::pair()?;
        let child = self.command.stdin(theirs).spawn();
        // Only the launcher keeps its end of the socket open.
        self.command.stdin(Stdio::null());
        self.started += 1;
        Ok(Process { number: self.started, child: child?, socket: Arc::new(socket) })
    }

    /// Ends the launcher with this number, which has died or does not answer.
    fn note_death(&mut self, number: u64, why: &str) {
        // Others may have noted it before.
        if let Some(process) = self.process.take_if(|process| process.number == number) {
            process.kill();
            self.note_crash(why);
        }
    }

    fn note_crash(&mut self, why: &str) {
        self.idle.clear();
        match self.crashes.record(BUDGET, Instant::now()) {
            Decision::Restart => tracing::warn!(why, "the launcher is started again"),
            Decision::GiveUp => {
                tracing::error!(why, "the launcher is not started again");
                self.given_up = Some(why.to_owned());
            }
        }
    }
}

impl Process {
    /// Kills the process. Its reapers notice, and kill what they have started.
    fn kill(mut self) {
        let _gone = self.child.kill();
        let _failed = self.child.wait();
    }

    /// Waits until the process has ended by itself, which it does when its socket is closed.
    fn close(self) {
        let Self { mut child, socket, .. } = self;
        drop(socket);
        let until = Instant::now() + CLOSE_LIMIT;
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                let _gone = child.kill();
                let _failed = child.wait();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let state = self.0.get_mut();
        state.idle.clear();
        if let Some(process) = state.process.take() {
            process.close();
        }
    }
}
