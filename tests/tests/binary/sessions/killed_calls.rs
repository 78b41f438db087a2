//! Calls of tools that SIGKILL interrupts: the continued session knows which of them had begun, and what they
//! had changed.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use test_limit::eventually;
use tests::model::{Answer, Asked, Call, LoopbackModel, marker};
use tests::sandbox::{Invocation, Sandbox};

use crate::binary::sandbox;
use crate::binary::terminal::kit::PacedModel;

const PATIENCE: Duration = Duration::from_secs(60);

/// Begins `regatta -p` in the folder `work`.
fn session(place: &Sandbox, model: &LoopbackModel) -> Invocation {
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session =
        place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
    session.arg("--base-url").arg(model.base_url())
}

/// Continues the session, and returns the results of the calls that were interrupted.
fn results_after_kill(place: &Sandbox, model: &LoopbackModel) -> Vec<String> {
    model.talk("s", |_: &Asked| Answer::text("Done."));
    let _done = session(place, model).arg("-c").arg("Go on.").run().expect_code(0);
    assert_eq!(model.take_violations(), [""; 0]);
    model.asked("s").last().expect("it was asked").results()
}

const PATCH: &str = "*** Begin Patch\n*** Update File: one\n-1\n+I\n*** Update File: two\n-2\n+II\n*** Add \
                     File: three\n+III\n*** Delete File: four\n*** End Patch";

#[test]
fn a_patch_that_is_killed_between_two_files_is_reported_file_by_file() {
    for (number, [two, three]) in
        [(2, ["as it was before", "not written"]), (3, ["written", "not written"])]
    {
        let (place, model) = (sandbox(), LoopbackModel::start());
        place.home().configure("edit: { mode: apply_patch }");
        model.talk("s", |_: &Asked| Answer::call("apply_patch", &json!({ "input": PATCH })));
        let killed = session(&place, &model).arg(marker("s"));
        let work = place.folder().join("work");
        for (name, text) in [("one", "1\n"), ("two", "2\n"), ("four", "4\n")] {
            fs::write(work.join(name), text).expect("a file can be written");
        }
        let killed = killed.fault(&format!("kill@tool.file:{number}")).run().expect_code(137);
        assert_eq!(fs::read_to_string(work.join("one")).unwrap(), "I\n", "{killed}");
        let results = results_after_kill(&place, &model);
        let [result] = results.as_slice() else { panic!("one result, not {results:?}") };
        let files = format!(
            "Its files now:\none: written\ntwo: {two}\nthree: {three}\nfour: as it was before"
        );
        assert!(result.ends_with(&files), "{number}: {result}");
    }
}

#[test]
fn a_call_that_waited_for_another_one_has_not_run_and_the_other_one_may_have() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    model.talk("s", |_: &Asked| {
        let bash = |command: &str| Call::new("bash", &json!({ "command": command }));
        let write = Call::new("write", &json!({ "path": "later.txt", "content": "x\n" }));
        let read = Call::new("read", &json!({ "path": "." }));
        Answer::calls(vec![bash("touch begun; sleep 600"), read, write])
    });
    let running = session(&place, &model).arg(marker("s")).start();
    let work = place.folder().join("work");
    eventually(PATIENCE, "the command has begun", || work.join("begun").exists());
    let log = place.home().session_files().remove(0);
    let begun = || fs::read_to_string(log.with_extension("").join("calls.log"));
    eventually(PATIENCE, "two calls have begun", || {
        begun().is_ok_and(|it| it.lines().count() == 3)
    });
    kill_process(running.id(), Signal::KILL).expect("it runs");
    let _killed = running.wait().expect_code(137);
    let results = results_after_kill(&place, &model);
    let [begun, beside, waited] = results.as_slice() else { panic!("three, not {results:?}") };
    for begun in [begun, beside] {
        assert!(begun.contains("was restarted while this call ran. Its effects may be"), "{begun}");
    }
    assert_eq!(waited, "not run: the engine was restarted before this call began.");
    assert!(!work.join("later.txt").exists());
}

#[test]
fn a_call_that_a_person_was_asked_about_has_not_run() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = model.asking_session(&place).on_a_keyboard(24, 100);
    screen.until("the status line", |text| text.contains("loopback/loop"));
    screen.press("begin\r");
    model.next().call("bash", &json!({ "command": "touch made" }));
    screen.until("the question", |text| text.contains("allow bash touch made?"));
    kill_process(screen.id(), Signal::KILL).expect("it runs");
    let _killed = screen.wait();
    let print = place.regatta(&place.folder().join("work"));
    let print = print.words("-p -c --model loopback/loop --base-url").arg(model.url());
    let print = print.arg("Go on.").start();
    let next = model.next();
    let messages = next.request["messages"].as_array().cloned().unwrap_or_default();
    let result = messages.iter().find(|message| message["role"] == "tool");
    let content = result.map(|message| message["content"].clone()).unwrap_or(Value::Null);
    let text = "not run: the engine was restarted before this call began.";
    assert!(content.to_string().contains(text), "{content}");
    next.answer("done");
    let _done = print.wait().expect_code(0);
    assert!(!place.folder().join("work").join("made").exists());
}
