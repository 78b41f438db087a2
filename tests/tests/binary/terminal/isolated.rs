//! An isolated conversation: its work is shown, lands and is thrown away on demand.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use test_limit::eventually;
use tests::sandbox::{Invocation, Repository, Sandbox, Screen};

use super::kit::{Exchange, PacedModel, leave};
use crate::binary::sandbox;

const PATIENCE: Duration = Duration::from_secs(60);

const STATUS: &str = "isolated · loopback/loop";

/// How many edits and commands the model makes.
const CALLS: usize = 20;

fn start(place: &Sandbox, model: &PacedModel, repository: &Repository) -> Screen {
    on_a_screen(session(place, model, repository))
}

fn session(place: &Sandbox, model: &PacedModel, repository: &Repository) -> Invocation {
    let session = place.regatta(repository.root()).words("--isolated --model loopback/loop");
    session.arg("--base-url").arg(model.url())
}

fn on_a_screen(session: Invocation) -> Screen {
    let screen = session.on_a_keyboard(50, 120);
    screen.until("the status line", |text| text.contains(STATUS));
    screen
}

/// Says a prompt, for which the model makes these calls of `bash`. Returns the last request.
fn bash(screen: &Screen, model: &PacedModel, scripts: &[String]) -> Exchange {
    screen.press("go on\r");
    for script in scripts {
        model.next().call("bash", &json!({ "command": script }));
    }
    model.next()
}

fn end(screen: &Screen, exchange: Exchange, text: &str) {
    exchange.answer(text);
    screen.until("the end of the turn", |seen| {
        let said = seen.rfind(text).map(|at| &seen[at..]);
        said.is_some_and(|said| said.contains(" · cost unknown\n\n>"))
    });
}

fn lines(changed: &[(usize, &str)]) -> String {
    let line = |number| {
        let found = changed.iter().find(|(at, _)| *at == number);
        found.map_or_else(|| format!("line {number}\n"), |(_, text)| format!("{text}\n"))
    };
    (1..=60).map(line).collect()
}

#[test]
fn what_twenty_calls_do_lands_on_demand_as_git_merges_it_with_what_the_user_did_meanwhile() {
    let (place, model) = (sandbox(), PacedModel::start());
    let repository = place.repository();
    repository.write("lines.txt", lines(&[]));
    repository.commit("lines");
    repository.make_dirty();
    repository.write("lines.txt", lines(&[(1, "dirty")]));
    let mut screen = start(&place, &model, &repository);
    screen.press("/diff\r");
    screen.until("nothing", |text| text.contains("nothing has changed in the workspace"));

    let calls: Vec<String> = (1..=CALLS)
        .map(|number| match number % 2 {
            0 => format!("echo {number} >> made.txt; sed -i 's/^line 2$/theirs/' lines.txt"),
            _ => format!("sed -i 's/^line {}$/theirs {number}/' lines.txt", 20 + number),
        })
        .collect();
    let exchange = bash(&screen, &model, &calls);
    // The user works in the same file meanwhile, and in others.
    repository.write("lines.txt", lines(&[(1, "dirty"), (58, "ours")]));
    repository.write("mine/both.txt", "meanwhile\n");
    let (tree, dirt) = (repository.tree(), repository.dirt());
    end(&screen, exchange, "Edited.");
    screen.press("/diff\r");
    let shown = screen.until("the patch", |text| text.contains("made.txt") && text.contains("+20"));
    assert!(shown.contains("+theirs") || screen.all_lines().join("\n").contains("+theirs"));
    assert_eq!((repository.tree(), repository.dirt()), (tree.clone(), dirt), "nothing landed yet");

    screen.press("/land\r");
    let landed = screen.until("it has landed", |text| {
        text.contains("undo  regatta undo ") && text.ends_with(&status_end(text))
    });
    let mut expected: Vec<(usize, String)> =
        vec![(1, "dirty".into()), (2, "theirs".into()), (58, "ours".into())];
    expected
        .extend((1..=CALLS).filter(|it| it % 2 == 1).map(|it| (20 + it, format!("theirs {it}"))));
    let expected: Vec<_> = expected.iter().map(|(at, text)| (*at, text.as_str())).collect();
    assert_eq!(repository.text("lines.txt"), lines(&expected));
    assert_eq!(repository.text("made.txt").lines().count(), CALLS / 2);
    assert_eq!(repository.text("mine/both.txt"), "meanwhile\n");

    // It goes on in a copy of the tree as it is now.
    let scripts = ["sed -n 58p lines.txt; tail -1 made.txt; echo lost > lost.txt".to_owned()];
    let exchange = bash(&screen, &model, &scripts);
    let said = exchange.request["messages"].to_string();
    assert!(said.contains("ours\\n20") && said.contains("Edited."), "{said}");
    end(&screen, exchange, "Seen.");
    screen.press("/discard\r");
    screen.until("the question", |text| text.contains("deletes 1 file +1 −0 for good"));
    screen.press("/discard\r");
    screen.until("it is gone", |text| text.contains("discarded  session"));
    let exchange = bash(&screen, &model, &["ls lost.txt made.txt".to_owned()]);
    let said = exchange.request["messages"].to_string();
    assert!(
        said.contains("lost.txt': No such file") || said.contains("lost.txt: No such"),
        "{said}"
    );
    end(&screen, exchange, "Gone.");
    leave(&mut screen);
    assert!(!screen.text().contains("land it with"), "{}", screen.text());

    let (_, undo) = landed.split_once("undo  regatta ").expect("it says how");
    let undo = undo.lines().next().unwrap_or_default();
    drop(place.regatta(repository.root()).words(undo).run().expect_code(0));
    assert_eq!(repository.tree(), tree);
    place.expect_nothing_left(&repository);
}

/// Returns how the screen ends when the conversation goes on.
fn status_end(text: &str) -> String {
    text.lines().last().filter(|line| line.starts_with(STATUS)).unwrap_or("no status").to_owned()
}

#[test]
fn work_that_cannot_land_stays_and_leaving_names_the_line_that_lands_it() {
    let (place, model) = (sandbox(), PacedModel::start());
    let repository = place.repository();
    let mut screen = start(&place, &model, &repository);
    let change = "echo theirs > README.md; echo kept > kept.txt".to_owned();
    let exchange = bash(&screen, &model, &[change]);
    end(&screen, exchange, "Edited.");
    screen.press("/help\r");
    screen.until("the commands", |text| text.contains("/land ") && text.contains("/discard "));

    let rebase = repository.path(".git/rebase-merge");
    fs::create_dir(&rebase).expect("a folder can be made");
    screen.press("/land\r");
    screen.until("one clear error", |text| text.contains("a rebase is in progress"));
    fs::remove_dir(&rebase).expect("it is there");
    repository.write("README.md", "ours\n");
    let tree = repository.tree();
    screen.press("/land\r");
    screen.until("the conflict", |text| text.contains("the work conflicts: README.md"));
    assert_eq!(repository.tree(), tree);
    let exchange = bash(&screen, &model, &["cat kept.txt".to_owned()]);
    let said = exchange.request["messages"].to_string();
    assert!(said.contains("\"content\":\"kept\""), "nothing is lost: {said}");
    end(&screen, exchange, "Still there.");

    screen.press("\u{4}");
    assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
    let told = screen.text();
    let (_, run) = told.split_once("land it with: regatta apply ").expect("it says how");
    let run = run.lines().next().unwrap_or_default().trim().to_owned();
    assert_eq!(repository.tree(), tree);
    let regatta = |words: &str| place.regatta(repository.root()).words(words).run();
    drop(regatta(&format!("apply {run}")).expect_code(4));
    drop(regatta(&format!("apply {run} --theirs README.md")).expect_code(0));
    assert_eq!(
        (repository.text("README.md"), repository.text("kept.txt")),
        ("theirs\n".into(), "kept\n".into())
    );
    place.expect_nothing_left(&repository);
}

#[test]
fn a_signal_while_another_copy_is_set_up_leaves_the_conversation_with_the_work_landed() {
    let (place, model) = (sandbox(), PacedModel::start());
    let [hang, begun] = ["hang", "begun"].map(|name| place.folder().join(name));
    let setup =
        format!("! test -e {} || {{ touch {}; sleep 1000; }}", hang.display(), begun.display());
    place.home().configure(&format!("isolation: {{ setup: '{setup}' }}"));
    let repository = place.repository();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut screen = start(&place, &model, &repository);
        let change = format!("echo new > {}.txt", signal.as_raw());
        end(&screen, bash(&screen, &model, &[change]), "Edited.");
        fs::write(&hang, "").expect("a file can be written");
        screen.press("/land\r");
        eventually(PATIENCE, "the set-up begins", || begun.exists());
        assert!(!screen.echoes());
        kill_process(screen.id(), signal).expect("it runs");
        assert_eq!(screen.wait().code(), Some(code), "{}", screen.text());
        let told = screen.text();
        assert!(told.contains("stopped before the conversation had another copy"), "{told}");
        assert!(told.contains("continue with: regatta --isolated --resume "), "{told}");
        assert!(screen.echoes());
        assert_eq!(repository.text(format!("{}.txt", signal.as_raw())), "new\n");
        place.expect_nothing_left(&repository);
        for file in [&hang, &begun] {
            fs::remove_file(file).expect("it is there");
        }
    }
}

#[test]
fn a_second_signal_in_a_landing_ends_it_at_once_with_the_terminal_as_it_was() {
    let (place, model) = (sandbox(), PacedModel::start());
    let (repository, gate) = (place.repository(), place.folder().join("gate"));
    let session = session(&place, &model, &repository).wait_at("landing.journal", &gate);
    let mut screen = on_a_screen(session);
    end(&screen, bash(&screen, &model, &["echo new > new.txt".to_owned()]), "Edited.");
    screen.press("/land\r");
    eventually(PATIENCE, "the landing begins", || gate.exists());
    assert!(!screen.echoes());
    // One after another: two at once are one.
    kill_process(screen.id(), Signal::INT).expect("it runs");
    eventually(PATIENCE, "it ends", || {
        let _ended = kill_process(screen.id(), Signal::INT);
        screen.has_ended()
    });
    assert_eq!(screen.wait().code(), Some(130));
    assert!(screen.echoes());
}

#[test]
fn work_that_cannot_be_captured_is_named_and_the_next_command_has_it() {
    let (place, model) = (sandbox(), PacedModel::start());
    let repository = place.repository();
    let session = session(&place, &model, &repository).fault("full@capture.begin:2");
    let mut screen = on_a_screen(session);
    let todos = json!({ "todos": [{ "content": "more", "status": "pending" }] });
    bash(&screen, &model, &["echo new > new.txt".to_owned()]).call("todo_write", &todos);
    model.next().answer("Edited.");
    screen.until("the end of the turn", |text| {
        text.contains(" · cost unknown\n\nto do: 0 of 1 done")
    });
    screen.press("/land\r");
    // It goes on with what is to be done.
    let told = screen.until("where the work is", |text| {
        let said = text.split_once("its workspace is kept at ");
        let then = said.and_then(|(_, said)| said.split_once("then: regatta runs show "));
        then.is_some_and(|(_, then)| then.contains("to do: 0 of 1 done"))
    });
    leave(&mut screen);
    let regatta = |words: &str| place.regatta(repository.root()).words(words).run();
    drop(regatta("runs").expect_code(0));
    let (_, run) = told.split_once("then: regatta runs show ").expect("it was told");
    let run = run.lines().next().unwrap_or_default().trim_end();
    drop(regatta(&format!("apply {run}/session")).expect_code(0));
    assert_eq!(repository.text("new.txt"), "new\n");
    place.expect_nothing_left(&repository);
}
