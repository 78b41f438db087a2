//! A reaper: the process that starts the commands of one owner, adopts what loses its parent among
//! their processes, and ends all of them when the owner ends, or the engine, or the launcher.

use std::collections::HashSet;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, wait,
};

use crate::child::{self, Program, Stack};
use crate::descendants;
use crate::running_command::RunningCommand;
use crate::start_message::{ReceivedStart, Texts};
use crate::wire::{self, CommandRequest, LONGEST, Received, Reply, StartStep};

/// How long the end of an owner may take. It takes a millisecond, or tenths of a second where hundreds
/// of processes compete for the processor.
const END_LIMIT: Duration = Duration::from_secs(2);

/// How long a reaper tries to kill what is left when the engine or the launcher has died. An engine
/// that lives waits for its last reply.
pub(crate) const LAST_LIMIT: Duration = Duration::from_secs(5);

/// How many processes are reaped before the engine is heard again. They can end faster than they are
/// reaped.
const REAPED_AT_ONCE: usize = 256;

/// Serves owners over `engine`, one after the other, until that or `launcher` is closed at the other
/// end. Then it kills what is left, says how much it could not kill, and only then closes `engine`.
pub(crate) fn run(engine: OwnedFd, launcher: OwnedFd) {
    let parent = getppid();
    // A suspended reaper wakes up when the launcher dies.
    let _unsupported = set_parent_process_death_signal(Some(Signal::CONT));
    let prepared = child::become_subreaper().and_then(|()| child::child_signals());
    let signals = match prepared {
        Ok(signals) => signals,
        Err(error) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            let _gone =
                wire::send(&engine, &[&Reply::Failed(StartStep::Fork, errno).encode()], &[]);
            return;
        }
    };
    let ready = Reply::Ready(getpid().as_raw_pid());
    let _gone = wire::send(&engine, &[&ready.encode()], &[]);
    let mut reaper = Reaper {
        engine,
        launcher,
        signals,
        has_more: false,
        commands: Vec::new(),
        stack: Stack::new(),
        buffer: vec![0; LONGEST],
    };
    // Also a reaper that panics has children.
    let _panicked = catch_unwind(AssertUnwindSafe(|| while reaper.turn() == Turn::GoOn {}));
    // From here on, what the engine sends fails, so that it goes to another reaper.
    wire::refuse_messages(&reaper.engine);
    if getppid() == parent
        && let Some(launcher) = parent
    {
        // A suspended launcher cannot see that the engine has died.
        let _gone = kill_process(launcher, Signal::CONT);
    }
    let left = descendants::end(&reaper.signals, &HashSet::new(), LAST_LIMIT);
    let _gone = wire::send(&reaper.engine, &[&Reply::Ended(left).encode()], &[]);
    // The sockets are closed last: the engine may take that for the end of all processes.
}

/// Whether the reaper goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    GoOn,
    Stop,
}

struct Reaper {
    engine: OwnedFd,
    launcher: OwnedFd,
    signals: OwnedFd,
    /// Whether more may have ended than was reaped.
    has_more: bool,
    commands: Vec<RunningCommand>,
    stack: Stack,
    buffer: Vec<u8>,
}

impl Reaper {
    /// Waits until something happens, and deals with it.
    fn turn(&mut self) -> Turn {
        let now = Instant::now();
        let pauses = self.commands.iter().filter_map(|command| command.pause(now));
        let pause = pauses.chain(self.has_more.then_some(Duration::ZERO)).min();
        let ready = self.wait(pause);
        let is_ready = |socket: &OwnedFd| ready.contains(&socket.as_raw_fd());
        if is_ready(&self.launcher) {
            return Turn::Stop; // no writer is left: the launcher has died
        }
        if self.has_more || is_ready(&self.signals) {
            descendants::drain(&self.signals);
            self.reap();
        }
        for command in &mut self.commands {
            if ready.contains(&command.socket().as_raw_fd()) {
                Self::read_requests(command);
            }
        }
        let now = Instant::now();
        self.commands.retain_mut(|command| command.is_under_way(now));
        if ready.contains(&self.engine.as_raw_fd()) { self.serve() } else { Turn::GoOn }
    }

    /// Waits for at most `pause`, and returns the descriptors that have something to read.
    fn wait(&self, pause: Option<Duration>) -> Vec<i32> {
        let heard = self.commands.iter().filter(|command| command.is_heard());
        let sockets = heard.map(RunningCommand::socket);
        let fixed = [&self.engine, &self.launcher, &self.signals].map(OwnedFd::as_fd);
        let sources: Vec<BorrowedFd<'_>> = fixed.into_iter().chain(sockets).collect();
        let mut polled: Vec<_> =
            sources.iter().map(|source| PollFd::new(source, PollFlags::IN)).collect();
        let pause = pause.and_then(|pause| Timespec::try_from(pause).ok());
        let _interrupted = poll(&mut polled, pause.as_ref());
        let ready = polled.iter().zip(&sources).filter(|(polled, _)| !polled.revents().is_empty());
        ready.map(|(_, source)| source.as_raw_fd()).collect()
    }

    /// Reaps what has ended. The group of a command is killed before the command is reaped: until
    /// then the system does not reuse its number.
    fn reap(&mut self) {
        for command in &mut self.commands {
            command.kill_rest_if_exited();
        }
        self.has_more = false;
        for _ in 0..REAPED_AT_ONCE {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((process, status))) => {
                    let leader = |command: &&mut RunningCommand| command.leader() == process;
                    if let Some(command) = self.commands.iter_mut().find(leader) {
                        command.reaped(status.as_raw());
                    }
                }
                Err(Errno::INTR) => {}
                Ok(None) | Err(_) => return,
            }
        }
        self.has_more = true;
    }

    /// Does what the engine wants of a command.
    fn read_requests(command: &mut RunningCommand) {
        let mut message = [0; wire::SHORT];
        loop {
            match wire::receive(command.socket(), &mut message) {
                Err(Errno::AGAIN) => return,
                Ok(Received { length, .. }) if length > 0 => {
                    if let Some(request) = CommandRequest::decode(&message[..length]) {
                        command.handle(request);
                    }
                }
                Ok(_end) => return command.abandon(),
                Err(_) => return command.abandon(),
            }
        }
    }

    /// Handles what the engine asks for.
    fn serve(&mut self) -> Turn {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let received = wire::receive(&self.engine, &mut buffer);
            let turn = match received {
                Err(Errno::AGAIN) => None,
                Err(_) => Some(Turn::Stop),
                Ok(message) if message.length == 0 => Some(Turn::Stop),
                Ok(message) => {
                    let length = message.length;
                    self.handle(&buffer[..length], message);
                    Some(Turn::GoOn)
                }
            };
            self.buffer = buffer;
            match turn {
                None => return Turn::GoOn,
                Some(Turn::Stop) => return Turn::Stop,
                // Everything that is there is handled before the next wait, except what takes long.
                Some(Turn::GoOn) => {}
            }
        }
    }

    fn handle(&mut self, bytes: &[u8], message: Received) {
        if wire::is_end(bytes) {
            let left = descendants::end(&self.signals, &HashSet::new(), END_LIMIT);
            self.commands.clear();
            let _gone = wire::send(&self.engine, &[&Reply::Ended(left).encode()], &[]);
            return;
        }
        let mut descriptors = message.descriptors.into_iter();
        // Without the socket of the command a reply has no receiver.
        let Some(socket) = descriptors.next() else { return };
        let descriptors: Vec<_> = descriptors.collect();
        let started = match message.is_whole {
            true => self.start(bytes, &descriptors),
            false => Err((StartStep::Request, Errno::MFILE)),
        };
        let reply = match &started {
            Ok((process, _)) => Reply::Started(process.as_raw_pid()),
            Err((step, error)) => Reply::Failed(*step, *error),
        };
        let _gone = wire::send(&socket, &[&reply.encode()], &[]);
        if let Ok((process, after_exit)) = started {
            self.commands.push(RunningCommand::new(process, socket, after_exit));
        }
    }

    /// Starts a command.
    fn start(
        &mut self,
        bytes: &[u8],
        descriptors: &[OwnedFd],
    ) -> Result<(Pid, crate::start_message::AfterExit), (StartStep, Errno)> {
        let invalid = (StartStep::Request, Errno::INVAL);
        let start = ReceivedStart::read(bytes).ok_or(invalid)?;
        let mut descriptors = descriptors.iter();
        let mut next = || descriptors.next().ok_or(invalid);
        let (folder, input, output, error) = (next()?, next()?, next()?, next()?);
        let text = match start.is_long() {
            false => Vec::new(),
            true => start.read_file(next()?).map_err(|error| {
                (StartStep::Request, Errno::from_io_error(&error).unwrap_or(Errno::IO))
            })?,
        };
        let Texts { programs, argv, environment } = start.texts(bytes, &text).ok_or(invalid)?;
        let program = Program {
            folder: folder.as_fd(),
            streams: [input.as_fd(), output.as_fd(), error.as_fd()],
            session: start.session,
            namespaces: start.namespaces,
            limits: &start.limits,
            files: &programs,
            argv: &argv,
            environment: &environment,
        };
        let process = child::spawn(&program, &mut self.stack)?;
        Ok((process, start.after_exit))
    }
}
