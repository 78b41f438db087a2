//! What it costs to start a command in a task, beside what a bare program pays for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
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

/// How many times longer a command may take, from its start until its end is known, than in a bare
/// program. The start alone waits for two other processes to be woken, which is what it costs more.
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
        Arc::new(Processes::new(launcher).owner())
    };
    let mut rounds = Vec::new();
    let mut held = Vec::new();
    while !Rounds::asked_for().suffice(10, &held) {
        // On a thread of the runtime, as the engine runs its commands: another thread would have to be
        // woken by one of those for each reply.
        let round = runtime.spawn(measure(Arc::clone(&owner)));
        let round = runtime.block_on(round).expect("nothing panics");
        held.push(round.ratio() <= SLOWEST);
        rounds.push(round);
    }
    // What a start costs is what is left where nothing else disturbed it.
    let quietest = rounds.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    let round = quietest.expect("there was a round");
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    report.figure("posix_spawn: start", micros(round.bare.start), "µs", Bound::None);
    report.figure("in a task: start", micros(round.owned.start), "µs", Bound::None);
    let start = round.owned.start.as_secs_f64() / round.bare.start.as_secs_f64();
    report.figure("in a task: start, times posix_spawn", start, "×", Bound::None);
    let bound = Bound::AtMost(SLOWEST);
    report.figure("in a task: start and end, times posix_spawn", round.ratio(), "×", bound);
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
    /// Returns how many times longer a command takes from its start to its end.
    fn ratio(&self) -> f64 {
        self.owned.whole.as_secs_f64() / self.bare.whole.as_secs_f64()
    }
}

async fn measure(owner: Arc<Owner>) -> Round {
    let (mut bare, mut owned) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        bare.push(spawn());
        owned.push(start(&owner).await);
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
