//! Commands that are not run but obeyed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::ports::{
    CancelToken, CommandEnd, CommandError, CommandOwner, CommandRequest, Commands, EndCause,
    OwnerEnd, VariableChoice,
};
use protocol::TaskName;
use tokio::sync::Notify;

use super::{Step, Trace};

/// Obeys the script: `yield`, `exit N`, `sleep`, `deaf` (ends only when it is killed), `stuck` (ends
/// only when its future is dropped, as what waits for a dead disk), `panic`,
/// `wait` (until [`FakeCommands::release`]).
#[derive(Default)]
pub struct FakeCommands {
    running: AtomicUsize,
    peak: AtomicUsize,
    ran: AtomicUsize,
    released: Notify,
    /// With `gather N`, the first N commands wait for each other before they end.
    gathered: AtomicUsize,
    /// Which variables the owners of commands got, in the order in which they were made.
    choices: Mutex<Vec<VariableChoice>>,
    /// What is left when an owner ends.
    left: Mutex<Option<OwnerEnd>>,
    pub(super) trace: Trace,
}

impl FakeCommands {
    /// Returns how many commands ran at the same time, at most.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }

    /// Returns how many commands were run.
    pub fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }

    /// Returns how many commands run now.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Lets the next owner end with `end`.
    ///
    /// # Panics
    /// When a test has panicked with it.
    pub fn end_next_with(&self, end: OwnerEnd) {
        *self.left.lock().expect("no test panics with it") = Some(end);
    }

    /// Returns which variables the owners of commands got, in the order in which they were made.
    ///
    /// # Panics
    /// When a test has panicked with it.
    pub fn choices(&self) -> Vec<VariableChoice> {
        self.choices.lock().expect("no test panics with it").clone()
    }

    /// Ends every command that waits.
    pub fn release(&self) {
        self.released.notify_waiters();
    }

    async fn gather(&self, wanted: usize) {
        let waiting = self.released.notified();
        if self.gathered.fetch_add(1, Ordering::SeqCst) + 1 == wanted {
            self.released.notify_waiters();
        } else if self.gathered.load(Ordering::SeqCst) < wanted {
            waiting.await;
        }
    }
}

struct Running<'a>(&'a FakeCommands);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl CommandOwner for FakeCommands {
    async fn run(
        &self,
        request: CommandRequest,
        line: Arc<dyn Fn(String) + Send + Sync>,
        stop: CancelToken,
    ) -> Result<CommandEnd, CommandError> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        if let Some(task) = request.environment.get("REGATTA_TASK").and_then(|task| task.to_str()) {
            self.trace.note(Step::Ran(TaskName::nearest(task)));
        }
        // Who is seen to run is reached by a release.
        let released = self.released.notified();
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(running, Ordering::SeqCst);
        let _until_the_end = Running(self);
        line(request.script.clone());
        let (word, rest) = request.script.split_once(' ').unwrap_or((&request.script, ""));
        let mut last_line = None;
        let stopped = async { stop.cancelled().await };
        let cause = match word {
            "exit" => EndCause::Exited(rest.parse().unwrap_or(1)),
            "deaf" => {
                stop.cancelled_at_once().await;
                EndCause::Stopped
            }
            "stuck" => std::future::pending().await,
            "sleep" => {
                stopped.await;
                EndCause::Stopped
            }
            "wait" => {
                tokio::select! {
                    () = released => EndCause::Exited(0),
                    () = stopped => EndCause::Stopped,
                }
            }
            "gather" => {
                self.gather(rest.parse().unwrap_or(1)).await;
                EndCause::Exited(0)
            }
            "panic" => panic!("{rest}"),
            _ => {
                last_line = Some(rest.to_owned()).filter(|line| !line.is_empty());
                EndCause::Exited(0)
            }
        };
        Ok(CommandEnd {
            cause,
            last_line,
            failure_line: None,
            written: 0,
            dropped: 0,
            output: None,
            launch: std::time::Duration::ZERO,
        })
    }

    async fn end(&self) -> OwnerEnd {
        let left = self.left.lock().expect("no test panics with it").take();
        left.unwrap_or(OwnerEnd::Childless)
    }

    async fn end_for_good(&self) -> OwnerEnd {
        self.end().await
    }

    async fn remove_temporary(&self) {}
}

impl Commands for FakeCommands {
    fn owner(self: Arc<Self>, variables: &VariableChoice) -> Arc<dyn CommandOwner> {
        self.choices.lock().expect("no test panics with it").push(variables.clone());
        self
    }
}
