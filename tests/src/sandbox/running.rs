//! The binary while it runs, and what it said when it has ended.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_limit::eventually;

/// How long anything may take before a test gives up. Far beyond what is expected, so that a slow
/// machine fails no test, and below the limit of a test, so that what was printed is shown.
const PATIENCE: Duration = Duration::from_secs(90);

/// A call of the binary that has not ended. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    said: String,
    id: Pid,
    ended: Receiver<ExitStatus>,
    lines: Receiver<String>,
    seen: String,
    errors: Arc<Mutex<Vec<u8>>>,
    reading_errors: Option<JoinHandle<()>>,
    over: bool,
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit code; 128 and the number of the signal if one ended it.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    said: String,
}

impl Running {
    pub(super) fn of(mut child: Child, said: String) -> Self {
        let id = Pid::from_raw(i32::try_from(child.id()).expect("ids are small"));
        let stdout = child.stdout.take().expect("its output is a pipe");
        let mut stderr = child.stderr.take().expect("its errors are a pipe");
        let (tell_line, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                if tell_line.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let errors = Arc::<Mutex<Vec<u8>>>::default();
        let told = Arc::clone(&errors);
        let reading_errors = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut piece) {
                told.lock().expect("reading does not panic").extend_from_slice(&piece[..read]);
            }
        });
        let (tell_end, ended) = channel();
        std::thread::spawn(move || tell_end.send(child.wait().expect("a child can be awaited")));
        let id = id.expect("a child has an id");
        let (seen, reading_errors) = (String::new(), Some(reading_errors));
        Self { said, id, ended, lines, seen, errors, reading_errors, over: false }
    }

    /// Returns its process.
    #[must_use]
    pub fn id(&self) -> Pid {
        self.id
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.id, signal).expect("it lives");
    }

    /// Returns the next line of its standard output as an event; nothing at its end.
    pub fn next_event(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.seen.push_str(&line);
                let event = serde_json::from_str(&line);
                Some(event.unwrap_or_else(|error| panic!("{error} in event {line:?}")))
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{}: silent for {PATIENCE:?}", self.said),
        }
    }

    /// Sends it SIGINT, and waits until it tells `answer` on its standard error: the next one could
    /// arrive as one with this. It may have ended.
    pub fn interrupt(&self, answer: &str) {
        let _ended = kill_process(self.id, Signal::INT); // then there is nobody to interrupt
        self.until_told(answer);
    }

    /// Waits until it has told `words` on its standard error, or has closed that.
    ///
    /// # Panics
    /// When it does neither.
    pub fn until_told(&self, words: &str) {
        let is_over = || self.reading_errors.as_ref().is_none_or(JoinHandle::is_finished);
        eventually(PATIENCE, words, || is_over() || self.errors().contains(words));
    }

    /// Returns what it has told on its standard error.
    fn errors(&self) -> String {
        let errors = self.errors.lock().expect("reading does not panic");
        String::from_utf8_lossy(&errors).into_owned()
    }

    /// Reads events until one is of this type, and returns it.
    ///
    /// # Panics
    /// When none comes.
    pub fn until(&mut self, kind: &str) -> Value {
        self.until_event(kind, |event| event["type"] == kind)
    }

    /// Reads events until `wanted` says yes to one, and returns it.
    ///
    /// # Panics
    /// When none comes; `what` was awaited.
    pub fn until_event(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        while let Some(event) = self.next_event() {
            if wanted(&event) {
                return event;
            }
        }
        panic!("{}: ended before {what}:\n{}", self.said, self.seen)
    }

    /// Kills it with SIGKILL, unless it has just ended, and waits until it is gone.
    pub fn kill(self) -> Finished {
        let _ended = kill_process(self.id, Signal::KILL);
        self.wait()
    }

    /// Waits until it ends.
    ///
    /// # Panics
    /// When it does not.
    pub fn wait(self) -> Finished {
        self.wait_until(Instant::now() + PATIENCE)
    }

    /// Waits until it ends, and kills it with SIGKILL if that takes longer than `patience`.
    #[must_use]
    pub fn wait_for(self, patience: Duration) -> Finished {
        let deadline = Instant::now() + PATIENCE;
        match self.ended.recv_timeout(patience) {
            Ok(status) => self.finish(status, deadline),
            Err(_) => self.kill(),
        }
    }

    fn wait_until(self, deadline: Instant) -> Finished {
        let status = self.ended.recv_timeout(PATIENCE);
        let status = status.unwrap_or_else(|_| panic!("{} does not end", self.said));
        self.finish(status, deadline)
    }

    fn finish(mut self, status: ExitStatus, deadline: Instant) -> Finished {
        self.over = true;
        while let Ok(line) = self.lines.recv_timeout(deadline - Instant::now()) {
            self.seen.push_str(&line);
        }
        let reading = self.reading_errors.take().expect("only waiting takes it");
        reading.join().expect("reading does not panic");
        Finished {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            stdout: std::mem::take(&mut self.seen),
            stderr: self.errors(),
            said: std::mem::take(&mut self.said),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            let _gone = kill_process(self.id, Signal::KILL); // it may just have ended
        }
    }
}

impl Finished {
    /// Checks the exit code, and shows everything that was said when it is another.
    ///
    /// # Panics
    /// When it is another.
    #[must_use]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code of {self}");
        self
    }

    /// Returns its standard output as events, one per line.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let event = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {self}"));
        self.stdout.lines().map(event).collect()
    }

    /// Returns the events of one type.
    #[must_use]
    pub fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// Returns the `task_finished` event of one task.
    ///
    /// # Panics
    /// When there is not exactly one.
    #[must_use]
    pub fn task(&self, name: &str) -> Value {
        let mut ends = self.events_of("task_finished");
        ends.retain(|event| event["task"] == name);
        assert_eq!(ends.len(), 1, "task_finished of {name} in {self}");
        ends.remove(0)
    }

    /// Returns the name of the run.
    #[must_use]
    pub fn run_name(&self) -> String {
        self.events()[0]["run"].as_str().expect("each event names its run").to_owned()
    }

    /// Returns the names in the events of one type, sorted.
    #[must_use]
    pub fn names_in(&self, kind: &str) -> Vec<String> {
        let name = |event: &Value| event["task"].as_str().map(str::to_owned);
        let mut names: Vec<_> = self.events_of(kind).iter().filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// Returns the tasks whose work is where it was meant to go, sorted.
    #[must_use]
    pub fn landed(&self) -> Vec<String> {
        self.names_in("task_landed")
    }

    /// Returns standard output as one JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self}"))
    }

    /// Checks that this is one refusal: exit code 1, nothing on standard output, and on standard
    /// error `error: ` with each of `words` in it.
    ///
    /// # Panics
    /// When it is not.
    pub fn expect_refusal(&self, words: &[&str]) {
        assert_eq!(self.code, 1, "exit code of {self}");
        assert_eq!(self.stdout, "", "standard output of {self}");
        let errors = self.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "one error in {self}");
        let said = self.stderr.to_lowercase();
        for word in words {
            assert!(said.contains(&word.to_lowercase()), "`{word}` in {self}");
        }
        for internal in ["panicked", "Error {", "Some(", "Os {", "RUST_BACKTRACE"] {
            assert!(!self.stderr.contains(internal), "no `{internal}` in {self}");
        }
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, said } = self;
        write!(f, "{said}\n-- ended with {code}\n-- stdout\n{stdout}\n-- stderr\n{stderr}")
    }
}
