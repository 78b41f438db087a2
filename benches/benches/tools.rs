//! What calls of tools cost beside the programs that do the same.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::{Bound, Report, Rounds, SampleTree, measured_binary, median, ms, scratch, timed};
use engine::fault::Faults;
use engine::ports::{
    ArtifactStore as _, Background, BackgroundWork, CallOrigin, CancelToken, ChangeShown,
    CommandShell, Commands as _, SessionPurpose, ToolContext, ToolEnv, ToolFactory as _,
    ToolOutcome, VariableChoice,
};
use engine::tools::ToolSet;
use exec::{BaseEnvironment, EnvironmentRules, Processes, Shell};
use isolation::DirectoryView;
use protocol::{SessionId, ToolCall};
use schema::JsonSchemas;
use serde_json::{Value, json};
use store::ArtifactFolders;
use tokio::runtime::Runtime;
use tools::{Builtins, UserShells};

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many files are searched.
const FILES: usize = 20_000;

/// How many times what `rg` takes a search may take.
const SEARCH: f64 = 2.0;

/// How many times as long a call may take with ten times as many edits.
const TEN_TIMES: f64 = 12.0;

/// How many milliseconds a command may take beyond its shell.
const COMMAND: f64 = 5.0;

/// The shell of the user.
const BASH: &str = "/bin/bash";

fn main() -> ExitCode {
    let mut report = Report::new(
        "tools",
        "Calls of tools as a session makes them, from the arguments to the result, on a folder on disk. Searches \
         in 20,000 files of seven kilobytes beside `rg --threads 2`, in turns, medians: `grep` for a word in one \
         of them, `find` for a tenth of their names. One `edit` with 10,000 edits beside one with 1,000. `bash` \
         with `true` beside the same shell that reads the same snapshot, started by this program.",
    );
    let scratch = scratch();
    let runtime = Runtime::new().expect("a runtime can be had");
    let tree = SampleTree::make(&scratch.path().join("tree"), Rounds::asked_for().of(FILES, FILES));
    let needle = tree.root().join("folder-0/needle.txt");
    std::fs::write(needle, "a needle\n").expect("a file can be written");
    let bench = Bench::new(runtime, tree.root(), &scratch.path().join("home"));
    bench.searches(&mut report);
    bench.edits(&mut report);
    bench.commands(&mut report);
    bench.runtime.block_on(async {
        let _ended = bench.context.commands.end_for_good().await;
    });
    report.finish()
}

/// The tools of a session, and what their calls get.
struct Bench {
    runtime: Runtime,
    root: PathBuf,
    tools: ToolSet,
    context: ToolContext,
    /// The snapshot of the user's shell.
    snapshot: PathBuf,
}

/// Runs nothing.
struct NoBackground;

impl Background for NoBackground {
    fn stop(&self) -> CancelToken {
        CancelToken::default()
    }

    fn run(&self, _work: BackgroundWork) {}
}

impl Bench {
    fn new(runtime: Runtime, root: &Path, home: &Path) -> Self {
        let mut launcher = Command::new(measured_binary());
        launcher.arg("__launcher").env_clear();
        let shells = Arc::new(UserShells::new(Some(OsStr::new(BASH)), &home.join("shells")));
        let (entered, env) = (runtime.enter(), environment(root));
        let built = Builtins::new(Faults::default()).with_shells(shells);
        let built = runtime.block_on(built.build(&env));
        let (tools, _left_out) = ToolSet::new(built, &JsonSchemas, Faults::default());
        let base = BaseEnvironment::new(std::env::vars_os(), &EnvironmentRules::default());
        let shell = Shell::new(base, Duration::from_secs(2), Processes::new(launcher));
        let commands = Arc::new(shell).owner(&VariableChoice::default());
        let context = ToolContext {
            call_id: "call".to_owned(),
            journal: ArtifactFolders.journal(&home.join("artifacts")),
            origin: CallOrigin { session: SessionId::generate(), task: None },
            view: Arc::new(DirectoryView::new(root.to_owned())),
            commands,
            shell: CommandShell::User,
            change_shown: ChangeShown::Yes,
            artifacts: ArtifactFolders.open(&home.join("artifacts")),
            background: Arc::new(NoBackground),
            ask: None,
            subagents: None,
            pending: tools.pending(),
            progress: Arc::new(|_line| {}),
            cancel: CancelToken::default(),
        };
        drop(entered);
        let snapshot = home.join("shells/bash");
        Self { runtime, root: root.to_owned(), tools, context, snapshot }
    }

    /// Returns how long a call takes, which succeeds, on a thread of the runtime.
    fn call(&self, name: &str, arguments: Value) -> Duration {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        let call = ToolCall::new("call", name, arguments);
        self.runtime.block_on(async {
            let began = Instant::now();
            let outcome = self.tools.call(call, &self.context).await;
            let took = began.elapsed();
            assert!(matches!(outcome, ToolOutcome::Output(_)), "{name}: {outcome:?}");
            took
        })
    }

    fn searches(&self, report: &mut Report) {
        let rg = |arguments: &[&str]| {
            let mut rg = Command::new("rg");
            rg.current_dir(&self.root).args(["--no-config", "--hidden", "--threads", "2"]);
            rg.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
            rg
        };
        if rg(&["--version"]).status().is_err() {
            report.note(
                "SKIP: the program rg is not installed; searches were not measured.".to_owned(),
            );
            return;
        }
        let cases = [
            ("grep", json!({ "pattern": "needle" }), vec!["needle", "."]),
            (
                "find",
                json!({ "pattern": "*7.txt", "limit": 10_000 }),
                vec!["--files", "--glob", "*7.txt"],
            ),
        ];
        for (name, arguments, program) in cases {
            // The first of each warms the caches.
            self.call(name, arguments.clone());
            let (mut ours, mut theirs, mut held) = (Vec::new(), Vec::new(), Vec::new());
            while !Rounds::asked_for().suffice(15, &held) {
                let one = self.call(name, arguments.clone());
                let other = timed(|| {
                    let ended = rg(&program).status().is_ok_and(|status| status.success());
                    assert!(ended, "rg {program:?}");
                });
                held.push(one.as_secs_f64() <= SEARCH * other.as_secs_f64());
                ours.push(one);
                theirs.push(other);
            }
            let (ours, theirs) = (median(&ours), median(&theirs));
            report.figure(&format!("{name}: rg"), ms(theirs), "ms", Bound::None);
            report.figure(&format!("{name}: the tool"), ms(ours), "ms", Bound::None);
            let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
            report.figure(&format!("{name}: the tool / rg"), ratio, "×", Bound::AtMost(SEARCH));
        }
    }

    fn edits(&self, report: &mut Report) {
        let (mut few, mut many, mut held) = (Vec::new(), Vec::new(), Vec::new());
        while !Rounds::asked_for().suffice(15, &held) {
            let one = self.edit(held.len(), 1_000);
            let ten = self.edit(held.len(), 10_000);
            held.push(ten.as_secs_f64() <= TEN_TIMES * one.as_secs_f64());
            few.push(one);
            many.push(ten);
        }
        let (few, many) = (median(&few), median(&many));
        report.figure("edit: 1,000 edits", ms(few), "ms", Bound::None);
        report.figure("edit: 10,000 edits", ms(many), "ms", Bound::None);
        let ratio = many.as_secs_f64() / few.as_secs_f64();
        report.figure("edit: 10,000 edits / 1,000", ratio, "×", Bound::AtMost(TEN_TIMES));
    }

    /// Returns how long it takes to edit each line of a new file of so many.
    fn edit(&self, round: usize, count: usize) -> Duration {
        let name = format!("edited-{round}-{count}.txt");
        let text: String = (0..count).map(|line| format!("line {line} is as it was;\n")).collect();
        std::fs::write(self.root.join(&name), text).expect("a file can be written");
        let edit = |line| {
            json!({
                "oldText": format!("line {line} is as it was;"),
                "newText": format!("line {line} is changed;"),
            })
        };
        let edits: Vec<_> = (0..count).map(edit).collect();
        self.call("edit", json!({ "path": name, "edits": edits }))
    }

    fn commands(&self, report: &mut Report) {
        // The first takes the snapshot.
        self.call("bash", json!({ "command": "true" }));
        let inner = format!(". '{}' >/dev/null 2>&1\neval 'true'", self.snapshot.display());
        let bare = || {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", r#"exec 2>&1; exec "$1" -c "$2""#, "sh", BASH, &inner]);
            shell.current_dir(&self.root).stdin(Stdio::null()).stdout(Stdio::null());
            timed(|| assert!(shell.status().is_ok_and(|status| status.success()), "it is `true`"))
        };
        let (mut ours, mut theirs, mut held) = (Vec::new(), Vec::new(), Vec::new());
        while !Rounds::asked_for().suffice(200, &held) {
            let (one, other) = (self.call("bash", json!({ "command": "true" })), bare());
            held.push(ms(one.saturating_sub(other)) <= COMMAND);
            ours.push(one);
            theirs.push(other);
        }
        let (ours, theirs) = (median(&ours), median(&theirs));
        report.figure("bash true: the shell with its snapshot", ms(theirs), "ms", Bound::None);
        report.figure("bash true: the tool", ms(ours), "ms", Bound::None);
        let beyond = ms(ours.saturating_sub(theirs));
        report.figure("bash true: the tool beyond the shell", beyond, "ms", Bound::AtMost(COMMAND));
    }
}

fn environment(folder: &Path) -> ToolEnv {
    ToolEnv {
        subfolder: PathBuf::new(),
        repo: folder.to_owned(),
        environment: Default::default(),
        keep: 1 << 20,
        schema: None,
        purpose: SessionPurpose::Task,
        model: String::new(),
        is_scripted: true,
        spawn_offer: None,
    }
}
