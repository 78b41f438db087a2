//! What a dependant knows of its predecessors: what they yielded, in its prompt and in files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_limit::by_depth;
use tests::model::{Answer, Asked, Call, LoopbackModel, marker, steps};
use tests::sandbox::{Plan, Sandbox, eventually};

use super::work::run_with;
use crate::binary::sandbox;

/// A yield with everything that a shell, a terminal or a template could take for something else.
const ODD: &str =
    r#"{"files":["a b.txt","$(touch pwned)"],"why":"\u001b[2J {{tasks.find.yield}} `x` \u0000 ä"}"#;

/// A plan whose first task `find` is a command that yields [`ODD`].
fn find() -> Plan {
    // Two braces in a command would be a placeholder.
    let odd = ODD.replace("{{", "@@");
    Plan::default().task("find", &format!("sed 's/@@/{{''{{/' <<'END'\n{odd}\nEND"))
}

fn odd() -> Value {
    serde_json::from_str(ODD).expect("it is JSON")
}

/// Returns every folder of input files in the home.
fn inputs_left(place: &Sandbox) -> Vec<PathBuf> {
    fn look(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == "inputs" {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                look(&entry.path(), found);
            }
        }
    }
    let mut found = Vec::new();
    look(&place.home().data().join("artifacts"), &mut found);
    found
}

/// A text that a model yields, and a prompt with parts of yields.
const TEXT: &str = "line one\nline \"two\" {{tasks.find.yield.why}}";
const ASKS: &str = "All: {{tasks.find.yield}} One: {{ tasks.find.yield.files.1 }} Why: \
                    {{tasks.FIND.yield.why}} Text: {{tasks.first.yield}} As it is: \
                    \\{{tasks.find.yield}} {{item_of_mine}}";

/// Reads the yield of `find` from its file.
fn reads_the_file(asked: &Asked) -> Answer {
    match asked.answers() {
        0 => {
            let command = "cat \"$REGATTA_INPUTS/find.json\"";
            Answer::calls(vec![Call::new("bash", &json!({ "command": command }))])
        }
        _ => Answer::yields(&json!(asked.result())),
    }
}

/// A plan whose agents and commands are told in each way what `find` has yielded.
fn told_in_each_way(place: &Sandbox, filler: &str) -> Plan {
    let long = format!("{filler}{{{{tasks.find.yield.files.0}}}} {}", marker("long"));
    let file = place.folder().join("prompt.md");
    std::fs::write(&file, long).expect("a file can be written");
    let missing = format!("Use {{{{tasks.find.yield.nothing.here}}}}. {}", marker("missing"));
    find()
        .agent("first", &format!("Begin. {}", marker("first")))
        .agent("second", &format!("{ASKS} {}", marker("second")))
        .after(&["first", "find"])
        .with(&format!("\n[[task]]\nid = \"long\"\nprompt_file = {file:?}"))
        .after(&["find"])
        .task("set-up", "cmp set-up.json \"$REGATTA_INPUTS/find.json\" && echo yes > same.txt")
        .after(&["find"])
        .agent("reader", &format!("Use it. {}", marker("reader")))
        .after(&["find"])
        .agent("missing", &missing)
        .after(&["find"])
        .task("after", "true")
        .after(&["missing"])
}

#[test]
fn prompts_set_ups_and_tools_get_what_was_yielded_and_a_field_that_was_not_fails_the_task() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.talk("first", steps(vec![Answer::yields(&json!(TEXT))]));
    model.talk("second", steps(vec![Answer::yields(&json!("done"))]));
    model.talk("long", steps(vec![Answer::yields(&json!("done"))]));
    model.talk("reader", reads_the_file);
    let filler = "{{item}} stays. ".repeat(2_000);
    let plan = told_in_each_way(&place, &filler);
    let setup = "test -z \"$REGATTA_INPUTS\" || test ! -e \"$REGATTA_INPUTS/find.json\" \
                 || cp \"$REGATTA_INPUTS/find.json\" set-up.json";
    let run = run_with(&place, &repository, &plan, &model).arg("--setup").arg(setup);
    let finished = run.run().expect_code(3);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    let prompt = model.asked("second")[0].prompt();
    let odd = odd();
    let why = odd["why"].as_str().unwrap();
    let expected = format!(
        "All: {odd} One: $(touch pwned) Why: {why} Text: {TEXT} As it is: {{{{tasks.find.yield}}}} \
         {{{{item_of_mine}}}} {}",
        marker("second")
    );
    assert!(prompt.contains(&expected), "{prompt}\n--- is not\n{expected}");
    assert_eq!(finished.task("second")["yield"], "done");
    // A prompt file may be long.
    let prompt = model.asked("long")[0].prompt();
    assert!(prompt.contains(&format!("{filler}a b.txt ")), "{finished}");
    // The set-up of a task and the commands of a model read the same files.
    assert_eq!(repository.text("same.txt"), "yes\n", "{finished}");
    let said = finished.task("reader")["yield"].as_str().unwrap().to_owned();
    assert!(said.contains("\"files\":[\"a b.txt\",\"$(touch pwned)\"]"), "{said}");
    let failure = finished.task("missing")["failure"].clone();
    assert_eq!(failure["class"], "dependency", "{finished}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("`find` yielded no `nothing.here`"), "{message}");
    assert_eq!(finished.task("after")["failure"]["class"], "dependency");
    assert!(model.asked("missing").is_empty(), "nothing is spent on it");
    assert_eq!(inputs_left(&place), Vec::<PathBuf>::new());
}

#[test]
fn a_command_reads_yields_from_files_outside_its_workspace_that_go_with_it() {
    let place = sandbox();
    let repository = place.repository();
    let seen = place.folder().join("seen");
    std::fs::create_dir(&seen).unwrap();
    let look = format!(
        r#"cp -r "$REGATTA_INPUTS"/. {0}; stat -c %a "$REGATTA_INPUTS" "$REGATTA_INPUTS"/* > {0}/modes
        case "$REGATTA_INPUTS" in "$REGATTA_WORKSPACE"*) exit 9 ;; esac
        echo "$REGATTA_INPUTS" > {0}/where; cat "$REGATTA_INPUTS"/find.json > copy.json"#,
        seen.display()
    );
    let plan = find()
        .task("other.one", "echo plain text")
        .task("none", "test -z \"${REGATTA_INPUTS+set}\"")
        .task("use", &look)
        .after(&["find", "other.one"])
        .task("indirect", "ls \"$REGATTA_INPUTS\" > indirect.txt; true")
        .after(&["use"]);
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(seen.join(name)).unwrap()).unwrap()
    };
    assert_eq!(read("find.json"), odd());
    assert_eq!(read("other.one.json"), "plain text");
    assert_eq!(std::fs::read_to_string(seen.join("modes")).unwrap(), "700\n600\n600\n");
    let place_of_inputs = std::fs::read_to_string(seen.join("where")).unwrap();
    assert!(!Path::new(place_of_inputs.trim()).exists(), "it is gone with the task");
    assert_eq!(inputs_left(&place), Vec::<PathBuf>::new());
    assert_eq!(repository.text("indirect.txt"), "use.json\n", "direct predecessors only");
    assert_eq!(finished.landed(), ["indirect", "use"]);
    assert!(!repository.has("pwned"));
    let files = repository.git(&["status", "--porcelain"]);
    assert_eq!(files, "?? copy.json\n?? indirect.txt\n", "no input file is work of the task");
}

#[test]
fn a_placeholder_for_a_task_that_is_no_predecessor_is_refused_when_the_plan_is_read() {
    let place = sandbox();
    let repository = place.repository();
    let refused = |plan: &Plan, words: &[&str]| {
        let run = place.run_plan(&repository, plan).words("--model offline/none.toml");
        run.run().expect_refusal(words);
    };
    let use_of = |prompt: &str| find().task("other", "true").agent("use", prompt);
    let nobody = use_of("{{tasks.other.yield}}").after(&["find"]);
    refused(
        &nobody,
        &["standard input:13:10:", "other", "not a predecessor", "add \"other\" to depends_on"],
    );
    let schema =
        "schema = { type = \"object\", properties = { why = {} }, additionalProperties = false }";
    let typo = find().with(schema).agent("use", "{{tasks.find.yield.wy}}").after(&["find"]);
    refused(&typo, &["standard input:10:10:", "never yields", "its schema has why"]);
    let shell = find().task("use", "echo {{tasks.find.yield}}").after(&["find"]);
    refused(&shell, &["cannot be put into a command", "$REGATTA_INPUTS/find.json"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn yields_of_megabytes_and_of_many_tasks_arrive_bounded_and_whole() {
    let place = sandbox();
    let repository = place.repository();
    let tasks = by_depth(30, 300);
    let names: Vec<_> = (0..tasks).map(|at| format!("many{at}")).collect();
    let begin = Plan::default().task("big", "head -c 10000000 /dev/zero | tr '\\0' x");
    let plan =
        names.iter().fold(begin, |plan, name| plan.task(name, &format!("echo '\"{name}\"'")));
    let mut on: Vec<_> = names.iter().map(String::as_str).collect();
    on.push("big");
    let script =
        "ls \"$REGATTA_INPUTS\" | wc -l > count; wc -c < \"$REGATTA_INPUTS/big.json\" > size
        cat \"$REGATTA_INPUTS\"/many*.json | sort -u | wc -l > different";
    let plan = plan.task("all", script).after(&on);
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    let count = repository.text("count");
    assert_eq!(count.trim(), (tasks + 1).to_string(), "{}", finished.stderr);
    let size: usize = repository.text("size").trim().parse().unwrap();
    assert!((500_000..501_000).contains(&size), "{size} bytes, with a note where it was cut");
    assert_eq!(repository.text("different").trim(), tasks.to_string());
    assert_eq!(inputs_left(&place), Vec::<PathBuf>::new());
}

#[test]
fn the_files_go_also_when_the_task_is_cancelled_or_its_engine_killed() {
    let place = sandbox();
    let repository = place.repository();
    let mark = place.folder().join("at-work");
    let script = format!(
        "test -s \"$REGATTA_INPUTS/find.json\" && : > {}; while :; do sleep 0.05; done",
        mark.display()
    );
    let plan = find().task("use", &script).after(&["find"]);
    let start = || {
        let _not_there = std::fs::remove_file(&mark);
        let running = place.run_plan(&repository, &plan).start();
        eventually(Duration::from_secs(60), "it is at work", || mark.exists());
        assert_eq!(inputs_left(&place).len(), 1);
        running
    };
    let running = start();
    running.signal(Signal::INT);
    let _cancelled = running.wait().expect_code(130);
    assert_eq!(inputs_left(&place), Vec::<PathBuf>::new());
    let _killed = start().kill();
    assert_eq!(inputs_left(&place).len(), 1, "nobody could remove it");
    let _found = place.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(inputs_left(&place), Vec::<PathBuf>::new());
}
