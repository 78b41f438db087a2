//! What the subagents of a session cost: beside the tasks of a run with the same answers, beside the delays of
//! their models, and beside a client that only sends the same requests.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use benches::{
    Bound, Limit, Replay, Report, Rounds, SampleTree, Used, as_f64, measured_binary, median, ms,
    plan_of_agents, run_of_plan, scratch, used_by,
};
use serde_json::{Value, json};
use tests::model::{Answer, Asked, LoopbackModel, Pace, Script, marker};
use tests::sandbox::Repository;

/// How long a slow model takes for an answer: 300 ms, and 20 ms for each of 30 tokens.
const SLOW: Duration = Duration::from_millis(900);

/// How many subagents of a slow model work at once, and how many times the planned delays they may take.
const OF_SLOW: [(usize, Limit); 2] =
    [(8, Limit { aim: 1.06, most: 1.25 }), (32, Limit { aim: 1.08, most: 1.25 })];

/// How many times the processor time of as many tasks of a run they may take, and how many MiB of memory.
const CPU: Limit = Limit { aim: 1.25, most: 1.6 };
const MEMORY: Limit = Limit { aim: 60.0, most: 80.0 };

/// How many subagents of two turns there are, and how long their model takes for an answer.
const MANY: usize = 200;
const FAST: Duration = Duration::from_millis(50);

/// How many milliseconds they may take over the same requests of a client that does nothing else.
const OVER_CLIENT: Limit = Limit { aim: 500.0, most: 1_000.0 };

/// How many megabytes of `--mode json` they may give, and how many times those of a quarter of them.
const EVENTS: f64 = 10.0;
const FOUR_TIMES: f64 = 6.0;

/// How many files the tree has of which isolated subagents get copies, how many there are, and how many times as
/// long as a run of the same edits they may take.
const FILES: usize = 20_000;
const ISOLATED: usize = 8;
const OF_RUN: Limit = Limit { aim: 1.15, most: 1.5 };

fn main() -> ExitCode {
    let binary = measured_binary();
    let mut report = Report::new(
        "subagents",
        "A session (`regatta -p --mode json`) whose model calls `task` once, from the prompt to the prompt, against \
         a model on the loopback. Of four turns (read a file, run `true`, write a file, yield) with answers of \
         900 ms, beside the planned delays and `regatta run` of the same answers; of two turns (read, yield) with \
         answers of 50 ms, beside a client that sends the same requests; and isolated ones that write a file in \
         copies of a tree of 20,000 files, beside `regatta run` of the same. In turns, medians.",
    );
    let scratch = scratch();
    let repository = Repository::init(&scratch.path().join("app"));
    repository.write("README.md", "# App\n\nA small thing.\n");
    repository.write(".gitignore", "/out/\n");
    repository.commit("begin");
    let bench = Bench { binary: &binary, scratch: scratch.path() };
    OF_SLOW.iter().for_each(|(count, time)| bench.of_slow(&repository, *count, *time, &mut report));
    bench.many(&repository, &mut report);
    bench.isolated(&mut report);
    report.finish()
}

struct Bench<'a> {
    binary: &'a Path,
    scratch: &'a Path,
}

impl Bench<'_> {
    /// Measures subagents of a slow model.
    fn of_slow(&self, repository: &Repository, count: usize, time: Limit, report: &mut Report) {
        let count = Rounds::asked_for().of(count, count);
        let planned = SLOW * 4;
        let (mut ratios, mut cpus, mut memory, mut held) = (vec![], vec![], 0, vec![]);
        while !Rounds::asked_for().suffice(5, &held) {
            let home = self.scratch.join(format!("slow-{count}-{}", held.len()));
            let model = model(count, json!({}), four_turns);
            let called = used_by(self.session(&home, repository.root(), &model));
            model.expect(4 * count + 2);
            let model = self::model(count, json!({}), four_turns);
            let run = used_by(self.run(&home, repository, count, &model));
            model.expect(4 * count);
            let ratio = called.wall.as_secs_f64() / planned.as_secs_f64();
            let cpu = called.family_cpu.as_secs_f64() / run.family_cpu.as_secs_f64();
            held.push(ratio <= time.most && cpu <= CPU.most);
            ratios.push(ratio);
            cpus.push(cpu);
            memory = memory.max(called.peak_kilobytes);
        }
        let what = |what: &str| format!("{count} subagents of a slow model: {what}");
        report.figure(&what("time / planned delays"), middle(ratios), "×", Bound::Aim(time));
        report.figure(&what("CPU / that of tasks of a run"), middle(cpus), "×", Bound::Aim(CPU));
        let memory = as_f64(memory) / 1024.0;
        report.figure(&what("memory"), memory, "MiB", Bound::Aim(MEMORY));
    }

    /// Measures many subagents of two turns.
    fn many(&self, repository: &Repository, report: &mut Report) {
        let count = Rounds::asked_for().of(MANY, MANY);
        let (mut over, mut ideals, mut bytes, mut held) = (vec![], vec![], 0, vec![]);
        while !Rounds::asked_for().suffice(8, &held) {
            let home = self.scratch.join(format!("many-{}", held.len()));
            let (called, ideal) = self.two_turns(&home, repository, count);
            let more = called.wall.saturating_sub(ideal);
            held.push(ms(more) <= OVER_CLIENT.most);
            over.push(more);
            ideals.push(ideal);
            bytes = called.stdout.len();
        }
        let few = self.two_turns(&self.scratch.join("few"), repository, count.div_ceil(4)).0;
        let what = |what: &str| format!("{count} subagents of two turns: {what}");
        report.figure(&what("bare client"), ms(median(&ideals)), "ms", Bound::None);
        let over = ms(median(&over));
        report.figure(&what("over the bare client"), over, "ms", Bound::Aim(OVER_CLIENT));
        let megabytes = as_f64(bytes) / 1e6;
        report.figure(&what("--mode json"), megabytes, "MB", Bound::AtMost(EVENTS));
        let growth = as_f64(bytes) / as_f64(few.stdout.len());
        let growth_of = what("--mode json / that of a quarter of them");
        report.figure(&growth_of, growth, "×", Bound::AtMost(FOUR_TIMES));
    }

    /// Returns what so many subagents of two turns use, and what their requests take by themselves.
    fn two_turns(&self, home: &Path, repository: &Repository, count: usize) -> (Used, Duration) {
        let model = model(count, json!({}), two_turns);
        let called = used_by(self.session(home, repository.root(), &model));
        model.expect(2 * count + 2);
        let talks = (0..count).map(|number| model.0.asked(&talk(number)));
        let bodies = talks.map(|asked| asked.into_iter().map(|asked| asked.bytes).collect());
        let replay = Replay::new(bodies.collect());
        let again = self::model(count, json!({}), two_turns);
        (called, replay.run(&again.0.base_url()))
    }

    /// Measures isolated subagents.
    fn isolated(&self, report: &mut Report) {
        let files = Rounds::asked_for().of(FILES, FILES).max(2_000);
        let tree = SampleTree::make(&self.scratch.join("tree"), files);
        let (mut calls, mut runs, mut held) = (vec![], vec![], vec![]);
        while !Rounds::asked_for().suffice(8, &held) {
            let round = held.len();
            let home = self.scratch.join("isolated");
            let model =
                model(ISOLATED, json!({ "isolated": true }), writer(format!("called-{round}")));
            let called = used_by(self.session(&home, tree.root(), &model)).wall;
            model.expect(2 * ISOLATED + 2);
            expect_landed(tree.root(), &format!("called-{round}"));
            let model = self::model(ISOLATED, json!({}), writer(format!("run-{round}")));
            let plan = home.with_extension("toml");
            let agents = plan_of_agents(ISOLATED, "Write the file.");
            std::fs::write(&plan, agents.text()).expect("a file can be written");
            let mut command = self.regatta(&home, tree.root(), "run --json --jobs 8", &model);
            command.args(["--approval-mode", "yolo", "--plan"]).arg(&plan);
            let run = used_by(command).wall;
            model.expect(2 * ISOLATED);
            expect_landed(tree.root(), &format!("run-{round}"));
            held.push(called.as_secs_f64() <= OF_RUN.most * run.as_secs_f64());
            calls.push(called);
            runs.push(run);
        }
        let (called, run) = (median(&calls), median(&runs));
        let what = |what: &str| format!("{ISOLATED} isolated subagents, {files} files: {what}");
        report.figure(&what("regatta run of the same"), ms(run), "ms", Bound::None);
        report.figure(&what("call"), ms(called), "ms", Bound::None);
        let ratio = called.as_secs_f64() / run.as_secs_f64();
        report.figure(&what("call / regatta run"), ratio, "×", Bound::Aim(OF_RUN));
    }

    /// Returns a session whose model hands its work out.
    fn session(&self, home: &Path, folder: &Path, model: &Model) -> Command {
        let words = "-p --mode json --approval-mode yolo";
        let mut session = self.regatta(home, folder, words, model);
        session.env("REGATTA_TASK_MAX_CONCURRENCY", MANY.to_string());
        session.arg(format!("Hand it out. {}", marker(PARENT)));
        session
    }

    /// Returns a run whose agents do the same.
    fn run(&self, home: &Path, repository: &Repository, count: usize, model: &Model) -> Command {
        let plan = plan_of_agents(count, "Read, look, write and tell.");
        let mut run = run_of_plan(self.binary, home, repository, (&plan, MANY));
        run.args(["--model", &model.0.route(), "--base-url", &model.0.base_url()]);
        run
    }

    fn regatta(&self, home: &Path, folder: &Path, words: &str, model: &Model) -> Command {
        let mut command = Command::new(self.binary);
        command.current_dir(folder).env("REGATTA_HOME", home).env("SHELL", "/bin/sh");
        command.args(words.split_whitespace());
        command.args(["--model", &model.0.route(), "--base-url", &model.0.base_url()]);
        command
    }
}

/// The conversation of the session.
const PARENT: &str = "parent";

/// Returns the name of the conversation of a subagent or an agent.
fn talk(number: usize) -> String {
    format!("t{number}")
}

/// A model that hands work out, and does it.
struct Model(LoopbackModel);

/// Starts a model whose session calls `task` with so many tasks and `more`, and whose subagents answer so.
fn model(
    count: usize,
    more: Value,
    answer: impl Fn(&str, &Asked) -> Answer + Clone + Send + Sync + 'static,
) -> Model {
    let server = LoopbackModel::start();
    server.pace(Pace::Events);
    let task = |number| {
        let assignment = format!("Read, look, write and tell. {}", marker(&talk(number)));
        json!({ "id": format!("T{number}"), "assignment": assignment })
    };
    let mut call = json!({ "agent": "task", "tasks": (0..count).map(task).collect::<Vec<_>>() });
    for (name, value) in more.as_object().into_iter().flatten() {
        call[name] = value.clone();
    }
    server.talk(PARENT, move |asked: &Asked| match asked.answers() {
        0 => Answer::call("task", &call),
        _ => Answer::text("All is done."),
    });
    server.otherwise(move |talk| {
        let (talk, answer) = (talk.to_owned(), answer.clone());
        Box::new(move |asked: &Asked| answer(&talk, asked)) as Box<dyn Script>
    });
    Model(server)
}

impl Model {
    /// Checks that it was asked so often, and as its API says.
    fn expect(&self, requests: usize) {
        assert_eq!(self.0.take_violations(), Vec::<String>::new());
        assert_eq!(self.0.requests(), requests, "each conversation has its turns");
    }
}

fn four_turns(talk: &str, asked: &Asked) -> Answer {
    let answer = match asked.answers() {
        0 => Answer::call("read", &json!({ "path": "README.md" })),
        1 => Answer::call("bash", &json!({ "command": "true" })),
        2 => write(&format!("out/{talk}.txt"), talk),
        _ => end(),
    };
    answer.after(SLOW)
}

fn two_turns(_talk: &str, asked: &Asked) -> Answer {
    let answer = match asked.answers() {
        0 => Answer::call("read", &json!({ "path": "README.md" })),
        _ => end(),
    };
    answer.after(FAST)
}

/// Returns the answers of subagents that write a file of their own into a folder.
fn writer(folder: String) -> impl Fn(&str, &Asked) -> Answer + Clone + Send + Sync + 'static {
    move |talk, asked| match asked.answers() {
        0 => write(&format!("{folder}/{talk}.txt"), talk),
        _ => end(),
    }
}

fn write(path: &str, talk: &str) -> Answer {
    let content = format!("{talk} was here.\n").repeat(20);
    Answer::call("write", &json!({ "path": path, "content": content }))
}

fn end() -> Answer {
    Answer::yields(&json!({ "summary": "It is a small thing." }))
}

/// Checks that the work of all has landed.
fn expect_landed(root: &Path, folder: &str) {
    let landed = std::fs::read_dir(root.join(folder)).expect("something has landed").count();
    assert_eq!(landed, ISOLATED, "the work of each lands");
}

fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
