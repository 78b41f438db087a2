//! The command line of a run of many agents.

use std::path::Path;
use std::process::Command;

use tests::model::marker;
use tests::sandbox::{Plan, Repository};

/// Returns a plan of so many agents with this prompt. The conversation of the first is `t0`.
#[must_use]
pub fn plan_of_agents(agents: usize, prompt: &str) -> Plan {
    (0..agents).fold(Plan::default(), |plan, agent| {
        let talk = format!("t{agent}");
        plan.agent(&talk, &format!("{prompt} {}", marker(&talk)))
    })
}

/// Returns the command that runs a plan in the repository itself, so many tasks at once, and prints
/// events. The plan is written beside `home`.
///
/// # Panics
/// The plan cannot be written.
#[must_use]
pub fn run_of_plan(
    binary: &Path,
    home: &Path,
    repository: &Repository,
    (plan, jobs): (&Plan, usize),
) -> Command {
    let file = home.with_extension("toml");
    std::fs::write(&file, plan.text()).expect("a file can be written");
    let mut run = Command::new(binary);
    run.current_dir(repository.root())
        .env("REGATTA_HOME", home)
        // The bare client has it too. What the files of the user's own shell cost is not measured.
        .env("SHELL", "/bin/sh")
        .args(["run", "--json", "--isolation", "none", "--approval-mode", "yolo"])
        .args(["--jobs", &jobs.to_string(), "--plan"])
        .arg(&file);
    run
}
