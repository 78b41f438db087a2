//! Finds the processes that a sandbox's engine started, however they hide: by a word in the
//! environment that they all inherit.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The processes with one mark in their environment.
#[derive(Clone, Debug)]
pub struct Processes {
    mark: String,
}

impl Processes {
    /// The variable that carries the mark.
    pub const VARIABLE: &str = "REGATTA_TEST_MARK";

    /// Returns the processes whose environment carries `mark`.
    #[must_use]
    pub fn marked(mark: &str) -> Self {
        Self { mark: mark.to_owned() }
    }

    /// Returns those that live now: their ids and what they run. Zombies do not count.
    #[must_use]
    pub fn alive(&self) -> Vec<(Pid, String)> {
        let needle = format!("{}={}", Self::VARIABLE, self.mark).into_bytes();
        let entries = fs::read_dir("/proc").expect("/proc can be listed");
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let marked = ids.filter(|id: &i32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == needle)
        });
        marked.filter_map(|id| Some((Pid::from_raw(id)?, running(id)?))).collect()
    }

    /// Kills those that live now.
    pub fn kill(&self) {
        for (id, _what) in self.alive() {
            let _gone = kill_process(id, Signal::KILL); // it may have ended meanwhile
        }
    }
}

/// What a process runs; nothing if it has ended and only waits to be collected.
fn running(id: i32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let state = status.rsplit_once(')')?.1.trim_start().chars().next()?;
    let line = fs::read(format!("/proc/{id}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    (!matches!(state, 'Z' | 'X')).then(|| format!("{id} {}", line.trim()))
}
