//! What a run reads as after its last recovery, asked through the binary.

use serde_json::Value;

use super::story::Task;
use crate::sandbox::{Finished, Repository, Sandbox};

/// A run as `regatta runs` has it.
#[derive(Debug)]
pub(super) struct Reading {
    /// Its name.
    pub(super) run: String,
    /// Its state.
    pub(super) state: String,
    rows: Vec<Value>,
}

impl Reading {
    /// Reads the only run; nothing if there is none.
    pub(super) fn of(sandbox: &Sandbox, repository: &Repository) -> Option<Self> {
        let ask = |words: &str| {
            let asked = sandbox.regatta(repository.root()).words(words);
            asked.run().expect_code(0).json()
        };
        let runs = ask("runs --json");
        let runs = runs.as_array().expect("a list of runs is a list");
        assert!(runs.len() < 2, "one run was begun: {runs:?}");
        let run = runs.first()?["name"].as_str().expect("a run has a name").to_owned();
        let mut shown = ask(&format!("runs show {run} --json"));
        let state = shown["run"]["state"].as_str().expect("a run has a state").to_owned();
        let rows = shown["tasks"].take();
        let rows = rows.as_array().expect("a run has a list of tasks").clone();
        Some(Self { run, state, rows })
    }

    fn row(&self, task: &Task) -> &Value {
        let row = self.rows.iter().find(|row| row["name"] == task.name.as_str());
        row.unwrap_or_else(|| panic!("no row for {} in {:?}", task.name, self.rows))
    }

    /// Returns whether the task ended well.
    pub(super) fn is_done(&self, task: &Task) -> bool {
        self.row(task)["state"] == "done"
    }

    /// Returns whether the task has work in the task store.
    pub(super) fn has_work(&self, task: &Task) -> bool {
        self.row(task)["captured"]["changes"]["files"].as_u64().is_some_and(|files| files > 0)
    }

    /// Returns whether the work of the task is where it was meant to go.
    pub(super) fn has_landed(&self, task: &Task) -> bool {
        self.row(task)["landing"]["landing"] == "landed"
    }

    /// Shows the work of a task.
    pub(super) fn diff(&self, sandbox: &Sandbox, repository: &Repository, task: &str) -> Finished {
        let target = format!("{}/{task}", self.run);
        sandbox.regatta(repository.root()).words("diff").arg(target).run()
    }
}
