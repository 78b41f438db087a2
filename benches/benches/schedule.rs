//! What the engine itself costs: ten thousand tasks that do nothing, a thousand at a time.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use benches::{Bound, Limit, Report, Rounds, as_f64, median};
use protocol::{EventKind, TaskSpec};
use tests::fakes::{TestEngine, task};

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const QUEUED: usize = 10_000;
const RUNNING: usize = 1_000;

/// How many seconds the quietest round may take.
const SLOWEST: Limit = Limit { aim: 0.6, most: 1.3 };

/// How many kilobytes a running task may take, with its share of those that wait.
const MEMORY: Limit = Limit { aim: 48.0, most: 72.0 };

fn main() -> ExitCode {
    let mut report = Report::new(
        "schedule",
        "10,000 tasks on fakes, 1,000 at a time: from the submission to the last event, through \
         every actor, every ledger entry and every event. The first 1,000 wait until all of them \
         run; the rest end at once.",
    );
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    let (mut times, mut peak, mut memory) = (Vec::new(), 0, 0.0_f64);
    // What the engine costs is what is left where nothing else disturbed it.
    let mut quietest = f64::INFINITY;
    let mut held = Vec::new();
    while !Rounds::asked_for().suffice(20, &held) {
        let measured = runtime.block_on(measure());
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
    report.finish()
}

struct Measured {
    took: Duration,
    peak: usize,
    /// What the process grew by until a thousand ran and nine thousand waited, per running task.
    kilobytes: f64,
}

async fn measure() -> Measured {
    let mut engine = TestEngine::with_concurrency(RUNNING).await;
    engine.ledger.forget();
    let word = format!("gather {RUNNING}");
    let tasks: Vec<TaskSpec> = (0..QUEUED).map(|n| task(&format!("t{n}"), &word)).collect();
    let spec = engine.spec(tasks);
    let before = resident_kilobytes();
    let began = Instant::now();
    engine.submit(spec).await;
    let mut largest = before;
    let mut finished = 0;
    while finished < QUEUED {
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
    Measured { took, peak, kilobytes: grown / as_f64(RUNNING) }
}

/// Returns how much memory this process holds.
fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}
