//! `regatta runs show --timing`: how long the phases of a run's tasks took.

use std::time::Duration;

use engine::run::{PhaseTime, phase_times};
use protocol::{RunState, TaskTimings};
use serde::Serialize;

use super::context::{CommandContext, Out, print_json, say};
use super::target;
use crate::args::{Form, TargetArgs};
use crate::render::count;
use regatta::error::Error;
use regatta::runs::{Target, TargetKind};

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    run: &'a str,
    state: RunState,
    /// The number of tasks.
    tasks: usize,
    /// The number of tasks whose phases were measured.
    measured: usize,
    phases: Vec<Phase>,
}

#[derive(Serialize)]
struct Phase {
    phase: &'static str,
    count: usize,
    sum_ms: f64,
    median_ms: f64,
    p95_ms: f64,
}

/// Prints how long each phase took in the tasks of a run, or in one task.
///
/// # Errors
/// The run or task does not exist, or the ledger cannot be read.
pub(super) fn show(
    context: &CommandContext,
    given: &TargetArgs,
    out: Out<'_>,
) -> Result<(), Error> {
    let located = target::locate(context, given)?;
    let Target { run, tasks, kind } = &located.load(&context.runs)?;
    let timings = tasks.iter().filter_map(|row| row.report.as_ref()?.timings.as_deref().copied());
    let timings: Vec<TaskTimings> = timings.collect();
    // The verification and the landing are the run's, not those of one task.
    let of_run = match kind {
        TargetKind::Task => Vec::new(),
        TargetKind::Run => context.runs.reader.phase_times(run.id)?,
    };
    let times = phase_times(&timings, &of_run);
    if context.view.form == Form::Json {
        let document = Document {
            run: run.name.as_str(),
            state: run.state,
            tasks: tasks.len(),
            measured: timings.len(),
            phases: times.iter().map(Phase::of).collect(),
        };
        return print_json(out, &document);
    }
    let over = matches!(run.state, RunState::Finished | RunState::Interrupted);
    let ended = tasks.iter().filter(|row| row.report.is_some()).count();
    if !over {
        let all = count(tasks.len(), "task");
        say(out, &format!("run {} is still running; {ended} of {all} ended so far\n", run.name))?;
    }
    if timings.is_empty() {
        let why = match (over, ended) {
            (false, 0) => "no task has ended yet".to_owned(),
            (_, 0) => "no task was started".to_owned(),
            _ => format!(
                "run {} has no times: its tasks were not started, or an earlier version \
                          of regatta ran them",
                run.name
            ),
        };
        return say(out, &why);
    }
    say(out, &table(&times))
}

/// Returns the table of the phases.
fn table(times: &[PhaseTime]) -> String {
    let mut lines =
        vec![format!("{:8}  {:>5}  {:>9}  {:>9}  {:>9}", "phase", "count", "sum", "median", "95%")];
    for PhaseTime { phase, count, sum, median, p95 } in times {
        lines.push(format!(
            "{:8}  {count:>5}  {:>9}  {:>9}  {:>9}",
            phase.name(),
            brief(*sum),
            brief(*median),
            brief(*p95)
        ));
    }
    lines.join("\n")
}

/// Returns a duration with three digits or so: `0.27ms`, `27ms`, `2.7s`, `4m31s`.
fn brief(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    let seconds = time.as_secs();
    match ms {
        ..10.0 => format!("{ms:.2}ms"),
        ..1000.0 => format!("{ms:.0}ms"),
        ..10_000.0 => format!("{:.2}s", ms / 1000.0),
        ..60_000.0 => format!("{:.1}s", ms / 1000.0),
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

impl Phase {
    fn of(time: &PhaseTime) -> Self {
        // Microseconds are as exact as the ledger is.
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let PhaseTime { phase, count, sum, median, p95 } = *time;
        let (sum_ms, median_ms, p95_ms) = (ms(sum), ms(median), ms(p95));
        Self { phase: phase.name(), count, sum_ms, median_ms, p95_ms }
    }
}
