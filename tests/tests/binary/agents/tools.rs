//! Several calls in one answer, and what of them counts. All agents are of one run, whose model is
//! that of the plan, at the address of the command line.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tests::model::{Answer, Asked, Call, LoopbackModel, Script, marker};
use tests::sandbox::{Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

fn write(path: &str, text: &str) -> Call {
    Call::new("write", &json!({ "path": path, "content": text }))
}

fn bash(script: &str) -> Call {
    Call::new("bash", &json!({ "command": script }))
}

/// Changes each of 16 lines by a call of its own.
fn edits(asked: &Asked) -> Answer {
    match asked.answers() {
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
    }
}

/// Writes the names of tools in another case.
fn other_case(asked: &Asked) -> Answer {
    match asked.answers() {
        0 => Answer::call("Write", &json!({ "path": "case.txt", "content": "new\n" })),
        _ => Answer::call("YIELD", &json!({ "result": { "data": "done" } })),
    }
}

/// Calls something before it yields and after, in one answer. The first is slow: it makes a file, and
/// goes on when another one is there.
fn around_a_yield(began: &Path, go: &Path) -> impl Script + use<> {
    let slow = format!(
        ": > {}; until [ -e {} ]; do sleep 0.02; done; echo slow > slow.txt",
        began.display(),
        go.display()
    );
    move |_: &Asked| {
        Answer::calls(vec![
            bash(&slow),
            write("before.txt", "before\n"),
            Call::new("yield", &json!({ "result": { "data": "done" } })),
            write("after.txt", "after\n"),
        ])
    }
}

/// Runs two commands that wait for each other, between two calls that write the same file.
fn side_by_side(asked: &Asked) -> Answer {
    let meet = |mine: &str, other: &str| {
        bash(&format!("touch {mine}; until test -e {other}; do sleep 0.02; done; cat order.txt"))
    };
    if asked.answers() == 0 {
        return Answer::calls(vec![
            write("order.txt", "one\n"),
            meet("left", "right"),
            meet("right", "left"),
            write("order.txt", "two\n"),
            bash("cat order.txt"),
        ]);
    }
    let results = asked.results();
    assert_eq!((results[1].as_str(), results[2].as_str()), ("one", "one"));
    assert_eq!(results[4], "two");
    Answer::yields(&json!("done"))
}

/// Calls one tool after the other, each with what only the result before has said.
fn searches(asked: &Asked) -> Answer {
    let result = if asked.answers() == 0 { String::new() } else { asked.result() };
    let call = |tool: &str, arguments| Answer::call(tool, &arguments);
    match asked.answers() {
        0 => call("find", json!({ "pattern": "*.clue" })),
        1 => call("grep", json!({ "pattern": "next is \\w+", "path": result })),
        2 => {
            let folder = result.split("next is ").nth(1).expect("grep has found the line");
            call("ls", json!({ "path": folder }))
        }
        3 => {
            let name = result.split_whitespace().next().expect("ls lists a name");
            call("read", json!({ "path": format!("k2/{name}") }))
        }
        4 => {
            let old = result.split_whitespace().nth(1).expect("read shows a line");
            let edits = json!([{ "oldText": old, "newText": "found" }]);
            call("edit", json!({ "path": "k2/q9.txt", "edits": edits }))
        }
        _ => Answer::yields(&json!("done")),
    }
}

fn floods(asked: &Asked) -> Answer {
    if asked.answers() == 0 {
        return Answer::calls(vec![bash("seq 1 200000; echo the end")]);
    }
    let result = asked.result();
    if asked.answers() == 2 {
        assert!(result.starts_with("100000  100000\n\n["), "the rest can be read: {result}");
        return Answer::yields(&json!("done"));
    }
    assert!(result.len() < 60_000, "{}", result.len());
    assert!(result.contains("199999\n200000\nthe end"), "the end counts");
    let named = result.rsplit_once("Full output: ").expect("where the rest is").1;
    let path = named.trim_end_matches(']');
    Answer::call("read", &json!({ "path": path, "offset": 100_000, "limit": 1 }))
}

/// Starts a server in the background, asks it by another command, and leaves it running. A second one that has
/// left its process group stays, too.
fn serves(server: &Path) -> impl Script + use<> {
    let serve = format!(
        "setsid sleep 1000 & mkfifo $TMPDIR/ask; echo $$ $! > {}; while read word < $TMPDIR/ask; do \
         echo \"the answer to $word\" > $TMPDIR/part; mv $TMPDIR/part $TMPDIR/answer; done",
        server.display()
    );
    let ask = "until [ -p $TMPDIR/ask ]; do sleep 0.02; done; echo nonce-k7 > $TMPDIR/ask; \
               until [ -e $TMPDIR/answer ]; do sleep 0.02; done; cat $TMPDIR/answer";
    move |asked: &Asked| match asked.answers() {
        0 => Answer::call("bash", &json!({ "command": serve, "background": true })),
        1 => {
            assert!(asked.result().starts_with("Background command 1 is running"));
            Answer::calls(vec![bash(ask)])
        }
        2 => {
            assert_eq!(asked.result(), "the answer to nonce-k7");
            Answer::call("job", &json!({ "action": "list" }))
        }
        _ => {
            assert!(asked.result().contains("Background command 1 is running for "));
            Answer::yields(&json!("done"))
        }
    }
}

/// Checks that no process is left of those that wrote their ids into a file.
fn expect_gone(server: &Path) {
    let ids = std::fs::read_to_string(server).expect("the server has begun");
    for id in ids.split_whitespace() {
        let is_left = Path::new("/proc").join(id).exists();
        assert!(!is_left, "the process {id} has outlived its task");
    }
}

/// Checks that the flood is kept whole beside the log of its agent.
fn expect_flood(place: &Sandbox, run: &str) {
    let artifacts = place.home().data().join("artifacts").join(run).join("floods");
    let kept = std::fs::read_dir(&artifacts).expect("artifacts can be listed").flatten();
    let kept = kept.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("bash"));
    let kept = std::fs::read_to_string(kept.expect("it is kept")).expect("it can be read");
    assert!(kept.starts_with("1\n2\n3\n") && kept.ends_with("200000\nthe end\n"), "whole");
}

fn with_lines(place: &Sandbox) -> Repository {
    let repository = place.repository();
    let lines: Vec<_> = (0..16).map(|line| format!("line {line};\n")).collect();
    repository.write("lines.txt", lines.concat());
    // It is in the workspace, because git tracks it, and is ignored all the same.
    repository.write("decoy/a.clue", "next is nowhere\n");
    repository.commit("a decoy");
    repository.write(".gitignore", "decoy/\n");
    repository.write("clues/n7.clue", "begin\nnext is k2\n");
    repository.write("k2/q9.txt", "secret-m4\n");
    repository.commit("lines");
    repository
}

#[test]
fn calls_of_one_answer_are_done_in_their_order_commands_side_by_side_and_none_after_a_yield() {
    let place = sandbox();
    let repository = with_lines(&place);
    let model = LoopbackModel::start();
    let (began, go) = (place.folder().join("began"), place.folder().join("go"));
    model.talk("edits", edits);
    model.talk("other-case", other_case);
    model.talk("around-a-yield", around_a_yield(&began, &go));
    model.talk("side-by-side", side_by_side);
    model.talk("floods", floods);
    model.talk("searches", searches);
    let server = place.folder().join("server");
    model.talk("serves", serves(&server));
    let plan = Plan::default().top(&format!("model = {:?}", model.route()));
    let names =
        ["edits", "other-case", "around-a-yield", "side-by-side", "floods", "searches", "serves"];
    let plan = names.iter().fold(plan, |plan, name| plan.agent(name, &marker(name)));
    let run = place.run_plan(&repository, &plan).arg("--base-url").arg(model.base_url());
    let running = run.start();
    eventually(Duration::from_secs(60), "the slow one is at work", || began.exists());
    std::fs::write(go, "").expect("a file can be written");
    let finished = running.wait();
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    let finished = finished.expect_code(0);
    let changed: Vec<_> = (0..16).map(|line| format!("changed {line};\n")).collect();
    for (path, text) in [
        ("lines.txt", changed.concat().as_str()),
        ("case.txt", "new\n"),
        ("before.txt", "before\n"),
        ("slow.txt", "slow\n"),
        ("order.txt", "two\n"),
        ("k2/q9.txt", "found\n"),
    ] {
        assert_eq!(repository.text(path), text, "{path}: {finished}");
    }
    assert!(!repository.has("after.txt"), "{finished}");
    assert_eq!(finished.task("other-case")["yield"], "done", "{finished}");
    assert_eq!(model.asked("around-a-yield").len(), 1);
    expect_flood(&place, &finished.run_name());
    expect_gone(&server);
    place.expect_nothing_left(&repository);
}
