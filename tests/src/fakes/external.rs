//! A stand-in for another program's agent, obedient to its prompt.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use engine::ports::{
    CancelLevel, CancelToken, ExternalWorkers, ReportSink, Worker, WorkerReport, WorkerStart,
};
use engine::task::Reminder;
use protocol::{AgentEnd, External, Failure, FailureClass, TaskSpec, Usage, Work};
use serde_json::Value;

use super::task;

/// Returns a task whose external program obeys `words`, one after another, separated by `;`:
/// `edit FILE` (in its workspace), `say LINE`, `use TOKENS`, `silent` (ends, and goes on with the
/// next word when it is reminded), `wait` (until it is asked to stop), `deaf` (to being asked),
/// `panic`. The last word is the JSON that it yields.
#[must_use]
pub fn external(name: &str, words: &str) -> TaskSpec {
    let work = Work::External(External { program: "other".to_owned(), prompt: words.to_owned() });
    TaskSpec { work, ..task(name, "") }
}

/// Knows the program `other`.
#[derive(Clone, Default)]
pub struct FakeExternal(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    edited: Vec<PathBuf>,
    reminders: Vec<Reminder>,
    opened: usize,
}

impl FakeExternal {
    /// Returns the files that were edited.
    #[must_use]
    pub fn edited(&self) -> Vec<PathBuf> {
        self.seen(|seen| seen.edited.clone())
    }

    /// Returns what workers were reminded of.
    #[must_use]
    pub fn reminders(&self) -> Vec<Reminder> {
        self.seen(|seen| seen.reminders.clone())
    }

    /// Returns how many workers there were.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.seen(|seen| seen.opened)
    }

    fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ExternalWorkers for FakeExternal {
    fn open(&self, external: &External, start: WorkerStart) -> Result<Arc<dyn Worker>, Failure> {
        if external.program != "other" {
            return Err(Failure::new(FailureClass::Invalid, "no such program"));
        }
        self.seen(|seen| seen.opened += 1);
        let words = external.prompt.split(';').map(|word| word.trim().to_owned());
        Ok(Arc::new(Program {
            words: Mutex::new(words.collect()),
            root: start.root,
            reports: start.reports,
            stop: CancelToken::default(),
            seen: self.clone(),
        }))
    }
}

struct Program {
    words: Mutex<VecDeque<String>>,
    root: PathBuf,
    reports: ReportSink,
    stop: CancelToken,
    seen: FakeExternal,
}

#[async_trait]
impl Worker for Program {
    async fn work(&self, reminder: Option<Reminder>) -> AgentEnd {
        self.seen.seen(|seen| seen.reminders.extend(reminder));
        loop {
            let word = self.words.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let word = word.unwrap_or_default();
            let (verb, rest) = word.split_once(' ').unwrap_or((&word, ""));
            match verb {
                "edit" => self.seen.seen(|seen| seen.edited.push(self.root.join(rest))),
                "say" => (self.reports)(WorkerReport::Line(rest.to_owned())),
                "use" => {
                    let input = rest.parse().unwrap_or(0);
                    (self.reports)(WorkerReport::Used(Usage { input, ..Usage::ZERO }));
                }
                "silent" => return AgentEnd::Silent("it said nothing".to_owned()),
                "wait" => {
                    self.stop.cancelled().await;
                    let failure = Failure::new(FailureClass::Crashed, "it was stopped");
                    return AgentEnd::Failed(failure);
                }
                "deaf" => std::future::pending().await,
                "panic" => panic!("the other program's adapter crashed"),
                _ => {
                    return AgentEnd::Yielded(serde_json::from_str(&word).unwrap_or(Value::Null));
                }
            }
        }
    }

    fn stop(&self, level: CancelLevel) {
        self.stop.cancel(level);
    }
}
