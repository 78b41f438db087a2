//! What two hundred agents cost beside what their models take: the same requests, sent by a client
//! that does nothing else, are the ideal.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use benches::{
    Bound, Limit, Replay, Report, Rounds, Used, as_f64, measured_binary, median, ms, phases,
    plan_of_agents, run_of_plan, scratch, session_files, used_by, wrote_session_files,
};
use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, Pace, Script};
use tests::sandbox::Repository;

/// How many agents run at once.
const AGENTS: usize = 200;

/// How long the model thinks before each answer.
const THINKS: Duration = Duration::from_millis(50);

/// How many milliseconds the run may take over the ideal.
const OVERHEAD: Limit = Limit { aim: 200.0, most: 500.0 };

/// How many milliseconds of the processor a further agent may cost beside its files.
const CPU: Limit = Limit { aim: 1.5, most: 2.5 };

/// How many milliseconds of the processor the files of a session cost by themselves on a quiet machine. They
/// are measured in the same rounds: where they cost more, the machine is as much slower.
const FILES: f64 = 0.4;

/// Returns the limit on a machine on which the files of a session cost `files` milliseconds. What is aimed at
/// stays.
fn on_this_machine(limit: Limit, files: f64) -> Limit {
    Limit { most: limit.most * (files / FILES).max(1.0), ..limit }
}

/// How many kilobytes of memory a further agent may take. On machines that are slower or do other
/// things, more agents ask and answer at the same time.
const MEMORY: Limit = Limit { aim: 150.0, most: 200.0 };

/// How many megabytes of events a run of all agents may give.
const EVENTS: f64 = 1.0;

/// Of how many agents the events are compared with those of four times as many, or as many turns.
const FEW: usize = 50;

/// How many times the events of a run those of four times the work may have: they grow with it (what
/// grows with its square gives 16). Progress is reported by time, so a slow machine has a little more of it.
const FOUR_TIMES: f64 = 6.0;

fn main() -> ExitCode {
    if wrote_session_files() {
        return ExitCode::SUCCESS;
    }
    let binary = measured_binary();
    let mut report = Report::new(
        "agents",
        "200 agents of two turns (read a file, yield) at once: `regatta run --isolation none \
         --jobs 200` against a model on the loopback that thinks for 50 ms before each answer, \
         from the prompt to the prompt. The ideal is the same requests, byte for byte, sent by a \
         bare client at the same concurrency. In turns, medians; what an agent costs is what 200 \
         cost more than one does, per agent; the files of its session by themselves, which are of \
         the same number and length and as durable, are written by a program that does nothing \
         else. The events are those of `--json`, in bytes, also of 50 agents, of four times as many, \
         and of as many with four times the turns.",
    );
    let (mut overheads, mut ideals, mut walls) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cpus, mut files, mut memories) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    let scratch = scratch();
    let repository = Repository::init(&scratch.path().join("app"));
    repository.write("README.md", "# App\n\nA small thing.\n");
    repository.commit("begin");
    let home = |round: usize| scratch.path().join(format!("home-{round}"));
    // The first round warms the caches for both sides.
    for agents in [1, AGENTS] {
        measure(&binary, &home(0), &repository, agents);
    }
    let mut least = Duration::MAX;
    let mut held = Vec::new();
    while !Rounds::asked_for().suffice(12, &held) {
        let home = home(held.len() + 1);
        let one = measure(&binary, &home, &repository, 1);
        let many = measure(&binary, &home, &repository, AGENTS);
        let each = AGENTS - 1;
        let overhead = many.run.wall.saturating_sub(many.ideal);
        overheads.push(overhead);
        ideals.push(many.ideal);
        walls.push(many.run.wall);
        let share = |all: Duration| all / u32::try_from(each).expect("few");
        let cpu = share(many.run.cpu.saturating_sub(one.run.cpu));
        let written = used_by(session_files(&home.join("bare"), each));
        cpus.push(cpu);
        files.push(share(written.cpu));
        // What else the machine does only adds to it.
        least = least.min(cpu.saturating_sub(share(written.cpu)));
        held.push(ms(overhead) <= OVERHEAD.most && ms(least) <= CPU.most);
        memories.push(many.run.peak_kilobytes.saturating_sub(one.run.peak_kilobytes) / each);
        bytes = many.run.stdout.len();
    }
    memories.sort_unstable();
    let memory = memories[memories.len() / 2];
    let middle = |times: &[Duration]| ms(median(times));
    let (over, by_themselves) = (middle(&overheads), middle(&files));
    report.figure("200 agents: ideal", middle(&ideals), "ms", Bound::None);
    report.figure("200 agents: run", middle(&walls), "ms", Bound::None);
    report.figure(
        "200 agents: over the ideal",
        over,
        "ms",
        Bound::Aim(on_this_machine(OVERHEAD, by_themselves)),
    );
    report.figure("CPU per further agent", middle(&cpus), "ms", Bound::None);
    report.figure("CPU for the files of a session by themselves", by_themselves, "ms", Bound::None);
    let what = "CPU per further agent beside its files, at the least";
    report.figure(what, ms(least), "ms", Bound::Aim(on_this_machine(CPU, by_themselves)));
    report.figure("memory per further agent", as_f64(memory), "KB", Bound::Aim(MEMORY));
    report.figure("events of 200 agents", as_f64(bytes) / 1e6, "MB", Bound::AtMost(EVENTS));
    let [few, more, longer] = [(FEW, 2), (4 * FEW, 2), (FEW, 8)]
        .map(|(agents, turns)| as_f64(events(&binary, &home(0), &repository, agents, turns)));
    let bound = Bound::AtMost(FOUR_TIMES);
    report.figure("events of four times as many agents", more / few, "×", bound);
    report.figure("events of four times as many turns", longer / few, "×", bound);
    let told = phases("200 agents", &binary, &home(held.len()), repository.root());
    told.into_iter().for_each(|told| report.note(told));
    report.finish()
}

/// One run, and what the same requests take by themselves.
struct Measured {
    run: Used,
    ideal: Duration,
}

fn measure(binary: &Path, home: &Path, repository: &Repository, agents: usize) -> Measured {
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.otherwise(|_talk| Box::new(two_turns) as Box<dyn Script>);
    let run = used_by(run_of(binary, home, repository, agents, &model));
    assert_eq!(model.take_violations(), Vec::<String>::new());
    assert_eq!(model.requests(), 2 * agents, "each agent asks twice");
    let conversations = (0..agents).map(|agent| {
        let asked = model.asked(&format!("t{agent}"));
        asked.into_iter().map(|asked| asked.bytes).collect()
    });
    let replay = Replay::new(conversations.collect());
    let again = LoopbackModel::start();
    again.pace(Pace::Events);
    again.otherwise(|_talk| Box::new(two_turns) as Box<dyn Script>);
    let ideal = replay.run(&again.base_url());
    Measured { run, ideal }
}

/// Returns the run of so many agents with a model.
fn run_of(
    binary: &Path,
    home: &Path,
    repository: &Repository,
    agents: usize,
    model: &LoopbackModel,
) -> Command {
    let plan = plan_of_agents(agents, "Read the file and tell what it is.");
    let mut run = run_of_plan(binary, home, repository, (&plan, AGENTS));
    run.args(["--model", &model.route(), "--base-url", &model.base_url()]);
    run
}

/// Returns how many bytes of events so many agents of so many turns give.
fn events(
    binary: &Path,
    home: &Path,
    repository: &Repository,
    agents: usize,
    turns: usize,
) -> usize {
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.otherwise(move |_talk| {
        Box::new(move |asked: &Asked| match asked.answers() + 1 {
            turn if turn < turns => Answer::call("read", &json!({ "path": "README.md" })),
            _ => Answer::yields(&json!({ "summary": "It is a small thing." })),
        }) as Box<dyn Script>
    });
    let run = used_by(run_of(binary, home, repository, agents, &model));
    assert_eq!(model.requests(), turns * agents, "each agent asks once in a turn");
    run.stdout.len()
}

fn two_turns(asked: &Asked) -> Answer {
    let answer = match asked.answers() {
        0 => Answer::call("read", &json!({ "path": "README.md" })),
        _ => {
            Answer::yields(&json!({ "summary": "It is a small thing, and that is all there is." }))
        }
    };
    answer.after(THINKS)
}
