//! The commands that a session runs in the background.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::ports::{Artifact, Artifacts, CancelToken, CommandError, CommandRequest, ToolContext};
use protocol::{error_chain, quote_within};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::bash::running::{FinishedCommand, run};
use crate::display::{TAIL_BYTES, tail};
use crate::error::ToolError;
use crate::plain_text::PlainText;

/// How many commands may run in the background at the same time, and how many that have ended are kept.
const MOST: usize = 15;

/// How much of a command is shown, in characters, and how much of the end of its output, in bytes, to a model
/// that is told of its end.
const SHOWN_COMMAND: usize = 200;
const SHOWN_END: usize = 2 << 10;

/// The commands of one session, by number.
#[derive(Default)]
pub(crate) struct BackgroundCommands(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    commands: BTreeMap<u64, Arc<BackgroundCommand>>,
}

/// A command that was started in the background.
pub(crate) struct BackgroundCommand {
    pub(crate) number: u64,
    command: String,
    pub(crate) artifact: Artifact,
    started: Instant,
    pub(crate) stop: CancelToken,
    status: watch::Sender<Status>,
    /// How many bytes of its output were read.
    read: tokio::sync::Mutex<u64>,
}

/// What a command does, and who tells the model of its end.
struct Status {
    state: State,
    /// The number of calls that look at it. One of them may tell of the end.
    looking: usize,
    /// Whether a call has told of the end.
    is_told: bool,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Ended {
        /// What comes after "the command".
        how: String,
        code: Option<i32>,
        after: Duration,
    },
}

/// Why there is no such command, or no further one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackgroundError {
    /// Too many run.
    #[error(
        "{MOST} commands run in the background already; end one with job, or wait for one: {0}"
    )]
    TooMany(String),
    /// There is no command of this number.
    #[error("there is no background command {number}; {known}")]
    Unknown {
        /// The number.
        number: u64,
        /// Those that there are.
        known: String,
    },
}

impl From<BackgroundError> for ToolError {
    fn from(error: BackgroundError) -> Self {
        Self::own(error)
    }
}

impl BackgroundCommands {
    /// Starts `command`, which `request` runs, for at most `time` if that is given.
    pub(crate) fn start(
        &self,
        context: &ToolContext,
        (command, artifact): (String, Artifact),
        request: CommandRequest,
        time: Option<Duration>,
    ) -> Result<Arc<BackgroundCommand>, BackgroundError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = table.commands.values().filter(|command| command.is_running());
        let running: Vec<_> = running.map(|command| command.number.to_string()).collect();
        if running.len() >= MOST {
            return Err(BackgroundError::TooMany(running.join(", ")));
        }
        table.forget_oldest();
        table.last += 1;
        let stop = context.background.stop().child();
        let started = Arc::new(BackgroundCommand {
            number: table.last,
            command,
            artifact,
            started: Instant::now(),
            stop: stop.clone(),
            status: watch::Sender::new(Status {
                state: State::Running,
                looking: 0,
                is_told: false,
            }),
            read: tokio::sync::Mutex::new(0),
        });
        table.commands.insert(started.number, Arc::clone(&started));
        drop(table);
        let (commands, artifacts) = (Arc::clone(&context.commands), Arc::clone(&context.artifacts));
        let session_ends = context.background.stop();
        let ending = Ending(Arc::clone(&started));
        context.background.run(Box::pin(async move {
            let sinks = (Arc::new(|_line| {}) as Arc<_>, &stop);
            let finished = run(commands.as_ref(), request, sinks, time).await;
            let how = ending.end(finished, time);
            if ending.0.was_told().await || session_ends.is_cancelled() {
                return None;
            }
            Some(ending.0.report(&how, artifacts.as_ref()).await)
        }));
        Ok(started)
    }

    /// Returns the command with this number.
    pub(crate) fn get(&self, number: u64) -> Result<Arc<BackgroundCommand>, BackgroundError> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.commands.get(&number).cloned().ok_or_else(|| {
            let numbers: Vec<_> = table.commands.keys().map(u64::to_string).collect();
            let known = match numbers.is_empty() {
                true => "this session has started none".to_owned(),
                false => format!("there are: {}", numbers.join(", ")),
            };
            BackgroundError::Unknown { number, known }
        })
    }

    /// Returns all commands, in the order in which they were started.
    pub(crate) fn all(&self) -> Vec<Arc<BackgroundCommand>> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.commands.values().cloned().collect()
    }
}

impl Table {
    /// Forgets those that have ended first, if there are too many.
    fn forget_oldest(&mut self) {
        let ended = self.commands.values().filter(|command| !command.is_running());
        let ended: Vec<_> = ended.map(|command| command.number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(MOST)) {
            self.commands.remove(number);
        }
    }
}

/// Ends the state of a command when its work ends, also if that is dropped.
struct Ending(Arc<BackgroundCommand>);

impl Ending {
    /// Notes the end, and returns how the command ended.
    fn end(
        &self,
        finished: Result<FinishedCommand, CommandError>,
        time: Option<Duration>,
    ) -> String {
        let (how, code) = match finished {
            Ok(finished) => {
                let how = finished.problem(time).unwrap_or_else(|| "exited with code 0".to_owned());
                (how, finished.code())
            }
            Err(error) => (format!("could not be run: {}", error_chain(&error)), None),
        };
        self.note(how.clone(), code);
        how
    }

    fn note(&self, how: String, code: Option<i32>) {
        let after = self.0.started.elapsed();
        self.0.status.send_if_modified(|status| {
            let is_running = status.state == State::Running;
            if is_running {
                status.state = State::Ended { how, code, after };
            }
            is_running
        });
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.note("was stopped with its session".to_owned(), None);
    }
}

/// A call that looks at a command. Only when it is dropped, the model may be told of the end by a message.
pub(crate) struct Look<'a>(&'a watch::Sender<Status>);

impl Look<'_> {
    /// Notes that the call tells of the end.
    pub(crate) fn tells_end(&self) {
        self.0.send_modify(|status| status.is_told = true);
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|status| status.looking -= 1);
    }
}

/// New output of a command.
pub(crate) struct NewOutput {
    pub(crate) text: String,
    /// How many bytes before the text were not shown.
    pub(crate) skipped: u64,
}

impl BackgroundCommand {
    fn is_running(&self) -> bool {
        self.status.borrow().state == State::Running
    }

    /// Returns what the command does.
    pub(crate) fn state(&self) -> State {
        self.status.borrow().state.clone()
    }

    /// Returns the command in one line.
    pub(crate) fn command(&self) -> String {
        quote_within(&self.command, SHOWN_COMMAND)
    }

    /// Returns what the command does in `state` and for how long, in one sentence.
    pub(crate) fn sentence(&self, state: &State) -> String {
        let (number, command) = (self.number, self.command());
        match state {
            State::Running => {
                let seconds = self.started.elapsed().as_secs();
                format!("Background command {number} is running for {seconds} s: {command}")
            }
            State::Ended { how, after, .. } => {
                let seconds = after.as_secs();
                format!("Background command {number} {how} after {seconds} s: {command}")
            }
        }
    }

    /// Says that a call looks at the command until the returned value is dropped.
    pub(crate) fn look(&self) -> Look<'_> {
        self.status.send_modify(|status| status.looking += 1);
        Look(&self.status)
    }

    /// Returns whether a call has told of the end, when none looks at the command any more.
    async fn was_told(&self) -> bool {
        let mut status = self.status.subscribe();
        let decided = status.wait_for(|status| status.is_told || status.looking == 0).await;
        decided.is_ok_and(|status| status.is_told)
    }

    /// Waits until the command has ended.
    pub(crate) async fn ended(&self) {
        let mut status = self.status.subscribe();
        let _closed = status.wait_for(|status| status.state != State::Running).await;
    }

    /// Returns the output since the last call of this, of a longer one the end.
    pub(crate) async fn new_output(&self, artifacts: &dyn Artifacts) -> NewOutput {
        let mut read = self.read.lock().await;
        let (output, size) = self.output_from(*read, artifacts).await;
        *read = size;
        output
    }

    /// Returns the output from the byte `read` on, of a longer one the end, and the size of all output.
    async fn output_from(&self, read: u64, artifacts: &dyn Artifacts) -> (NewOutput, u64) {
        // A command that has just been started has no file yet.
        let size = artifacts.size(&self.artifact).await.unwrap_or(0);
        let from = size.saturating_sub(TAIL_BYTES as u64).max(read.min(size));
        let bytes = artifacts.read(&self.artifact, from, size - from).await.unwrap_or_default();
        let text = PlainText::of(&bytes).trim_end().to_owned();
        (NewOutput { text, skipped: from.saturating_sub(read) }, size)
    }

    /// Returns what the model reads of the end.
    async fn report(&self, how: &str, artifacts: &dyn Artifacts) -> String {
        let (number, command) = (self.number, self.command());
        let seconds = self.started.elapsed().as_secs();
        let sentence = format!("Background command {number} {how} after {seconds} s: {command}");
        // The model may call `job` before it gets this, and would miss what this has read.
        let read = *self.read.lock().await;
        let (NewOutput { text, .. }, _size) = self.output_from(read, artifacts).await;
        let uri = self.artifact.uri();
        match tail(&text, SHOWN_END) {
            "" => format!("{sentence}\n\n(no new output) [All of it: {uri}]"),
            end => format!("{sentence}\n\nIts last output:\n{end}\n\n[All of it: {uri}]"),
        }
    }
}
