//! The engine's side of the pipe: keeps a watcher running and tells it which groups there are.

use std::collections::BTreeMap;
use std::io::{self, PipeWriter, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::restarts::{CrashLog, Decision, RestartBudget};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};

use crate::birth::{Registration, as_watcher};
use crate::group::Group;
use crate::trouble::is_shortage;

/// A watcher that keeps dying is not worth the processes it costs.
const BUDGET: RestartBudget = RestartBudget { restarts: 5, window: Duration::from_secs(60) };

/// Names a group in what the watcher is told. A group's number is not known before the group
/// exists, and may be used again; a token is never.
pub(crate) type Token = u64;

/// The watcher, and what it has to know.
pub(crate) struct Watcher {
    command: Command,
    life: Option<Life>,
    lives: u64,
    groups: BTreeMap<Token, Group>,
    crashes: CrashLog,
    given_up: bool,
    ended: Arc<dyn Fn(u64) + Send + Sync>,
}

/// One process of the watcher, from its start to its end.
struct Life {
    number: u64,
    process: Option<Pid>,
    pipe: Arc<PipeWriter>,
    waiter: JoinHandle<()>,
}

/// A life that ends because its pipe is closed.
pub(crate) struct Ending {
    /// Its number, which will be told.
    pub(crate) number: u64,
    /// Its process, until then.
    process: Option<Pid>,
    waiter: JoinHandle<()>,
}

impl Ending {
    /// Leaves nothing of a life whose end was told.
    pub(crate) fn finish(self) {
        let _panicked = self.waiter.join();
    }

    /// Ends a life that does not end by itself.
    pub(crate) fn force(self) {
        if let Some(process) = self.process {
            let _gone = kill_process(process, Signal::KILL);
        }
    }
}

impl Watcher {
    /// Returns a watcher that is started when the first group is about to be. `ended` is called
    /// with the number of a life when that has ended.
    pub(crate) fn new(mut command: Command, ended: Arc<dyn Fn(u64) + Send + Sync>) -> Self {
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        as_watcher(&mut command);
        Self {
            command,
            life: None,
            lives: 0,
            groups: BTreeMap::new(),
            crashes: CrashLog::default(),
            given_up: false,
            ended,
        }
    }

    /// Returns what a child needs to register itself under `token`; nothing where there is no
    /// watcher to be had.
    ///
    /// # Errors
    /// The machine is short of what a watcher needs: the same want would strike the child, and
    /// must not cost all later ones their watcher.
    pub(crate) fn registration(
        &mut self,
        token: Token,
    ) -> io::Result<Option<Registration<PipeWriter>>> {
        if self.life.is_none() && !self.given_up {
            self.start()?;
        }
        let Some(life) = &self.life else { return Ok(None) };
        Ok(Some(Registration { pipe: Arc::clone(&life.pipe), prefix: format!("+{token} ") }))
    }

    /// Adds a group. The watcher may have heard of it from the group itself, but not surely.
    pub(crate) fn add(&mut self, token: Token, group: Group) {
        self.groups.insert(token, group);
        self.tell(&added(token, group));
    }

    /// Takes a group back, whether or not it was added here.
    pub(crate) fn remove(&mut self, token: Token) {
        self.groups.remove(&token);
        self.tell(&format!("-{token}\n"));
    }

    /// Notes that a life has ended, and starts the next while there are groups to watch.
    pub(crate) fn note_end(&mut self, life: u64) {
        if self.life.as_ref().is_some_and(|now| now.number == life) {
            self.life = None;
            self.judge("it ended");
            if !self.groups.is_empty()
                && !self.given_up
                && let Err(error) = self.start()
            {
                tracing::warn!(%error, "commands run without a watcher until the next is started");
            }
        }
    }

    /// Lets the watcher end, and returns what is about to end.
    pub(crate) fn dismiss(&mut self) -> Option<Ending> {
        self.given_up = true;
        let Life { number, process, waiter, .. } = self.life.take()?;
        Some(Ending { number, process, waiter })
    }

    fn start(&mut self) -> io::Result<()> {
        match self.begin() {
            Ok(life) => self.life = Some(life),
            Err(error) if is_shortage(&error) => return Err(error),
            Err(error) => self.judge(&error.to_string()),
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<Life> {
        let (reader, mut writer) = io::pipe()?;
        // A watcher that does not read must not hold us up.
        fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        // Told before it lives, it knows all even if we end while it is being born.
        let groups: String =
            self.groups.iter().map(|(&token, &group)| added(token, group)).collect();
        writer.write_all(groups.as_bytes())?;
        // First who collects it: a process that nobody collects is worse than none.
        let (number, ended) = (self.lives + 1, Arc::clone(&self.ended));
        let (started, process) = mpsc::channel::<Child>();
        let wait = move || {
            let Ok(mut process) = process.recv() else { return };
            let _status = process.wait();
            ended(number);
        };
        let waiter = thread::Builder::new().name("watcher".to_owned()).spawn(wait)?;
        let child = self.command.stdin(reader).spawn();
        // The command would hold on to the reading end, and the pipe would never break.
        self.command.stdin(Stdio::null());
        let child = child?;
        self.lives = number;
        let process = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let _waits = started.send(child);
        Ok(Life { number, process, pipe: Arc::new(writer), waiter })
    }

    /// Tells the watcher something. One that has stopped to listen is ended, and the next is told
    /// all; the end of one that is dead already is told to us.
    fn tell(&mut self, words: &str) {
        let Some(life) = &self.life else { return };
        let mut pipe: &PipeWriter = &life.pipe;
        let Err(error) = pipe.write_all(words.as_bytes()) else { return };
        if error.kind() == io::ErrorKind::WouldBlock
            && let Some(process) = life.process
        {
            let _gone = kill_process(process, Signal::KILL);
        }
    }

    fn judge(&mut self, why: &str) {
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

fn added(token: Token, group: Group) -> String {
    format!("+{token} {}\n", group.leader().as_raw_nonzero())
}
