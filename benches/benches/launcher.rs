//! What it costs to start a command in a task, beside what a bare program pays for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{PipeReader, Read as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::{Bound, Report, Rounds, measured_binary, median};
use engine::ports::{
    Namespaces, ProcessEnd, ProcessRequest, ProcessSession, ProcessStdio, Processes as _,
};
use exec::{Owner, Processes};

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many commands are started in each way in one round.
const STARTS: usize = 500;

/// How many times longer than in a bare program it may take until a command writes, and until its end
/// is known.
const SLOWEST: f64 = 1.5;

/// The program that is started: it writes one byte, the end of a line.
const PROGRAM: &str = "/bin/echo";

fn main() -> ExitCode {
    let mut report = Report::new(
        "launcher",
        "/bin/echo, which writes one byte to a pipe, started by the reaper of a task that stands, and \
         by posix_spawn(3) in a bare program, one by one, in turn. A program is executed when the call \
         that starts it returns, which is before its first instruction; it is started when its byte is \
         read, by the thread that has started it; it has ended when its end is known.",
    );
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    let mut launcher = Command::new(measured_binary());
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
        held.push([written, ended].iter().all(|moment| round.ratio(*moment) <= SLOWEST));
        rounds.push(round);
    }
    for (what, moment, bound) in [
        ("executed", executed as Moment, Bound::None),
        ("started", written, Bound::AtMost(SLOWEST)),
        ("ended", ended, Bound::AtMost(SLOWEST)),
    ] {
        let micros = |times: &dyn Fn(&Round) -> Duration| {
            median(&rounds.iter().map(times).collect::<Vec<_>>()).as_secs_f64() * 1e6
        };
        let bare = micros(&|round| moment(&round.bare));
        let owned = micros(&|round| moment(&round.owned));
        let mut ratios: Vec<_> = rounds.iter().map(|round| round.ratio(moment)).collect();
        ratios.sort_by(f64::total_cmp);
        report.figure(&format!("posix_spawn: {what}"), bare, "µs", Bound::None);
        report.figure(&format!("in a task: {what}"), owned, "µs", Bound::None);
        let times = format!("in a task: {what}, times posix_spawn");
        report.figure(&times, ratios[ratios.len() / 2], "×", bound);
    }
    runtime.block_on(async {
        let _ended = owner.end().await;
    });
    report.finish()
}

/// How long one command took until three moments, or the medians of many.
struct Times {
    executed: Duration,
    written: Duration,
    ended: Duration,
}

/// One of the moments.
type Moment = fn(&Times) -> Duration;

fn executed(times: &Times) -> Duration {
    times.executed
}

fn written(times: &Times) -> Duration {
    times.written
}

fn ended(times: &Times) -> Duration {
    times.ended
}

impl Times {
    /// Returns the medians.
    fn of(times: &[Self]) -> Self {
        let middle = |moment: Moment| median(&times.iter().map(moment).collect::<Vec<_>>());
        Self { executed: middle(executed), written: middle(written), ended: middle(ended) }
    }
}

struct Round {
    bare: Times,
    owned: Times,
}

impl Round {
    /// Returns how many times longer a command in a task takes until a moment.
    fn ratio(&self, moment: Moment) -> f64 {
        moment(&self.owned).as_secs_f64() / moment(&self.bare).as_secs_f64()
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

/// Waits for the byte that the program writes.
fn read_byte(mut reader: PipeReader) {
    let mut byte = [0];
    reader.read_exact(&mut byte).expect("the program writes a byte");
}

/// The standard library uses posix_spawn(3) for this.
fn spawn() -> Times {
    let began = Instant::now();
    let (reader, writer) = std::io::pipe().expect("a pipe can be had");
    let mut command = Command::new(PROGRAM);
    command.env_clear().stdin(Stdio::null()).stdout(writer).stderr(Stdio::null());
    let mut child = command.spawn().expect("it can be started");
    let executed = began.elapsed();
    read_byte(reader);
    let written = began.elapsed();
    let status = child.wait().expect("a child can be awaited");
    assert!(status.success());
    Times { executed, written, ended: began.elapsed() }
}

async fn start(owner: &Owner) -> Times {
    let began = Instant::now();
    let (reader, writer) = std::io::pipe().expect("a pipe can be had");
    let null = || File::options().read(true).write(true).open("/dev/null").map(Into::into);
    let null = || null().expect("it can be opened");
    let request = ProcessRequest {
        argv: vec![PROGRAM.into()],
        environment: BTreeMap::new(),
        folder: File::open("/").expect("it can be opened").into(),
        stdio: ProcessStdio { input: null(), output: writer.into(), error: null() },
        session: ProcessSession::Detached,
        limits: BTreeMap::new(),
        namespaces: Namespaces::Shared,
    };
    let mut process = owner.start(request).await.expect("it can be started");
    let executed = began.elapsed();
    read_byte(reader);
    let written = began.elapsed();
    let end = process.wait().await.expect("its end is known");
    assert_eq!(end, ProcessEnd::Exited(0));
    Times { executed, written, ended: began.elapsed() }
}
