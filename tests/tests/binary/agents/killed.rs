//! The engine is killed, or told to stop, in the middle of eight agents.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_limit::sample;
use tests::model::{Answer, Asked, Call, LoopbackModel, Script, marker};
use tests::sandbox::{Plan, Repository, Running, Sandbox, eventually};

use super::work::{as_sent, plain, run_with};
use crate::binary::sandbox;

const TASKS: usize = 8;

fn name(task: usize) -> String {
    format!("task-{task}")
}

/// What every agent has written when it is held up.
fn text(task: usize) -> String {
    format!("begun by {task}\nand gone on\n")
}

/// Writes, edits, and then waits for an answer that never comes; every other one waits for a
/// command instead.
fn held_up(task: usize, marks: &Path) -> impl Script + use<> {
    let mark = marks.join(name(task)).display().to_string();
    move |asked: &Asked| {
        let path = format!("work/{task}.txt");
        match asked.answers() {
            0 => {
                let content = format!("begun by {task}\n");
                Answer::call("write", &json!({ "path": path, "content": content }))
            }
            1 => Answer::calls(vec![
                Call::new("bash", &json!({ "command": format!("echo and gone on >> {path}") })),
                Call::new("read", &json!({ "path": "README.md" })),
            ]),
            2 if task.is_multiple_of(2) => Answer::Held,
            2 => {
                let script = format!("trap '' TERM; : > {mark}; sleep 300");
                Answer::call("bash", &json!({ "command": script }))
            }
            more => panic!("{more} answers"),
        }
    }
}

/// Starts eight agents. Where a command of theirs runs, there is a file of its task's name in the
/// folder that is returned.
fn start(place: &Sandbox, repository: &Repository, model: &LoopbackModel) -> (Running, PathBuf) {
    let marks = place.folder().join("at-work");
    std::fs::create_dir_all(&marks).expect("a folder can be made");
    let plan = (0..TASKS).fold(Plan::default(), |plan, task| {
        model.talk(&name(task), held_up(task, &marks));
        plan.agent(&name(task), &format!("Work. {}", marker(&name(task))))
    });
    let run = run_with(place, repository, &plan, model).words("--jobs 8");
    (run.start(), marks)
}

/// Starts eight agents and comes back when each has been asked for its third answer, and half of
/// them run a command.
fn at_work(place: &Sandbox, repository: &Repository, model: &LoopbackModel) -> Running {
    let (running, marks) = start(place, repository, model);
    eventually(Duration::from_secs(60), "each is held up", || {
        (0..TASKS).all(|task| model.asked(&name(task)).len() == 3)
    });
    eventually(Duration::from_secs(60), "the commands run", || {
        (0..TASKS).filter(|task| marks.join(name(*task)).exists()).count() == TASKS / 2
    });
    running
}

/// Checks that all that the model was told is in the session log of a task.
fn expect_logged(place: &Sandbox, model: &LoopbackModel, run: &str, task: usize) {
    let mut logged: Vec<Value> =
        place.home().messages(run, &name(task)).iter().map(as_sent).collect();
    let asked = model.asked(&name(task)).pop().expect("it was asked");
    let mut told = asked.messages()[1..].to_vec();
    told.iter_mut().for_each(plain);
    assert!(logged.len() >= told.len(), "{}: {logged:#?}", name(task));
    let more = logged.split_off(told.len());
    assert_eq!(logged, told, "{}", name(task));
    // The answer whose call runs was complete as well.
    let complete = usize::from(task % 2 == 1);
    assert_eq!(more.len(), complete, "{}: {more:#?}", name(task));
}

#[test]
fn killed_in_the_middle_of_eight_agents_every_complete_message_is_logged_and_the_work_captured() {
    let place = sandbox();
    let repository = place.repository();
    let tree = repository.tree();
    let model = LoopbackModel::start();
    let mut running = at_work(&place, &repository, &model);
    let run = running.next_event().expect("a run begins with an event")["run"].clone();
    let run = run.as_str().expect("a run has a name").to_owned();
    let killed = running.kill();
    place.expect_no_process(Duration::from_secs(1));
    for task in 0..TASKS {
        expect_logged(&place, &model, &run, task);
    }
    let started = place.regatta(repository.root()).words("runs show --json").run().expect_code(0);
    let shown: Value = serde_json::from_str(&started.stdout).expect("it is one document");
    assert_eq!(shown["run"]["usage"]["output"], 600, "each answer took 30: {started}");
    for task in 0..TASKS {
        let capture = format!("{run}/{}/1", name(task));
        let captures = place.home().captures();
        assert!(captures.contains(&capture), "{capture} in {captures:?}\n{killed}\n{started}");
        assert_eq!(place.home().captured(&capture, &format!("work/{task}.txt")), text(task));
        let tasks = shown["tasks"].as_array().expect("it lists the tasks");
        let shown = tasks.iter().find(|shown| shown["name"] == *name(task)).expect("it is there");
        let used = if task % 2 == 0 { 60 } else { 90 };
        assert_eq!(shown["usage"]["output"], used, "{}: {started}", name(task));
    }
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new(), "nothing has landed");
    assert!(place.home().ledger_is_sound());
    place.expect_nothing_left(&repository);
    // And it can be had.
    let apply = place.regatta(repository.root()).words("apply").arg(format!("{run}/task-1"));
    let applied = apply.run().expect_code(0);
    assert_eq!(repository.text("work/1.txt"), text(1), "{applied}");
}

#[test]
fn killed_while_answers_are_being_said_no_message_that_was_told_is_lost() {
    for requests in sample([3, 9, 14], 1) {
        let place = sandbox();
        let repository = place.repository();
        let model = LoopbackModel::start();
        let (mut running, _marks) = start(&place, &repository, &model);
        let run = running.next_event().expect("a run begins with an event")["run"].clone();
        let run = run.as_str().expect("a run has a name").to_owned();
        eventually(Duration::from_secs(60), "enough was asked", || model.requests() >= requests);
        let killed = running.kill();
        place.expect_no_process(Duration::from_secs(1));
        let _started = place.regatta(repository.root()).words("runs").run().expect_code(0);
        for task in 0..TASKS {
            let Some(asked) = model.asked(&name(task)).pop() else { continue };
            let logged = place.home().messages(&run, &name(task));
            let mut told = asked.messages()[1..].to_vec();
            told.iter_mut().for_each(plain);
            let logged: Vec<_> = logged.iter().map(as_sent).take(told.len()).collect();
            assert_eq!(logged, told, "{} after {requests} requests: {killed}", name(task));
            // Whose writing was answered, it is in the capture.
            if asked.answers() == 2 {
                let capture = format!("{run}/{}/1", name(task));
                let path = format!("work/{task}.txt");
                assert_eq!(place.home().captured(&capture, &path), text(task), "{killed}");
            }
        }
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn ctrl_c_ends_agents_that_wait_and_that_run_commands_and_captures_their_work() {
    let place = sandbox();
    let repository = place.repository();
    let tree = repository.tree();
    let model = LoopbackModel::start();
    let running = at_work(&place, &repository, &model);
    running.signal(Signal::INT);
    let finished = running.wait().expect_code(130);
    let run = finished.run_name();
    for task in 0..TASKS {
        assert_eq!(finished.task(&name(task))["outcome"], "cancelled", "{finished}");
        let capture = format!("{run}/{}/1", name(task));
        assert_eq!(place.home().captured(&capture, &format!("work/{task}.txt")), text(task));
        let logged = place.home().messages(&run, &name(task));
        assert!(logged.len() >= 6, "{}: {logged:#?}", name(task));
        let usage = finished.task(&name(task))["usage"]["output"].clone();
        assert_eq!(usage, if task % 2 == 0 { 60 } else { 90 }, "{}: {finished}", name(task));
    }
    assert_eq!(finished.landed(), Vec::<String>::new(), "{finished}");
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}
