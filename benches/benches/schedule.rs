//! What the engine itself costs: ten thousand tasks that do nothing, a thousand at a time, and ten
//! times as many.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use benches::{Bound, Limit, Report, Rounds, as_f64, median};
use protocol::{EventKind, TaskSpec};
use tests::fakes::{TestEngine, task};
use tokio::runtime::Runtime;

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const QUEUED: usize = 10_000;
const RUNNING: usize = 1_000;

/// How many times as many are queued and run in the full form, too.
const MORE: usize = 10;

/// How many rounds there are of these.
const ROUNDS_OF_MORE: usize = 3;

/// How many times as long they may take, in their quietest round.
const GROWTH: f64 = 12.0;

/// How many seconds the quietest round may take.
const SLOWEST: Limit = Limit { aim: 0.6, most: 1.0 };

/// How many kilobytes a running task may take, with its share of those that wait.
const MEMORY: Limit = Limit { aim: 48.0, most: 60.0 };

fn main() -> ExitCode {
    let mut report = Report::new(
        "schedule",
        "10,000 tasks on fakes, 1,000 at a time: from the submission to the last event, through \
         every actor, every ledger entry and every event. The first 1,000 wait until all of them \
         run; the rest end at once. The full form does the same with ten times as many of both.",
    );
    let runtime = Runtime::new().expect("a runtime can be had");
    let (mut times, mut peak, mut memory) = (Vec::new(), 0, 0.0_f64);
    // What the engine costs is what is left where nothing else disturbed it.
    let mut quietest = f64::INFINITY;
    let mut held = Vec::new();
    while !Rounds::asked_for().suffice(20, &held) {
        let measured = of_tasks(&runtime, QUEUED, RUNNING);
        times.push(measured.took);
        quietest = quietest.min(measured.took.as_secs_f64());
        held.push(quietest <= SLOWEST.most);
        peak = peak.max(measured.peak);
        memory = memory.max(measured.kilobytes);
    }
    let middle = median(&times).as_secs_f64();
    report.figure("10,000 tasks, 1,000 at a time: median", middle, "s", Bound::None);
    report.figure("10,000 tasks: quietest round", quietest, "s", Bound::Aim(SLOWEST));
    report.figure("tasks running at the same time", as_f64(peak), "tasks", Bound::Exactly(1000.0));
    report.figure("memory per running task", memory, "KB", Bound::Aim(MEMORY));
    if Rounds::asked_for() == Rounds::Full {
        let (queued, running) = (QUEUED * MORE, RUNNING * MORE);
        let more = || of_tasks(&runtime, queued, running);
        let rounds: Vec<_> = (0..ROUNDS_OF_MORE).map(|_| more()).collect();
        let quietest_of_more = rounds.iter().map(|round| round.took).min().unwrap_or_default();
        let growth = quietest_of_more.as_secs_f64() / quietest;
        let peak = rounds.iter().map(|round| round.peak).max().unwrap_or_default();
        let what = "100,000 tasks, 10,000 at a time: quietest round, times that of 10,000";
        report.figure(what, growth, "×", Bound::AtMost(GROWTH));
        let all = Bound::Exactly(as_f64(running));
        report.figure("of these, running at the same time", as_f64(peak), "tasks", all);
    }
    report.finish()
}

struct Measured {
    took: Duration,
    peak: usize,
    /// What the process grew by until so many ran and the rest waited, per running task.
    kilobytes: f64,
}

/// Measures in a task of the runtime. Outside, a thread would be woken for each event, which the
/// program's own display is not: it lets events gather.
fn of_tasks(runtime: &Runtime, queued: usize, running: usize) -> Measured {
    runtime.block_on(async { runtime.spawn(measure(queued, running)).await.expect("it ends") })
}

async fn measure(queued: usize, running: usize) -> Measured {
    let mut engine = TestEngine::with_concurrency(running).await;
    engine.ledger.forget();
    let word = format!("gather {running}");
    let tasks: Vec<TaskSpec> = (0..queued).map(|n| task(&format!("t{n}"), &word)).collect();
    let spec = engine.spec(tasks);
    let before = resident_kilobytes();
    let began = Instant::now();
    engine.submit(spec).await;
    let mut largest = before;
    let mut finished = 0;
    while finished < queued {
        let event = engine.next().await;
        if let EventKind::TaskFinished { .. } = event.kind {
            if finished == 0 {
                largest = resident_kilobytes();
            }
            finished += 1;
        }
    }
    engine.find(|event| matches!(event, EventKind::RunFinished { .. }).then_some(())).await;
    let took = began.elapsed();
    let peak = engine.commands.peak();
    let grown = as_f64(largest.saturating_sub(before));
    engine.engine.close().await;
    Measured { took, peak, kilobytes: grown / as_f64(running) }
}

/// Returns how much memory this process holds.
fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}
