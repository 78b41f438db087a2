//! The arguments of `regatta why`.

use clap::Args;

use super::TargetArgs;

pub(super) const HELP: &str = "\
Explains in one sentence why a task waits, what it does, or how it ended; of a
run, how far it is and what each open task waits for.

Examples:
  regatta why                  the latest run
  regatta why r7k3f/auth       one task of it
  regatta why @ src/auth.rs    the same, by its item
  regatta why r7k3f --json";

pub(super) const DETAILS: &str = "\
Targets:
  RUN        a run, by its name or the beginning of it; @ is the latest
  RUN/TASK   a task of a run, by its name or its item; also RUN TASK
  TASK       a task of the latest run

A task waits for its predecessors, for a place among the tasks of its run or of
its engine, for its workspace, for its provider account, for its subagents, or
for its landing. While it works, only its engine knows whether it waits for an
answer: the terminal of the run shows it.

JSON:
  --json prints one object with the fields run, why and tasks; each task has
  task, state and why. state is predecessors, limit, capacity, workspace,
  account, subagents, working, lands_later, landing, ended or interrupted.";

/// The arguments of `regatta why`.
#[derive(Args, Clone, Debug, Default)]
pub struct WhyArgs {
    /// What to explain.
    #[command(flatten)]
    pub target: TargetArgs,
}
