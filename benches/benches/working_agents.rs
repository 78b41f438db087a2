//! What agents that work cost: they read, run a command, write and yield, beside a bare client that
//! sends the same requests and runs the same commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use benches::{
    BareCall, BareTurn, BareWork, Bound, Limit, Report, Rounds, Used, as_f64, bare_client,
    measured_binary, median, ms, percentile, phases, plan_of_agents, run_of_plan, scratch, used_by,
    was_bare_client,
};
use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, Pace, Script};
use tests::sandbox::Repository;

/// How many agents run at once.
const AGENTS: usize = 200;

/// How many run at once where the pauses between turns are measured.
const FEW: usize = 32;

/// How long the model thinks before each answer.
const THINKS: Duration = Duration::from_millis(50);

/// How many answers an agent gets.
const TURNS: usize = 4;

/// How many times the bare client's time over the planned delays the run may take over them.
const OVERHEAD: Limit = Limit { aim: 2.0, most: 3.0 };

/// How many milliseconds of the processor a further agent may cost, its command included.
const CPU: Limit = Limit { aim: 8.0, most: 15.0 };

/// How long the model thinks where the time of a whole run is measured, of how many agents, and how many
/// times the planned delays it may take.
const THINKS_LONG: Duration = Duration::from_secs(1);
const WHOLE_RUNS: [(usize, f64); 2] = [(8, 1.06), (FEW, 1.08)];

/// How many milliseconds of the processor [`FEW`] agents may cost, and how many MiB of memory.
const CPU_OF_FEW: Limit = Limit { aim: 300.0, most: 600.0 };
const MEMORY_OF_FEW: f64 = 60.0;

/// The 95th percentile of the time between an answer and the next request, in milliseconds.
const PAUSE: f64 = 150.0;

/// The command that each of them runs.
const COMMAND: &str = "wc -c README.md";

fn main() -> ExitCode {
    if was_bare_client() {
        return ExitCode::SUCCESS;
    }
    let binary = measured_binary();
    let mut report = Report::new(
        "working agents",
        "200 agents of four turns (read a file, run `wc`, write a file, yield) at once: `regatta run \
         --isolation none --jobs 200` against a model on the loopback that thinks for 50 ms before \
         each answer, from the prompt to the prompt. The bare client is a program that sends the \
         same requests, byte for byte, with the same HTTP library, and reads, runs and writes the \
         same, all 200 at once. Both are held against the planned delays, 4 × 50 ms. In turns, \
         medians; what an agent costs is what 200 cost more than one does, per agent, in the engine \
         and in every process that it started. A pause is from the end of the model's delay to the \
         next request of the same agent, as the model sees it, of 32 agents at once. The time of a \
         whole run is held against the planned delays of a model that thinks for a second.",
    );
    let agents = Rounds::asked_for().of(AGENTS, AGENTS);
    let few = Rounds::asked_for().of(FEW, FEW);
    let scratch = scratch();
    let repository = Repository::init(&scratch.path().join("app"));
    repository.write("README.md", "# App\n\nA small thing.\n");
    repository.write(".gitignore", "/out/\n");
    repository.commit("begin");
    let home = |round: usize| scratch.path().join(format!("home-{round}"));
    // The first round warms the caches for both sides.
    let _warm = measure(&binary, &home(0), &repository, agents);
    let (mut over, mut bare_over, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cpus, mut bare_cpus) = (Vec::new(), Vec::new());
    let (mut pauses, mut bare_pauses) = (Vec::new(), Vec::new());
    let (mut cpus_of_few, mut memory_of_few) = (Vec::new(), 0);
    let planned = THINKS * u32::try_from(TURNS).expect("few");
    let mut held = Vec::new();
    let mut last = home(0);
    while !Rounds::asked_for().suffice(8, &held) {
        last = home(held.len() + 1);
        let one = measure(&binary, &last, &repository, 1);
        let some = measure(&binary, &last, &repository, few);
        let many = measure(&binary, &last, &repository, agents);
        let beyond = |used: &Used| used.wall.saturating_sub(planned);
        let (run, bare) = (beyond(&many.run), beyond(&many.bare));
        let ratio = run.as_secs_f64() / bare.as_secs_f64().max(0.001);
        let each = |many: &Used, one: &Used| {
            let all = many.family_cpu.saturating_sub(one.family_cpu);
            Duration::from_secs_f64(all.as_secs_f64() / as_f64(agents - 1))
        };
        let cpu = each(&many.run, &one.run);
        let pause = percentile(&some.run_pauses, 95);
        held.push(ratio <= OVERHEAD.most && ms(cpu) <= CPU.most && ms(pause) <= PAUSE);
        over.push(run);
        bare_over.push(bare);
        ratios.push(ratio);
        cpus.push(cpu);
        bare_cpus.push(each(&many.bare, &one.bare));
        pauses.push(pause);
        bare_pauses.push(percentile(&some.bare_pauses, 95));
        cpus_of_few.push(some.run.family_cpu);
        memory_of_few = memory_of_few.max(some.run.peak_kilobytes);
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    let middle = |times: &[Duration]| ms(median(times));
    let what = |rest: &str| format!("{agents} agents: {rest}");
    let over_bare = middle(&bare_over);
    report.figure(&what("bare client over the planned delays"), over_bare, "ms", Bound::None);
    report.figure(&what("run over the planned delays"), middle(&over), "ms", Bound::None);
    report.figure(&what("run / bare client"), ratio, "×", Bound::Aim(OVERHEAD));
    let by_itself = middle(&bare_cpus);
    report.figure("CPU per further conversation of the bare client", by_itself, "ms", Bound::None);
    report.figure("CPU per further agent", middle(&cpus), "ms", Bound::Aim(CPU));
    let what = |who: &str| format!("{few} agents: 95 % of the pauses between two turns{who}");
    let bare = middle(&bare_pauses);
    report.figure(&what(", bare client"), bare, "ms", Bound::None);
    report.figure(&what(""), middle(&pauses), "ms", Bound::AtMost(PAUSE));
    let what = |what: &str| format!("{few} agents: {what}");
    report.figure(&what("CPU"), middle(&cpus_of_few), "ms", Bound::Aim(CPU_OF_FEW));
    let (memory, bound) = (as_f64(memory_of_few) / 1024.0, Bound::AtMost(MEMORY_OF_FEW));
    report.figure(&what("memory"), memory, "MiB", bound);
    whole_runs(&binary, scratch.path(), &repository, &mut report);
    let told = phases(&format!("{agents} agents"), &binary, &last, repository.root());
    told.into_iter().for_each(|told| report.note(told));
    report.finish()
}

/// Measures whole runs of few agents with a model that thinks as long as models do.
fn whole_runs(binary: &Path, scratch: &Path, repository: &Repository, report: &mut Report) {
    let planned = THINKS_LONG * u32::try_from(TURNS).expect("few");
    for (agents, most) in WHOLE_RUNS {
        let agents = Rounds::asked_for().of(agents, agents);
        let (mut ratios, mut held) = (Vec::new(), Vec::new());
        while !Rounds::asked_for().suffice(5, &held) {
            let home = scratch.join(format!("whole-{agents}-{}", held.len()));
            let model = TimedModel::start(THINKS_LONG);
            let wall = run_agents(binary, &home, repository, agents, &model).wall;
            let _pauses = model.end(agents);
            let ratio = wall.as_secs_f64() / planned.as_secs_f64();
            held.push(ratio <= most);
            ratios.push(ratio);
        }
        ratios.sort_by(f64::total_cmp);
        let what = format!("{agents} agents of a slow model: run / planned delays");
        report.figure(&what, ratios[ratios.len() / 2], "×", Bound::AtMost(most));
    }
}

/// One run, and the same by the bare client.
struct Measured {
    run: Used,
    run_pauses: Vec<Duration>,
    bare: Used,
    bare_pauses: Vec<Duration>,
}

fn measure(binary: &Path, home: &Path, repository: &Repository, agents: usize) -> Measured {
    let model = TimedModel::start(THINKS);
    let run = run_agents(binary, home, repository, agents, &model);
    let (asked, run_pauses) = model.end(agents);
    let again = TimedModel::start(THINKS);
    let url = format!("{}/chat/completions", again.server.base_url());
    let conversations = asked.into_iter().enumerate().map(|(agent, bodies)| {
        let turn = |(turn, body)| BareTurn { body, then: bare_call(&format!("t{agent}"), turn) };
        bodies.into_iter().enumerate().map(turn).collect()
    });
    let work = BareWork { url, conversations: conversations.collect() };
    let bare = used_by(bare_client(&work, &home.with_extension("work"), repository.root()));
    check_written(repository, agents, home);
    let (_asked, bare_pauses) = again.end(agents);
    Measured { run, run_pauses, bare, bare_pauses }
}

/// Runs so many agents, which is what the engine does.
fn run_agents(
    binary: &Path,
    home: &Path,
    repository: &Repository,
    agents: usize,
    model: &TimedModel,
) -> Used {
    let plan = plan_of_agents(agents, "Read, look, write and tell.");
    let mut run = run_of_plan(binary, home, repository, (&plan, AGENTS));
    run.args(["--model", &model.server.route(), "--base-url", &model.server.base_url()]);
    let run = used_by(run);
    check_written(repository, agents, home);
    run
}

/// Checks that each agent has written its file, and moves them beside `home`. They are not removed:
/// ext4 looks, for each new file, at every inode nearby that was deleted in the last minutes.
fn check_written(repository: &Repository, agents: usize, home: &Path) {
    let beside = home.parent().expect("it lies in a folder");
    let away = tempfile::tempdir_in(beside).expect("a folder can be made").keep().join("out");
    let out: PathBuf = repository.path("out");
    let written = std::fs::read_dir(&out).expect("agents have written").count();
    assert_eq!(written, agents, "each agent writes a file");
    std::fs::rename(out, away).expect("a folder can be moved");
}

/// A model that notes when it was asked.
struct TimedModel {
    server: LoopbackModel,
    times: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
}

impl TimedModel {
    /// Starts one that thinks for so long before each answer.
    fn start(thinks: Duration) -> Self {
        let server = LoopbackModel::start();
        server.pace(Pace::Events);
        let times = Arc::<Mutex<BTreeMap<String, Vec<Instant>>>>::default();
        let noted = Arc::clone(&times);
        server.otherwise(move |talk| {
            let (talk, noted) = (talk.to_owned(), Arc::clone(&noted));
            Box::new(move |asked: &Asked| {
                let mut noted = noted.lock().expect("noting does not panic");
                noted.entry(talk.clone()).or_default().push(Instant::now());
                answer(&talk, asked).after(thinks)
            }) as Box<dyn Script>
        });
        Self { server, times }
    }

    /// Returns the requests of each conversation, and all pauses between their turns.
    fn end(self, agents: usize) -> (Vec<Vec<String>>, Vec<Duration>) {
        assert_eq!(self.server.take_violations(), Vec::<String>::new());
        assert_eq!(self.server.requests(), TURNS * agents, "each agent asks so often");
        let bodies = |agent: usize| {
            let asked = self.server.asked(&format!("t{agent}")).into_iter();
            asked.map(|asked| String::from_utf8(asked.bytes).expect("a request is JSON")).collect()
        };
        let asked = (0..agents).map(bodies).collect();
        let times = self.times.lock().expect("noting does not panic");
        let pause = |two: &[Instant]| (two[1] - two[0]).saturating_sub(THINKS);
        let pauses = times.values().flat_map(|times| times.windows(2).map(pause)).collect();
        (asked, pauses)
    }
}

/// What the model says in the conversation `talk`.
fn answer(talk: &str, asked: &Asked) -> Answer {
    match bare_call(talk, asked.answers()) {
        BareCall::Read(path) => Answer::call("read", &json!({ "path": path })),
        BareCall::Run(command) => Answer::call("bash", &json!({ "command": command })),
        BareCall::Write(path, content) => {
            Answer::call("write", &json!({ "path": path, "content": content }))
        }
        BareCall::Nothing => Answer::yields(&json!({ "summary": "It is a small thing." })),
    }
}

/// What is done in a turn.
fn bare_call(talk: &str, turn: usize) -> BareCall {
    match turn {
        0 => BareCall::Read("README.md".into()),
        1 => BareCall::Run(COMMAND.into()),
        2 => BareCall::Write(format!("out/{talk}.txt"), format!("{talk} was here.\n").repeat(20)),
        _ => BareCall::Nothing,
    }
}
