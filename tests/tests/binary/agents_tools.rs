//! Several calls in one answer, and what of them counts.

use std::time::Duration;

use serde_json::json;
use tests::model::{Answer, Asked, Call, LoopbackModel, marker};
use tests::sandbox::{Plan, eventually};

use super::agents::run_one;
use super::sandbox;

fn write(path: &str, text: &str) -> Call {
    Call::new("write", &json!({ "path": path, "content": text }))
}

#[test]
fn many_edits_of_one_file_in_one_answer_all_count() {
    let place = sandbox();
    let repository = place.repository();
    let lines: Vec<_> = (0..16).map(|line| format!("line {line};\n")).collect();
    repository.write("lines.txt", lines.concat());
    repository.commit("lines");
    let model = LoopbackModel::start();
    let run = run_one(&place, &repository, &model, |asked: &Asked| match asked.answers() {
        0 => {
            let edit = |line: usize| {
                let (old, new) = (format!("line {line};"), format!("changed {line};"));
                let edit = json!({ "oldText": old, "newText": new });
                Call::new("edit", &json!({ "path": "lines.txt", "edits": [edit] }))
            };
            Answer::calls((0..16).map(edit).collect())
        }
        _ => {
            assert_eq!(asked.results().len(), 16, "each call has its result");
            Answer::yields(&json!("done"))
        }
    });
    let finished = run.run().expect_code(0);
    let expected: Vec<_> = (0..16).map(|line| format!("changed {line};\n")).collect();
    assert_eq!(repository.text("lines.txt"), expected.concat(), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn the_name_of_a_tool_in_another_case_is_taken() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = run_one(&place, &repository, &model, |asked: &Asked| match asked.answers() {
        0 => Answer::call("Write", &json!({ "path": "new.txt", "content": "new\n" })),
        _ => Answer::call("YIELD", &json!({ "result": { "data": "done" } })),
    });
    let finished = run.run().expect_code(0);
    assert_eq!(repository.text("new.txt"), "new\n", "{finished}");
    assert_eq!(finished.task("t1")["yield"], "done", "{finished}");
}

#[test]
fn base_url_on_the_command_line_holds_for_the_model_of_the_plan() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let plan = Plan::default().top(&format!("model = {:?}", model.route()));
    let plan = plan.agent("t1", &marker("t1"));
    let run = place.run_plan(&repository, &plan).arg("--base-url").arg(model.base_url());
    let finished = run.run().expect_code(0);
    assert_eq!((finished.task("t1")["yield"].as_str(), model.requests()), (Some("done"), 1));
}

#[test]
fn what_is_called_before_a_yield_is_done_and_what_comes_after_is_not() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let (began, go) = (place.folder().join("began"), place.folder().join("go"));
    let slow = format!(
        ": > {}; until [ -e {} ]; do sleep 0.02; done; echo slow > slow.txt",
        began.display(),
        go.display()
    );
    let run = run_one(&place, &repository, &model, move |_: &Asked| {
        let result = json!({ "result": { "data": "done" } });
        Answer::calls(vec![
            Call::new("bash", &json!({ "command": slow })),
            write("before.txt", "before\n"),
            Call::new("yield", &result),
            write("after.txt", "after\n"),
        ])
    });
    let running = run.start();
    eventually(Duration::from_secs(60), "the first is at work", || began.exists());
    std::fs::write(go, "").expect("a file can be written");
    let finished = running.wait().expect_code(0);
    assert_eq!(repository.text("before.txt"), "before\n", "{finished}");
    assert_eq!(repository.text("slow.txt"), "slow\n", "{finished}");
    assert!(!repository.has("after.txt"), "{finished}");
    assert_eq!(model.requests(), 1);
}

#[test]
fn commands_of_one_answer_run_side_by_side_and_after_what_was_written_before_them() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let bash = |script: &str| Call::new("bash", &json!({ "command": script }));
    let meet = |mine: &str, other: &str| {
        bash(&format!("touch {mine}; until test -e {other}; do sleep 0.02; done; cat order.txt"))
    };
    let calls = vec![
        Call::new("write", &json!({ "path": "order.txt", "content": "one\n" })),
        meet("left", "right"),
        meet("right", "left"),
        Call::new("write", &json!({ "path": "order.txt", "content": "two\n" })),
        bash("cat order.txt"),
    ];
    let run = run_one(&place, &repository, &model, move |asked: &Asked| match asked.answers() {
        0 => Answer::calls(calls.clone()),
        _ => {
            let results = asked.results();
            assert_eq!((results[1].as_str(), results[2].as_str()), ("one", "one"));
            assert_eq!(results[4], "two");
            Answer::yields(&json!("done"))
        }
    });
    let finished = run.run().expect_code(0);
    assert_eq!(repository.text("order.txt"), "two\n", "{finished}");
}

#[test]
fn a_flood_of_output_is_cut_for_the_model_and_kept_whole_beside_its_log() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = run_one(&place, &repository, &model, |asked: &Asked| match asked.answers() {
        0 => Answer::call("bash", &json!({ "command": "seq 1 200000; echo the end" })),
        _ => {
            let result = asked.result();
            assert!(result.len() < 60_000, "{}", result.len());
            assert!(result.contains("199999\n200000\nthe end"), "the end counts");
            assert!(result.contains("Full output: "), "where the rest is");
            Answer::yields(&json!("done"))
        }
    });
    let finished = run.run().expect_code(0);
    let artifacts = place.home().data().join("artifacts").join(finished.run_name()).join("t1");
    let kept = std::fs::read_dir(&artifacts).expect("artifacts can be listed").flatten();
    let kept = kept.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("bash"));
    let kept = std::fs::read_to_string(kept.expect("it is kept")).expect("it can be read");
    assert!(kept.starts_with("1\n2\n3\n") && kept.ends_with("200000\nthe end\n"), "whole");
}
