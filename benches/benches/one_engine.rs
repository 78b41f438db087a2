//! What one engine keeps of the runs and sessions that have ended in it: nothing.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use actors::{Engine, Submission};
use benches::{Bound, Report, Rounds, SampleTree, as_f64, scratch};
use config::{DataPaths, Settings, Sources};
use engine::fault::Faults;
use engine::prompt::{Environment, Role, SystemPrompt};
use protocol::{
    EventKind, InputId, IsolationMode, MergeMode, ModelRoute, OnFailure, RunId, RunSpec,
    SessionEvent, UserInput, VerifySpec, WorkspaceNeeds,
};
use regatta::app_context::AppContext;
use rustix::time::{ClockId, clock_gettime};
use test_limit::within;
use tests::fakes::task;

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many runs and how many sessions there are, one after the other.
const ROUNDS: usize = 200;

/// How many of them are measured in the short form.
const SHORT: usize = 45;

/// How many runs and sessions there are side by side, at last.
const AT_ONCE: usize = 20;

/// How many more descriptors or threads may wait for what comes next if more worked at the same moment. What
/// a run or session leaves behind would be ten times as many.
const WAITING: usize = 2;

/// How many runs there are before the one whose processor time is compared with that of the first ones.
const RUNS: usize = 1_000;

/// How many times the processor time of the first runs a late one may take.
const GROWTH: f64 = 1.2;

/// How much the memory may grow from the middle third to the last: so many KiB, or this share.
const MEMORY: f64 = 2_048.0;
const MEMORY_SHARE: f64 = 0.05;

/// What the model says.
const SCENARIO: &str = "version = 1\n[[turn]]\ntext = \"Hello.\"\n";

fn main() -> ExitCode {
    // The engine starts this program again to run the commands of tasks.
    regatta::launch();
    let mut report = Report::new(
        "one engine",
        "One engine in which runs of a command that changes a file, and sessions of one answer, follow each \
         other: what the process holds after a third of them, after two thirds and at the end, and what the \
         processor does for a late run.",
    );
    let scratch = scratch();
    let measured = measure(scratch.path(), &mut report);
    if let Err(error) = measured {
        report.note(format!("it failed: {error}"));
        report.figure("failures", 1.0, "", Bound::Exactly(0.0));
    }
    report.finish()
}

fn measure(folder: &Path, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let root = folder.join("repository");
    fs::create_dir(&root)?;
    let _sample = SampleTree::make(&root, 100);
    let scenario = folder.join("scenario.toml");
    fs::write(&scenario, SCENARIO)?;
    let app = app(&folder.join("home"))?;
    let model: ModelRoute = format!("offline/{}", scenario.display()).parse()?;
    // Threads that nothing needs any more end soon, so that those that are kept are seen.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_keep_alive(Duration::from_millis(200)).build()?;
    let bench = Bench { app: &app, root: &root, folder, model };
    runtime.block_on(bench.measure(report))
}

fn app(home: &Path) -> Result<AppContext, Box<dyn Error>> {
    let variable = |name: &str| (name == "REGATTA_HOME").then(|| OsString::from(home));
    let places = DataPaths::resolve(variable)?;
    let file = places.config_file();
    let sources = Sources { file: &file, home: None, variable: &|_| None, flags: &[] };
    let (settings, _unknown) = Settings::load(&sources)?;
    AppContext::build(places, settings, Faults::default()).map_err(|error| error.to_string().into())
}

struct Bench<'a> {
    app: &'a AppContext,
    root: &'a Path,
    folder: &'a Path,
    model: ModelRoute,
}

/// What the process holds at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    kilobytes: usize,
    descriptors: usize,
    threads: usize,
}

impl Bench<'_> {
    async fn measure(&self, report: &mut Report) -> Result<(), Box<dyn Error>> {
        let capacity = NonZeroUsize::new(AT_ONCE).expect("it is not zero");
        let engine = self.app.open_engine(capacity).await.map_err(|error| error.to_string())?;
        let rounds = Rounds::asked_for().of(ROUNDS, SHORT);
        let mut thirds = Vec::new();
        let mut number = 0;
        for _third in 0..3 {
            for _ in 0..rounds.div_ceil(3) {
                self.run(&engine, number).await?;
                self.session(&engine, number).await?;
                number += 1;
            }
            thirds.push(settled(thirds.last().copied()));
        }
        let [_, middle, last] = thirds[..] else { return Err("there are three thirds".into()) };
        let growth = as_f64(last.kilobytes) - as_f64(middle.kilobytes);
        let most = MEMORY.max(MEMORY_SHARE * as_f64(middle.kilobytes));
        report.figure(
            "memory after two thirds",
            as_f64(middle.kilobytes) / 1_024.0,
            "MiB",
            Bound::None,
        );
        report.figure(
            "its growth in the last third",
            growth.max(0.0),
            "KiB",
            Bound::AtMost(most.round()),
        );
        let kept = |what: usize| Bound::AtMost(as_f64(what));
        report.figure("descriptors", as_f64(last.descriptors), "", kept(middle.descriptors));
        report.figure("threads", as_f64(last.threads), "", kept(middle.threads));
        // The first of them show how many processes and threads wait for what comes next.
        let mut most = Held::default();
        for _ in 0..3 {
            number = self.side_by_side(&engine, number).await?;
            let now = settled(None);
            most.descriptors = most.descriptors.max(now.descriptors);
            most.threads = most.threads.max(now.threads);
        }
        number = self.side_by_side(&engine, number).await?;
        let last = settled(Some(most));
        let what = format!("descriptors after {AT_ONCE} of both side by side, four times");
        report.figure(&what, as_f64(last.descriptors), "", kept(most.descriptors + WAITING));
        let what = format!("threads after {AT_ONCE} of both side by side, four times");
        report.figure(&what, as_f64(last.threads), "", kept(most.threads + WAITING));

        if Rounds::asked_for() == Rounds::Full {
            let mut times = Vec::new();
            for _ in 0..10 {
                times.push(self.timed(&engine, &mut number).await?);
            }
            while number < RUNS {
                self.run(&engine, number).await?;
                number += 1;
            }
            let mut late = Vec::new();
            for _ in 0..10 {
                late.push(self.timed(&engine, &mut number).await?);
            }
            let least = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
            let ratio = least(&late).as_secs_f64() / least(&times).as_secs_f64();
            let what = "processor time of a run after 1,000, times that of the first ones";
            report.figure(what, ratio, "×", Bound::AtMost(GROWTH));
        }
        engine.close().await;
        Ok(())
    }

    /// Starts so many runs and sessions at the same time, and waits for their ends.
    async fn side_by_side(&self, engine: &Engine, number: usize) -> Result<usize, Box<dyn Error>> {
        let many = (number..number + AT_ONCE).map(|number| async move {
            let both = futures_util::join!(self.run(engine, number), self.session(engine, number));
            both.0.and(both.1)
        });
        for ended in futures_util::future::join_all(many).await {
            ended?;
        }
        Ok(number + AT_ONCE)
    }

    /// Returns the processor time of a run, without that of its commands.
    async fn timed(&self, engine: &Engine, number: &mut usize) -> Result<Duration, Box<dyn Error>> {
        let before = processor_time();
        self.run(engine, *number).await?;
        *number += 1;
        Ok(processor_time().saturating_sub(before))
    }

    /// Runs one task to its end.
    async fn run(&self, engine: &Engine, number: usize) -> Result<(), Box<dyn Error>> {
        let repository = self.app.isolation.open(self.root).await?;
        let script = format!("echo {number} > result-{}.txt", number % AT_ONCE);
        let spec = RunSpec {
            id: RunId::generate(),
            label: None,
            repo: self.root.to_owned(),
            subfolder: Default::default(),
            tasks: vec![task("one", &script)],
            jobs: NonZeroUsize::MIN,
            isolation: IsolationMode::Worktree,
            merge: MergeMode::Patch,
            stack: None,
            land: protocol::LandTime::End,
            on_failure: OnFailure::Continue,
            union: Vec::new(),
            branch_prefix: "regatta".to_owned(),
            untracked_limit: u64::MAX,
            pass_env: Vec::new(),
            needs: WorkspaceNeeds::default(),
            verify: VerifySpec::default(),
            commits: protocol::CommitSubjects::default(),
            group: None,
            retry: None,
            caller: None,
        };
        let mut run = engine.run(Submission::new(spec, repository)).await?;
        let landed = match run.outcome().await {
            Ok(outcome) => outcome.totals.landed,
            Err(failure) => return Err(failure.message.into()),
        };
        if landed == 1 { Ok(()) } else { Err(format!("run {number} landed {landed} tasks").into()) }
    }

    /// Holds one conversation.
    async fn session(&self, engine: &Engine, number: usize) -> Result<(), Box<dyn Error>> {
        let role = Role::Own("You work in a folder. Answer in one line.".to_owned());
        let system = SystemPrompt::of(role, Environment::default());
        let log = self.folder.join(format!("home/sessions/one/{number}.jsonl"));
        let (spec, tools) =
            self.app.session_in(self.folder.to_owned(), self.model.clone(), system, log);
        let (session, mut events) = engine.open_session(spec, tools).await?;
        session.prompt(UserInput::new(InputId::generate(), "Hello?"));
        while let Some(event) = events.recv().await {
            let EventKind::SessionEvent { event, .. } = &event.kind else { continue };
            if matches!(event, SessionEvent::AgentEnd { .. }) {
                break;
            }
        }
        session.close().await;
        Ok(())
    }
}

/// Returns what this process holds when what goes on after the end of a run or session, such as the syncs of
/// a log, is over: no more descriptors and threads than `before`. Waits 30 seconds at most.
fn settled(before: Option<Held>) -> Held {
    let is_over = |before: Held| {
        let now = held();
        now.descriptors <= before.descriptors && now.threads <= before.threads
    };
    if let Some(before) = before {
        // The runtime's other threads go on meanwhile. What is left after that is in the figures.
        let _in_time = within(Duration::from_secs(30), || is_over(before));
    }
    held()
}

/// Returns what this process holds.
fn held() -> Held {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or_default()
    };
    let descriptors = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    Held { kilobytes: number("VmRSS:"), descriptors, threads: number("Threads:") }
}

/// Returns the processor time of this process until now.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
