//! What a dependant knows of its predecessors: what they yielded, in its prompt and in files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::model::{Answer, Asked, Call, LoopbackModel, marker, steps};
use tests::sandbox::{Plan, Sandbox, eventually};

use super::agents::run_with;
use super::sandbox;

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

#[test]
fn a_prompt_holds_what_a_command_and_a_model_yielded_whole_and_in_part() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let text = "line one\nline \"two\" {{tasks.find.yield.why}}";
    model.talk("first", steps(vec![Answer::yields(&json!(text))]));
    model.talk("second", steps(vec![Answer::yields(&json!("done"))]));
    let asks = "All: {{tasks.find.yield}} One: {{ tasks.find.yield.files.1 }} Why: \
                {{tasks.FIND.yield.why}} Text: {{tasks.first.yield}} As it is: \
                \\{{tasks.find.yield}} {{item_of_mine}}";
    let plan = find()
        .agent("first", &format!("Begin. {}", marker("first")))
        .agent("second", &format!("{asks} {}", marker("second")))
        .after(&["first", "find"]);
    let finished = run_with(&place, &repository, &plan, &model).run().expect_code(0);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    let prompt = model.asked("second")[0].prompt();
    let odd = odd();
    let why = odd["why"].as_str().unwrap();
    let expected = format!(
        "All: {odd} One: $(touch pwned) Why: {why} Text: {text} As it is: {{{{tasks.find.yield}}}} \
         {{{{item_of_mine}}}} {}",
        marker("second")
    );
    assert!(prompt.contains(&expected), "{prompt}\n--- is not\n{expected}");
    assert_eq!(finished.task("second")["yield"], "done");
}

#[test]
fn a_prompt_file_may_be_long_and_holds_yields_too() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.talk("long", steps(vec![Answer::yields(&json!("done"))]));
    let filler = "{{item}} stays. ".repeat(2_000);
    let text = format!("{filler}{{{{tasks.find.yield.files.0}}}} {}", marker("long"));
    std::fs::write(place.folder().join("prompt.md"), text).unwrap();
    let plan = find().text().to_owned()
        + "\n[[task]]\nid = \"long\"\nprompt_file = \"prompt.md\"\ndepends_on = [\"find\"]\n";
    std::fs::write(place.folder().join("plan.toml"), plan).unwrap();
    let run = place.run_in(&repository).words("--plan ../plan.toml");
    let run = run.arg("--model").arg(model.route()).arg("--base-url").arg(model.base_url());
    let finished = run.run().expect_code(0);
    let prompt = model.asked("long")[0].prompt();
    assert!(prompt.contains(&format!("{filler}a b.txt ")), "{finished}");
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
fn the_set_up_of_a_task_reads_the_same_files() {
    let place = sandbox();
    let repository = place.repository();
    let setup = "test -z \"$REGATTA_INPUTS\" || cp \"$REGATTA_INPUTS/find.json\" set-up.json";
    let plan = find()
        .task("use", "cmp set-up.json \"$REGATTA_INPUTS/find.json\" && echo yes > same.txt")
        .after(&["find"]);
    let finished = place.run_plan(&repository, &plan).arg("--setup").arg(setup).run();
    let _used = finished.expect_code(0);
    assert_eq!(repository.text("same.txt"), "yes\n");
    assert_eq!(inputs_left(&place), Vec::<PathBuf>::new());
}

#[test]
fn the_commands_of_a_model_read_the_same_files() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let talk = |asked: &Asked| match asked.answers() {
        0 => {
            let command = "cat \"$REGATTA_INPUTS/find.json\"";
            Answer::calls(vec![Call::new("bash", &json!({ "command": command }))])
        }
        _ => Answer::yields(&json!(asked.result())),
    };
    model.talk("use", talk);
    let plan = find().agent("use", &format!("Use it. {}", marker("use"))).after(&["find"]);
    let finished = run_with(&place, &repository, &plan, &model).run().expect_code(0);
    let said = finished.task("use")["yield"].as_str().unwrap().to_owned();
    assert!(said.contains("\"files\":[\"a b.txt\",\"$(touch pwned)\"]"), "{said}");
    assert_eq!(inputs_left(&place), Vec::<PathBuf>::new());
}

#[test]
fn a_field_that_was_not_yielded_fails_the_task_before_a_model_is_asked() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let prompt = format!("Use {{{{tasks.find.yield.nothing.here}}}}. {}", marker("use"));
    let plan = find().agent("use", &prompt).after(&["find"]).task("after", "true").after(&["use"]);
    let finished = run_with(&place, &repository, &plan, &model).run().expect_code(3);
    let failure = finished.task("use")["failure"].clone();
    assert_eq!(failure["class"], "dependency", "{finished}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("`find` yielded no `nothing.here`"), "{message}");
    assert_eq!(finished.task("after")["failure"]["class"], "dependency");
    assert!(model.asked("use").is_empty(), "nothing is spent on it");
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
        &["standard input:13:10:", "other", "no predecessor", "depends_on = [\"other\"]"],
    );
    refused(
        &use_of("{{tasks.fnd.yield.why}}").after(&["find"]),
        &["try: {{tasks.find.yield.why}}"],
    );
    refused(&use_of("{{tasks.gone.yield}}"), &["gone", "no predecessor"]);
    refused(&use_of("{{tasks.use.yield}}"), &["`use`", "no predecessor"]);
    refused(&use_of("{{tasks.find.result}}").after(&["find"]), &["is not a placeholder"]);
    let context = Plan::default().top("context = \"{{tasks.a.yield}}\"").agent("a", "x");
    refused(&context, &["standard input:2:11:", "context", "tasks.a.yield"]);
    let schema =
        "schema = { type = \"object\", properties = { why = {} }, additionalProperties = false }";
    let typo = find().with(schema).agent("use", "{{tasks.find.yield.wy}}").after(&["find"]);
    refused(&typo, &["standard input:10:10:", "never yields", "its schema has why"]);
    let shell = find().task("use", "echo {{tasks.find.yield}}").after(&["find"]);
    refused(&shell, &["cannot be put into a command", "$REGATTA_INPUTS/find.json"]);
    for words in ["{{tasks.a.yield}}", "--each *.md {{tasks.a.yield}}"] {
        let run = place.run_in(&repository).words("--model offline/none.toml").words(words);
        run.run().expect_refusal(&["tasks.a.yield", "nothing to stand for", "plan"]);
    }
    let run = place.run_in(&repository).exec("cat {{tasks.a.yield}}");
    run.run().expect_refusal(&["cannot be put into a command"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn yields_of_megabytes_and_of_hundreds_of_tasks_arrive_bounded_and_whole() {
    let place = sandbox();
    let repository = place.repository();
    let names: Vec<_> = (0..300).map(|at| format!("many{at}")).collect();
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
    assert_eq!(repository.text("count").trim(), "301", "{}", finished.stderr);
    let size: usize = repository.text("size").trim().parse().unwrap();
    assert!((500_000..501_000).contains(&size), "{size} bytes, with a note where it was cut");
    assert_eq!(repository.text("different").trim(), "300");
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
