//! What it costs to start a command in a task, beside what a bare program pays for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use benches::{Bound, Report, Rounds, median, release_binary};
use engine::ports::{
    Namespaces, ProcessEnd, ProcessRequest, ProcessSession, ProcessStdio, Processes as _,
};
use exec::{Owner, Processes};

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many commands are started in each way in one round.
const STARTS: usize = 500;

/// How many times longer a start may take than in a bare program.
const SLOWEST: f64 = 1.5;

/// The program that is started.
const PROGRAM: &str = "/bin/true";

fn main() -> ExitCode {
    let mut report = Report::new(
        "launcher",
        "/bin/true, started by the reaper of a task that stands, and by posix_spawn(3) in a bare \
         program, one by one, in turn. A start has ended when the program is executed, a command \
         when its end is known.",
    );
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    let mut launcher = Command::new(release_binary());
    launcher.arg("__launcher").env_clear();
    let owner = {
        let _entered = runtime.enter();
        Processes::new(launcher).owner()
    };
    let mut rounds = Vec::new();
    let mut held = Vec::new();
    while !Rounds::asked_for().suffice(10, &held) {
        let round = runtime.block_on(measure(&owner));
        held.push(round.start_ratio() <= SLOWEST);
        rounds.push(round);
    }
    // What a start costs is what is left where nothing else disturbed it.
    let quietest = rounds.iter().min_by(|a, b| a.start_ratio().total_cmp(&b.start_ratio()));
    let round = quietest.expect("there was a round");
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    report.figure("posix_spawn: start", micros(round.bare.start), "µs", Bound::None);
    report.figure("in a task: start", micros(round.owned.start), "µs", Bound::None);
    let bound = Bound::AtMost(SLOWEST);
    report.figure("in a task: start, times posix_spawn", round.start_ratio(), "", bound);
    let whole = round.owned.whole.as_secs_f64() / round.bare.whole.as_secs_f64();
    report.figure("in a task: start and end, times posix_spawn", whole, "", Bound::None);
    runtime.block_on(async {
        let _ended = owner.end().await;
    });
    report.finish()
}

/// The medians of one way to start a program.
struct Times {
    start: Duration,
    whole: Duration,
}

impl Times {
    fn of(times: &[(Duration, Duration)]) -> Self {
        let (starts, wholes): (Vec<_>, Vec<_>) = times.iter().copied().unzip();
        Self { start: median(&starts), whole: median(&wholes) }
    }
}

struct Round {
    bare: Times,
    owned: Times,
}

impl Round {
    fn start_ratio(&self) -> f64 {
        self.owned.start.as_secs_f64() / self.bare.start.as_secs_f64()
    }
}

async fn measure(owner: &Owner) -> Round {
    let (mut bare, mut owned) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        bare.push(spawn());
        owned.push(start(owner).await);
    }
    Round { bare: Times::of(&bare), owned: Times::of(&owned) }
}

/// The standard library uses posix_spawn(3) for this.
fn spawn() -> (Duration, Duration) {
    let began = Instant::now();
    let mut command = Command::new(PROGRAM);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it can be started");
    let started = began.elapsed();
    let status = child.wait().expect("a child can be awaited");
    assert!(status.success());
    (started, began.elapsed())
}

async fn start(owner: &Owner) -> (Duration, Duration) {
    let began = Instant::now();
    let null = || File::options().read(true).write(true).open("/dev/null").map(Into::into);
    let null = || null().expect("it can be opened");
    let request = ProcessRequest {
        argv: vec![PROGRAM.into()],
        environment: BTreeMap::new(),
        folder: File::open("/").expect("it can be opened").into(),
        stdio: ProcessStdio { input: null(), output: null(), error: null() },
        session: ProcessSession::Detached,
        limits: BTreeMap::new(),
        namespaces: Namespaces::Shared,
    };
    let mut process = owner.start(request).await.expect("it can be started");
    let started = began.elapsed();
    let end = process.wait().await.expect("its end is known");
    assert_eq!(end, ProcessEnd::Exited(0));
    (started, began.elapsed())
}
