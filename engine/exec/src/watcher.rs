//! The engine's side of the watcher: keeps the watcher process running, and writes to its pipe which
//! process groups are running.

use std::collections::BTreeMap;
use std::io::{self, PipeWriter, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::restarts::{CrashLog, Decision, RestartBudget};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};

use crate::command_error::is_shortage;
use crate::pre_exec::{Registration, prepare_watcher};
use crate::process_group::ProcessGroup;

/// How often the watcher process is restarted before commands run without one.
const BUDGET: RestartBudget = RestartBudget { restarts: 5, window: Duration::from_secs(60) };

/// Identifies a group in the messages to the watcher process. Unlike the id of the group it is known
/// before the group exists and never reused.
pub(crate) type Token = u64;

/// The current watcher process, and the running groups it has to know.
pub(crate) struct Watcher {
    command: Command,
    process: Option<WatcherProcess>,
    started: u64,
    groups: BTreeMap<Token, ProcessGroup>,
    crashes: CrashLog,
    given_up: bool,
    ended: Arc<dyn Fn(u64) + Send + Sync>,
}

/// A running watcher process.
struct WatcherProcess {
    number: u64,
    process: Option<Pid>,
    pipe: Arc<PipeWriter>,
    waiter: JoinHandle<()>,
}

/// A watcher process that ends because its pipe is closed.
pub(crate) struct EndingWatcher {
    /// The number that the watcher passes to its callback `ended` when the process has ended.
    pub(crate) number: u64,
    /// The id of the process.
    process: Option<Pid>,
    waiter: JoinHandle<()>,
}

impl EndingWatcher {
    /// Joins the waiting thread after the end was reported.
    pub(crate) fn finish(self) {
        let _panicked = self.waiter.join();
    }

    /// Kills a watcher process that does not end by itself.
    pub(crate) fn force(self) {
        if let Some(process) = self.process {
            let _gone = kill_process(process, Signal::KILL);
        }
    }
}

impl Watcher {
    /// Returns a watcher whose process is started with the first group. `ended` is called with the
    /// number of a watcher process when that has ended.
    pub(crate) fn new(mut command: Command, ended: Arc<dyn Fn(u64) + Send + Sync>) -> Self {
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        prepare_watcher(&mut command);
        Self {
            command,
            process: None,
            started: 0,
            groups: BTreeMap::new(),
            crashes: CrashLog::default(),
            given_up: false,
            ended,
        }
    }

    /// Returns what a child needs to register itself under `token`; `None` if there is no watcher
    /// process.
    ///
    /// # Errors
    /// A resource needed to start a watcher process is exhausted. The start of the child would fail
    /// for the same reason. The next call tries again to start a watcher process.
    pub(crate) fn registration(
        &mut self,
        token: Token,
    ) -> io::Result<Option<Registration<PipeWriter>>> {
        if self.process.is_none() && !self.given_up {
            self.start()?;
        }
        let Some(process) = &self.process else { return Ok(None) };
        Ok(Some(Registration { pipe: Arc::clone(&process.pipe), prefix: format!("+{token} ") }))
    }

    /// Adds a group. The child has usually registered it already, but that may have failed.
    pub(crate) fn add(&mut self, token: Token, group: ProcessGroup) {
        self.groups.insert(token, group);
        self.send(&added(token, group));
    }

    /// Removes a group, whether or not it was added.
    pub(crate) fn remove(&mut self, token: Token) {
        self.groups.remove(&token);
        self.send(&format!("-{token}\n"));
    }

    /// Notes that a watcher process has ended, and starts the next while there are groups to watch.
    pub(crate) fn note_end(&mut self, number: u64) {
        if self.process.as_ref().is_some_and(|now| now.number == number) {
            self.process = None;
            self.note_crash("it ended");
            if !self.groups.is_empty()
                && !self.given_up
                && let Err(error) = self.start()
            {
                tracing::warn!(%error, "commands run without a watcher until the next is started");
            }
        }
    }

    /// Closes the pipe, so that the watcher process ends, and returns it.
    pub(crate) fn end(&mut self) -> Option<EndingWatcher> {
        self.given_up = true;
        let WatcherProcess { number, process, waiter, .. } = self.process.take()?;
        Some(EndingWatcher { number, process, waiter })
    }

    fn start(&mut self) -> io::Result<()> {
        match self.spawn() {
            Ok(process) => self.process = Some(process),
            Err(error) if is_shortage(&error) => return Err(error),
            Err(error) => self.note_crash(&error.to_string()),
        }
        Ok(())
    }

    fn spawn(&mut self) -> io::Result<WatcherProcess> {
        let (reader, mut writer) = io::pipe()?;
        // A watcher process that does not read must not block the engine.
        fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        // The groups are in the pipe before the watcher process starts. It thus knows all of them,
        // even if the engine ends during the start.
        let groups: String =
            self.groups.iter().map(|(&token, &group)| added(token, group)).collect();
        writer.write_all(groups.as_bytes())?;
        // The thread that reaps the watcher process starts first, because its start may fail.
        let (number, ended) = (self.started + 1, Arc::clone(&self.ended));
        let (started, process) = mpsc::channel::<Child>();
        let wait = move || {
            let Ok(mut process) = process.recv() else { return };
            let _status = process.wait();
            ended(number);
        };
        let waiter = thread::Builder::new().name("watcher".to_owned()).spawn(wait)?;
        let child = self.command.stdin(reader).spawn();
        // Closes the reading end that `command` holds, so that writes fail if the process is dead.
        self.command.stdin(Stdio::null());
        let child = child?;
        self.started = number;
        let process = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let _waits = started.send(child);
        Ok(WatcherProcess { number, process, pipe: Arc::new(writer), waiter })
    }

    /// Writes a line to the watcher process. If the pipe is full, the process is killed, and the
    /// next one gets all groups. If the process is dead, its waiting thread reports the end.
    fn send(&mut self, line: &str) {
        let Some(watcher) = &self.process else { return };
        let mut pipe: &PipeWriter = &watcher.pipe;
        let Err(error) = pipe.write_all(line.as_bytes()) else { return };
        if error.kind() == io::ErrorKind::WouldBlock
            && let Some(process) = watcher.process
        {
            let _gone = kill_process(process, Signal::KILL);
        }
    }

    fn note_crash(&mut self, why: &str) {
        match self.crashes.record(BUDGET, Instant::now()) {
            Decision::Restart => tracing::warn!(why, "the watcher of commands is started again"),
            Decision::GiveUp => {
                self.given_up = true;
                tracing::error!(
                    why,
                    "commands run without a watcher: what they start may outlive a killed engine"
                );
            }
        }
    }
}

fn added(token: Token, group: ProcessGroup) -> String {
    format!("+{token} {}\n", group.leader().as_raw_nonzero())
}
