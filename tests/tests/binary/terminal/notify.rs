//! Commands that are told of questions, and of the ends of runs and turns.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use test_limit::eventually;
use tests::sandbox::Processes;

use super::approvals::asked;
use super::kit::PacedModel;
use crate::binary::sandbox;

/// How long a command may take until it is told.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_command_gets_a_question_and_the_end_of_a_run_and_of_a_turn_and_its_failure_is_one_warning() {
    let (place, model) = (sandbox(), PacedModel::start());
    place.home().configure("terminal: { alert: bell }");
    let file = place.folder().join("told");
    let command = format!("cat >> '{}'; exit 3", file.display());
    let told = || -> Vec<Value> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
    };
    let repository = place.repository();
    repository.write("README.md", "read me\n");
    repository.commit("a file");
    let run = place.regatta(repository.root()).words("run --approval-mode ask");
    let run = run.words("--model loopback/loop --base-url").arg(model.url());
    let mut screen = run.arg("--notify").arg(&command).arg("do one").on_a_keyboard(30, 100);
    let exchange = model.next();
    let written = json!({ "path": "new.txt", "content": "one\n" });
    exchange.call("write", &written);
    eventually(PATIENCE, "the question is told", || !told().is_empty());
    let question = &told()[0];
    assert_eq!((&question["type"], &question["task"]), (&json!("question"), &json!("do-one")));
    let diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n";
    assert_eq!(question["question"]["diff"], diff, "{question}");
    eventually(PATIENCE, "the bell rings", || screen.bytes().contains('\u{7}'));
    assert_eq!(asked(&screen, "? y once · s session · a always · n no · d details"), "do-one");
    screen.press("d");
    screen.until("the diff", |text| text.contains("  +++ b/new.txt") && text.contains("  +one"));
    screen.press("y");
    model.next().call("yield", &json!({ "data": "done" }));
    assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
    let text = screen.text();
    assert_eq!(text.matches("of the setting `notify`, failed").count(), 1, "{text}");
    let ended = &told()[1];
    assert_eq!((&ended["type"], &ended["exit_code"]), (&json!("run_end"), &json!(0)), "{ended}");
    assert_eq!(ended["run"], question["run"]);
    let print = place.regatta(repository.root()).words("-p --model loopback/loop --base-url");
    let print = print.arg(model.url()).arg("--notify").arg(&command).arg("say it").start();
    model.next().answer("all is said");
    print.wait();
    let turn = &told()[2];
    assert_eq!((&turn["type"], &turn["answer"]), (&json!("turn_end"), &json!("all is said")));
}

#[test]
fn a_command_that_runs_is_killed_with_its_processes_where_a_signal_ends_the_program_at_once() {
    let place = sandbox();
    let repository = place.repository();
    let file = place.folder().join("id");
    let command = format!("sleep 600 & echo $! > '{}'; wait", file.display());
    let run = place.run_in(&repository).arg("--notify").arg(command).exec("true").start();
    let read = || fs::read_to_string(&file).unwrap_or_default();
    eventually(PATIENCE, "the command runs", || read().ends_with('\n'));
    let below = Processes::below(run.id());
    let id = read().trim().to_owned();
    let sleep = below.iter().find(|process| process.id.to_string() == id).expect("it lives");
    eventually(PATIENCE, "it is killed", || {
        let _ended = kill_process(run.id(), Signal::INT);
        !sleep.is_alive()
    });
    run.wait();
}
