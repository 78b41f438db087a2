//! How long it takes to decide about a call of a tool.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use benches::{Bound, Report, Rounds, median, ms, percentile, scratch};
use engine::approvals::ApprovalPolicy;
use engine::fault::Faults;
use engine::ports::{SessionPurpose, ToolEnv, ToolFactory as _, WorkspaceView};
use engine::tools::{CallGate, ToolSet};
use isolation::DirectoryView;
use protocol::{ApprovalMode, ApprovalRule, Approvals, ToolCall};
use schema::JsonSchemas;
use serde_json::{Value, json};
use shell_syntax::BashSyntax;
use tools::Builtins;

/// How many milliseconds a call may take.
const CALL: f64 = 1.0;

const DENY: [&str; 4] = ["bash(rm *)", "bash(git push *)", "edit(.github/**)", "read(.env)"];
const ALLOW: [&str; 4] =
    ["bash(cargo test *)", "bash(npm run:*)", "bash(git status)", "edit(docs/**)"];

/// Commands as models write them.
const COMMANDS: [&str; 8] = [
    "cargo test -p engine -- --nocapture 2>&1 | tail -40",
    "ls -la src && cat src/main.rs | head -n 50",
    "cd web && npm run build > build.log 2>&1; echo $?",
    "grep -rn 'fn main' src --include=*.rs | wc -l",
    "for file in src/*.rs; do rustfmt --check \"$file\" || echo \"$file\"; done",
    "git status --short && git diff --stat HEAD~1 -- src | cat",
    "timeout 60 sh -c 'python3 - <<EOF\nimport json\nprint(json.dumps({\"a\": 1}))\nEOF'",
    "find . -name '*.toml' -not -path './target/*' -exec sed -n 1,5p {} +",
];

fn main() -> ExitCode {
    let mut report = Report::new(
        "approvals",
        "To decide about one call of a tool, in the mode `ask` with eight rules: its paths are resolved \
         in a folder on disk, its command is parsed, and the rules are tried. Commands, changes and \
         reads as models call them, in turns; and one command of 64 KB.",
    );
    let scratch = scratch();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    let (calls, long) = runtime.block_on(measured(scratch.path()));
    report.figure("a call: median", ms(median(&calls)), "ms", Bound::AtMost(CALL));
    report.figure("a call: 99 %", ms(percentile(&calls, 99)), "ms", Bound::None);
    report.figure("a command of 64 KB: median", ms(median(&long)), "ms", Bound::None);
    report.finish()
}

/// Returns how long each of many calls took, and each of some long ones.
async fn measured(folder: &Path) -> (Vec<Duration>, Vec<Duration>) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        let made = std::fs::create_dir_all(path.parent().expect("it is below the folder"));
        made.and_then(|()| std::fs::write(path, text)).expect("it can be written");
    };
    write("src/main.rs", "fn main() {}\n");
    write("docs/guide.md", "A guide.\n");
    write("web/package.json", "{}\n");
    let view: Arc<dyn WorkspaceView> = Arc::new(DirectoryView::new(folder.to_owned()));
    let built = Builtins::new(Faults::default()).build(&environment(folder)).await;
    let (tools, _left_out) = ToolSet::new(built, &JsonSchemas, Faults::default());
    let gate = CallGate::new(policy(), Arc::new(BashSyntax));
    let mut calls: Vec<_> =
        COMMANDS.iter().map(|command| call("bash", json!({ "command": command }))).collect();
    calls.push(call("write", json!({ "path": "docs/guide.md", "content": "Another.\n" })));
    calls.push(call("edit", json!({ "path": "src/main.rs", "oldText": "main", "newText": "run" })));
    calls.push(call("read", json!({ "path": "src/main.rs" })));
    calls.push(call("grep", json!({ "pattern": "main", "path": "src" })));
    let long = call("bash", json!({ "command": "echo one two three; ".repeat(64 * 1024 / 20) }));
    let rounds = Rounds::asked_for().of(500, 100);
    let (mut times, mut of_long) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        for call in &calls {
            times.push(decided(&gate, &tools, call, view.as_ref()).await);
        }
        if round % 20 == 0 {
            of_long.push(decided(&gate, &tools, &long, view.as_ref()).await);
        }
    }
    (times, of_long)
}

async fn decided(
    gate: &CallGate,
    tools: &ToolSet,
    call: &ToolCall,
    view: &dyn WorkspaceView,
) -> Duration {
    let began = Instant::now();
    let _decided = gate.decide(tools, call, view).await;
    began.elapsed()
}

fn policy() -> ApprovalPolicy {
    let rules = |texts: &[&str]| -> Vec<ApprovalRule> {
        texts.iter().map(|text| text.parse().expect("it is a rule")).collect()
    };
    let mode = Some(ApprovalMode::Ask);
    Approvals { mode, deny: rules(&DENY), ask: Vec::new(), allow: rules(&ALLOW) }.into()
}

fn environment(folder: &Path) -> ToolEnv {
    ToolEnv {
        subfolder: PathBuf::new(),
        repo: folder.to_owned(),
        environment: Default::default(),
        keep: 1 << 20,
        schema: None,
        purpose: SessionPurpose::Conversation,
        model: String::new(),
        is_scripted: false,
        spawn_offer: None,
    }
}

fn call(name: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
    ToolCall::new("call", name, arguments)
}
