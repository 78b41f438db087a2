//! The tool `task`: a model hands work to subagents.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_limit::{eventually, within};
use tests::model::{Answer, Asked, LoopbackModel, Script, marker, steps};
use tests::sandbox::{Invocation, Sandbox};

use crate::binary::sandbox;

/// A session in print mode.
pub(super) fn session(
    place: &Sandbox,
    model: &LoopbackModel,
    folder: &Path,
    words: &str,
) -> Invocation {
    let session = place.regatta(folder).words("-p --model").arg(model.route());
    session.arg("--base-url").arg(model.base_url()).words(words).arg(marker("parent"))
}

/// A call with these items, each of which begins the conversation of its name.
pub(crate) fn task(ids: &[&str], more: &Value) -> Answer {
    let items = ids.iter().map(|id| {
        json!({ "id": id, "description": format!("does {id}"), "assignment": format!("Do it. {}", marker(id)) })
    });
    let mut arguments = json!({ "agent": "task", "tasks": items.collect::<Vec<_>>() });
    for (name, value) in more.as_object().expect("they are arguments") {
        arguments[name] = value.clone();
    }
    Answer::call("task", &arguments)
}

pub(super) fn write(path: &str, content: &str) -> Answer {
    Answer::call("write", &json!({ "path": path, "content": content }))
}

/// A subagent that writes a file, and yields what is in it.
pub(crate) fn writer(id: &str) -> Vec<Answer> {
    let (path, text) = (format!("{id}.txt"), format!("of {id}\n"));
    vec![write(&path, &text), Answer::yields(&json!({ "summary": format!("wrote {path}") }))]
}

#[test]
fn the_subagents_of_a_call_work_side_by_side_in_the_tree_of_the_session() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let ids = ["One", "Two", "Three"];
    model.talk("parent", steps(vec![task(&ids, &json!({})), Answer::text("all done")]));
    // None goes on after its first answer before all have begun.
    let begun = Arc::new(Mutex::new(BTreeSet::new()));
    for id in ids {
        let mut answers = steps(writer(id));
        let begun = Arc::clone(&begun);
        model.talk(id, move |asked: &Asked| {
            begun.lock().expect("nobody panics").insert(id);
            if asked.answers() == 1 {
                let all = || begun.lock().expect("nobody panics").len() == ids.len();
                eventually(Duration::from_secs(20), "all of them begin", all);
            }
            answers.next(asked)
        });
    }
    let ended = session(&place, &model, repository.root(), "--approval-mode yolo").run();
    let ended = ended.expect_code(0);
    assert_eq!(ended.stdout, "all done\n");
    for id in ids {
        assert_eq!(repository.text(format!("{id}.txt")), format!("of {id}\n"));
    }
    let result = model.asked("parent")[1].results().join("\n");
    assert!(result.contains("3/3 succeeded"), "{result}");
    for (at, id) in ids.iter().enumerate() {
        assert!(result.contains(&format!("{}-{id}", at + 1)), "{result}");
        assert!(result.contains(&format!("wrote {id}.txt")), "{result}");
    }
    assert_eq!(model.take_violations(), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

#[test]
fn isolated_subagents_work_in_copies_and_land_once_in_their_order_over_a_dirty_tree() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    repository.make_dirty();
    let mine = ["mine/untracked/notes.txt", "README.md"];
    let before = mine.map(|path| repository.text(path));
    let ids = ["One", "Two", "Same"];
    model.talk(
        "parent",
        steps(vec![task(&ids, &json!({ "isolated": true })), Answer::text("all done")]),
    );
    model.talk("One", steps(writer("One")));
    model.talk("Two", steps(writer("Two")));
    // Two rewrite the same file: the first of the call lands.
    model.talk("Same", steps(vec![write("One.txt", "of another\n"), Answer::yields(&json!("ok"))]));
    let ended = session(&place, &model, repository.root(), "--approval-mode yolo").run();
    drop(ended.expect_code(0));
    assert_eq!(repository.text("One.txt"), "of One\n");
    assert_eq!(repository.text("Two.txt"), "of Two\n");
    assert_eq!(mine.map(|path| repository.text(path)), before);
    let result = model.asked("parent")[1].results().join("\n");
    assert!(result.contains("merge failed") && result.contains("One.txt"), "{result}");
    assert!(result.contains("regatta conflicts "), "{result}");
    let undone = place.regatta(repository.root()).words("undo @").run().expect_code(0);
    assert!(!repository.path("One.txt").exists(), "{undone}");
    place.expect_nothing_left(&repository);
}

#[test]
fn where_nobody_can_be_asked_isolated_work_is_kept_and_the_result_names_the_line_that_lands_it() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let before = repository.tree();
    let call = task(&["One"], &json!({ "isolated": true }));
    model.talk("parent", steps(vec![call, Answer::text("kept")]));
    model.talk("One", steps(writer("One")));
    let ended = session(&place, &model, repository.root(), "").run().expect_code(0);
    assert!(ended.stderr.contains("the work of 1-One is kept, and has not landed"), "{ended}");
    assert_eq!(repository.tree(), before);
    let result = model.asked("parent")[1].results().join("\n");
    let (_, command) = result.split_once("regatta apply ").expect("it names the line");
    let target = command.split([' ', '\n', '`', '<']).next().expect("it names the work");
    drop(place.regatta(repository.root()).words("apply").arg(target).run().expect_code(0));
    assert_eq!(repository.text("One.txt"), "of One\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn below_a_task_of_a_run_subagents_start_from_its_workspace_and_land_there() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    model.talk(
        "parent",
        steps(vec![
            write("first.txt", "first\n"),
            task(&["Copy"], &json!({ "isolated": true })),
            task(&["Here"], &json!({})),
            Answer::call("bash", &json!({ "command": "cat Copy.txt Here.txt" })),
            Answer::yields(&json!("done")),
        ]),
    );
    let child = |id: &str| {
        let cat = Answer::call("bash", &json!({ "command": "cat first.txt" }));
        [cat].into_iter().chain(writer(id)).collect()
    };
    model.talk("Copy", steps(child("Copy")));
    model.talk("Here", steps(child("Here")));
    let run = place.regatta(repository.root()).words("run --jobs 1 --model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url());
    let run = run.arg(format!("Do it all. {}", marker("parent"))).run();
    drop(run.expect_code(0));
    for id in ["Copy", "Here"] {
        assert_eq!(model.asked(id)[1].results().join(""), "first", "it sees what its parent wrote");
        assert_eq!(repository.text(format!("{id}.txt")), format!("of {id}\n"));
    }
    let seen = model.asked("parent")[4].results().join("\n");
    assert!(seen.contains("of Copy\nof Here"), "{seen}");
    place.expect_nothing_left(&repository);
}

#[test]
fn what_cannot_land_in_the_workspace_of_a_task_is_a_patch_that_its_model_reads() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let read = json!({ "path": "agent://2-Two.patch" });
    model.talk(
        "parent",
        steps(vec![
            task(&["One", "Two"], &json!({ "isolated": true })),
            Answer::call("read", &read),
            Answer::yields(&json!("done")),
        ]),
    );
    for id in ["One", "Two"] {
        let same = write("same.txt", &format!("of {id}\n"));
        model.talk(id, steps(vec![same, Answer::yields(&json!("ok"))]));
    }
    let run = place.regatta(repository.root()).words("run --model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url());
    drop(run.arg(format!("Do it all. {}", marker("parent"))).run().expect_code(0));
    assert_eq!(repository.text("same.txt"), "of One\n");
    let result = model.asked("parent")[1].result();
    assert!(result.contains("merge failed") && !result.contains("regatta "), "{result}");
    let patch = model.asked("parent")[2].result();
    assert!(patch.contains("+of Two"), "{patch}");
    place.expect_nothing_left(&repository);
}

/// Kills the process that asks in this conversation, with its request open, once it has answered so often.
fn killer(
    mut answers: impl Script + 'static,
    after: usize,
    processes: Receiver<Pid>,
) -> impl Script {
    move |asked: &Asked| {
        if asked.answers() < after {
            return answers.next(asked);
        }
        let process = processes.recv().expect("the process is named");
        kill_process(process, Signal::KILL).expect("it waits for an answer");
        Answer::Silence
    }
}

#[test]
fn what_subagents_have_done_when_the_engine_is_killed_is_kept_and_nothing_of_them_is_left() {
    for below_a_task in [false, true] {
        let (place, model) = (sandbox(), LoopbackModel::start());
        let repository = place.repository();
        let before = repository.tree();
        let (process, processes) = channel::<Pid>();
        let call = task(&["Copy"], &json!({ "isolated": true }));
        model.talk("parent", steps(vec![write("first.txt", "first\n"), call]));
        model.talk("Copy", killer(steps(writer("Copy")), 1, processes));
        let words = if below_a_task { "run --model" } else { "-p --approval-mode yolo --model" };
        let running = place.regatta(repository.root()).words(words).arg(model.route());
        let running = running.arg("--base-url").arg(model.base_url());
        let running = running.arg(format!("Do it all. {}", marker("parent"))).start();
        process.send(running.id()).expect("the server waits for it");
        drop(running.wait().expect_code(137));
        let regatta = |words: &str| place.regatta(repository.root()).words(words).run();
        let listed = regatta("runs").expect_code(0);
        assert!(listed.stderr.contains("the work of 1 of its 1 task is kept"), "{listed}");
        assert!(!repository.path("Copy.txt").exists(), "{listed}");
        drop(regatta("apply --kept").expect_code(0));
        assert_eq!(repository.text("first.txt"), "first\n");
        match below_a_task {
            // It had not landed in the workspace of its task, of which it is no part then.
            true => assert!(!repository.path("Copy.txt").exists()),
            false => assert_eq!(repository.text("Copy.txt"), "of Copy\n"),
        }
        drop(regatta("undo @").expect_code(0));
        if below_a_task {
            assert_eq!(repository.tree(), before);
        }
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn a_call_that_cannot_be_done_starts_nothing_and_says_why() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    model.talk(
        "parent",
        steps(vec![
            task(&["One"], &json!({ "agent": "nobody" })),
            task(&["One", "one"], &json!({})),
            Answer::call("task", &json!({ "agent": "task", "tasks": [] })),
            Answer::text("well"),
        ]),
    );
    let ended = session(&place, &model, repository.root(), "--approval-mode yolo").run();
    drop(ended.expect_code(0));
    let all: String = model.asked("parent").iter().flat_map(Asked::results).collect();
    assert!(all.contains("Unknown agent \"nobody\". Available: "), "{all}");
    assert!(all.contains("Duplicate task ids detected (case-insensitive)"), "{all}");
    assert!(model.asked("One").is_empty());
    place.expect_nothing_left(&repository);
}

/// How many requests are open at the same time.
#[derive(Default)]
struct Open {
    now: usize,
    most: usize,
}

#[test]
fn a_tree_of_subagents_never_asks_more_at_once_than_the_capacity_and_ends_at_any_depth() {
    for (capacity, ids) in [(1, ["A", "B"].as_slice()), (4, &["A", "B", "C", "D"])] {
        let (place, model) = (sandbox(), LoopbackModel::start());
        let repository = place.repository();
        let open = Arc::new(Mutex::new(Open::default()));
        let counted = |answers: Vec<Answer>| {
            let (mut answers, open) = (steps(answers), Arc::clone(&open));
            move |asked: &Asked| {
                let count = |change: isize| {
                    let mut open = open.lock().expect("nobody panics");
                    open.now = open.now.saturating_add_signed(change);
                    open.most = open.most.max(open.now);
                };
                count(1);
                // Long enough that another request would be seen, if one could be made.
                let _never = within(Duration::from_millis(20), || false);
                count(-1);
                answers.next(asked)
            }
        };
        let end = |id: &str| Answer::yields(&json!(format!("{id} is done")));
        let all = |above: &str| ids.iter().map(|id| format!("{above}{id}")).collect::<Vec<_>>();
        let call = |ids: &[String]| {
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            task(&ids, &json!({}))
        };
        model.talk("parent", counted(vec![call(&all("")), end("parent")]));
        for id in all("") {
            model.talk(&id, counted(vec![call(&all(&id)), end(&id)]));
            for leaf in all(&id) {
                model.talk(&leaf, counted(vec![end(&leaf)]));
            }
        }
        let run = place.regatta(repository.root()).words("run --jobs").arg(capacity.to_string());
        let run = run.arg("--model").arg(model.route()).arg("--base-url").arg(model.base_url());
        let run = run.arg(format!("Do it all. {}", marker("parent"))).run();
        drop(run.expect_code(0));
        let most = open.lock().expect("nobody panics").most;
        assert!(most <= capacity, "{most} of {capacity}");
        let result = model.asked("parent")[1].result();
        for id in all("") {
            assert!(result.contains(&format!("{id} is done")), "{result}");
        }
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn ctrl_c_ends_the_subagents_of_a_call_keeps_their_work_and_lands_nothing() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let before = repository.tree();
    let (process, processes) = channel::<Pid>();
    let call = task(&["Copy", "Waits"], &json!({ "isolated": true }));
    model.talk("parent", steps(vec![call]));
    model.talk("Waits", |_: &Asked| Answer::Silence);
    let mut answers = steps(vec![write("Copy.txt", "of Copy\n")]);
    model.talk("Copy", move |asked: &Asked| {
        if asked.answers() == 0 {
            return answers.next(asked);
        }
        let process = processes.recv().expect("the process is named");
        kill_process(process, Signal::INT).expect("it waits for an answer");
        Answer::Silence
    });
    let words = "-p --approval-mode yolo --model";
    let running = place.regatta(repository.root()).words(words).arg(model.route());
    let running = running.arg("--base-url").arg(model.base_url());
    let running = running.arg(format!("Do it all. {}", marker("parent"))).start();
    process.send(running.id()).expect("the server waits for it");
    drop(running.wait().expect_code(130));
    assert_eq!(repository.tree(), before);
    let regatta = |words: &str| place.regatta(repository.root()).words(words).run();
    let patch = regatta("diff @/1-Copy").expect_code(0).stdout;
    assert!(patch.contains("+of Copy"), "{patch}");
    place.expect_nothing_left(&repository);
}

#[test]
fn the_example_of_the_page_about_subagents_does_what_it_says() {
    let place = sandbox();
    let repository = place.repository();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/subagents.md");
    let page = std::fs::read_to_string(page).expect("there is such a page");
    let block = |fence: &str| {
        let (_, rest) = page.split_once(&format!("```{fence}\n")).expect("the page has it");
        rest.split_once("```").expect("it ends").0.to_owned()
    };
    repository.write("subagents.toml", block("toml subagents.toml"));
    repository.commit("begin");
    let greetings = ["bonjour.txt", "hallo.txt", "hola.txt", "ciao.txt"];
    let count = || greetings.iter().filter(|path| repository.path(path).exists()).count();
    let commands: Vec<_> = block("sh").lines().map(str::to_owned).collect();
    let typed = |at: usize| {
        let command = commands[at].replacen("regatta", &place.binary().display().to_string(), 1);
        place.regatta(repository.root()).shell(&command).run().expect_code(0)
    };
    assert_eq!(typed(0).stdout, "Four greetings are in the tree.\n");
    assert_eq!(count(), 4);
    assert!(typed(1).stdout.contains("4-Italian"));
    drop(typed(2));
    assert_eq!((count(), commands.len()), (0, 3));
    place.expect_nothing_left(&repository);
}

#[test]
fn the_first_requests_of_siblings_are_the_same_up_to_their_assignments_and_small() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let ids = ["One", "Two"];
    model.talk("parent", steps(vec![task(&ids, &json!({})), Answer::text("all done")]));
    ids.iter().for_each(|id| model.talk(id, steps(writer(id))));
    let ended = session(&place, &model, repository.root(), "--approval-mode yolo").run();
    drop(ended.expect_code(0));
    let first = |id: &str| {
        let asked = model.asked(id).remove(0);
        let text = String::from_utf8(asked.bytes).expect("a request is text");
        let (before, rest) = text.split_once(&marker(id)).expect("it has its assignment");
        (before.to_owned(), rest.to_owned())
    };
    let [(one, after), (two, other)] = ids.map(first);
    assert_eq!(one, two);
    assert_eq!(after, other);
    let size = one.len() + after.len();
    assert!(size <= 24_000, "{size} bytes");
    place.expect_nothing_left(&repository);
}
