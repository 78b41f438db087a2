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

    /// Returns the processes that descend from `process` now, whatever their environment.
    #[must_use]
    pub fn below(process: Pid) -> Vec<Process> {
        let entries = fs::read_dir("/proc").expect("/proc can be listed");
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let all: Vec<_> = ids.filter_map(Process::read).collect();
        let mut below: Vec<Process> = Vec::new();
        let mut parents = vec![process.as_raw_nonzero().get()];
        while let Some(parent) = parents.pop() {
            let children = all.iter().filter(|process| process.parent == parent);
            for child in children {
                parents.push(child.id);
                below.push(child.clone());
            }
        }
        below
    }

    /// Kills those that live now.
    pub fn kill(&self) {
        for (id, _what) in self.alive() {
            let _gone = kill_process(id, Signal::KILL); // it may have ended meanwhile
        }
    }
}

/// A process, told apart from a later one with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: i32,
    /// What it runs.
    pub what: String,
    parent: i32,
    began: String,
}

impl Process {
    /// Reads what is known of a process that lives.
    fn read(id: i32) -> Option<Self> {
        let what = running(id)?;
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let mut fields = status.rsplit_once(')')?.1.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        Some(Self { id, what, parent, began: fields.nth(17)?.to_owned() })
    }

    /// Returns whether it lives.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        Self::read(self.id).is_some_and(|now| now.began == self.began)
    }

    /// Sends it a signal, unless it has ended.
    pub fn signal(&self, signal: Signal) {
        if self.is_alive()
            && let Some(id) = Pid::from_raw(self.id)
        {
            let _ended = kill_process(id, signal);
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
