//! `--isolated` in print mode: nothing lands, and the work is kept as that of a task.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, Script as _, marker, steps};
use tests::sandbox::{Invocation, Repository, Sandbox};

use crate::binary::sandbox;

fn session(place: &Sandbox, model: &LoopbackModel, folder: &Path) -> Invocation {
    let session = place.regatta(folder).words("-p --isolated --model").arg(model.route());
    session.arg("--base-url").arg(model.base_url())
}

fn write(path: &str, content: &str) -> Answer {
    Answer::call("write", &json!({ "path": path, "content": content }))
}

fn bash(command: &str) -> Answer {
    Answer::call("bash", &json!({ "command": command }))
}

/// Returns the run that a line names which says how to land the work.
fn run_to_apply(told: &str) -> String {
    let (_, rest) = told.split_once("land it with: regatta apply ").expect("it tells how");
    rest.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn print_mode_lands_nothing_names_the_line_to_type_and_every_command_for_runs_takes_its_work() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    repository.make_dirty();
    let (tree, dirt) = (repository.tree(), repository.dirt());
    model.talk(
        "s",
        steps(vec![
            write("new.txt", "new\n"),
            bash("cat mine/untracked/notes.txt >> README.md; pwd; echo $REGATTA_TASK"),
            Answer::text("done"),
            Answer::text("here"),
            Answer::text("still here"),
            bash("git status --short README.md; cat new.txt"),
            Answer::text("again"),
        ]),
    );
    let first = session(&place, &model, repository.root()).arg(marker("s")).run().expect_code(0);
    assert_eq!(first.stdout, "done\n");
    assert!(first.stderr.contains("the session works in a copy of"), "{first}");
    assert!(first.stderr.contains("is kept: 2 files +2"), "{first}");
    assert_eq!((repository.tree(), repository.dirt()), (tree.clone(), dirt), "nothing has landed");
    let said = model.asked("s")[2].results().join("\n");
    let root = format!("{}\n", repository.root().display());
    assert!(!said.contains(&root) && said.ends_with("\nsession"), "{said}");

    let run = run_to_apply(&first.stderr);
    let regatta = |words: &str| place.regatta(repository.root()).words(words).run();
    assert!(regatta("runs").expect_code(0).stdout.contains(&run));
    let patch = regatta(&format!("diff {run}")).expect_code(0).stdout;
    assert!(patch.contains("+++ b/new.txt") && patch.contains("+never added"), "{patch}");
    assert!(regatta(&format!("logs {run}/session")).expect_code(0).stdout.contains("done"));
    let again = regatta(&format!("runs retry {run} --all"));
    assert!(again.stderr.contains("it is a conversation"), "{again}");
    drop(regatta(&format!("apply {run}")).expect_code(0));
    assert_eq!(repository.text("new.txt"), "new\n");
    assert!(repository.text("README.md").ends_with("never added\n"));
    drop(regatta(&format!("undo {run}")).expect_code(0));
    assert_eq!(repository.tree(), tree);

    // The session of the folder goes on, and without a copy it says so.
    let place_of_before = format!("until now the session worked in a copy (run {run})");
    let in_place = || {
        let session = place.regatta(repository.root()).words("-p -c --model").arg(model.route());
        session.arg("--base-url").arg(model.base_url()).arg("here").run().expect_code(0)
    };
    let (before, after) = (in_place(), in_place());
    assert!(before.stderr.contains(&place_of_before), "{before}");
    assert!(!after.stderr.contains("until now"), "it has worked here since: {after}");
    // With one, it is a copy of the tree as it is now.
    let next = session(&place, &model, repository.root()).words("-c again").run().expect_code(0);
    assert_eq!(next.stdout, "again\n");
    assert!(!next.stderr.contains("land it with"), "nothing was changed: {next}");
    assert_eq!(place.home().session_files().len(), 1);
    assert!(model.asked("s")[6].results().join("\n").contains("new.txt: No such file"));
    // The folder is another one, which the model is told.
    let violations = model.take_violations();
    assert_eq!(violations.len(), 2, "{violations:?}");
    for (violation, request) in violations.iter().zip([4, 6]) {
        let begin = format!("s, request {request}: message 0 was ");
        assert!(violation.starts_with(&begin), "{violations:?}");
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn a_session_that_is_killed_has_its_work_kept_and_the_next_command_brings_it_back() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let repository = place.repository();
    let before = repository.tree();
    let (process, processes) = channel::<Pid>();
    let mut answers = steps(vec![write("new.txt", "new\n"), bash("echo more >> src/run.rs")]);
    model.talk("s", move |asked: &Asked| {
        if asked.answers() < 2 {
            return answers.next(asked);
        }
        let process = processes.recv().expect("the process is named");
        kill_process(process, Signal::KILL).expect("it waits for an answer");
        Answer::Silence
    });
    let running = session(&place, &model, repository.root()).arg(marker("s")).start();
    process.send(running.id()).expect("the server waits for it");
    drop(running.wait().expect_code(137));
    assert_eq!(repository.tree(), before);
    let regatta = |words: &str| place.regatta(repository.root()).words(words).run();
    let listed = regatta("runs").expect_code(0);
    assert!(listed.stderr.contains("the work of 1 of its 1 task is kept"), "{listed}");
    assert!(regatta("diff session").expect_code(0).stdout.contains("+more"));
    drop(regatta("apply session").expect_code(0));
    assert_eq!(
        (repository.text("new.txt"), repository.text("src/run.rs").lines().count()),
        ("new\n".into(), 2)
    );
    drop(regatta("undo session").expect_code(0));
    assert_eq!(repository.tree(), before);
    place.expect_nothing_left(&repository);
}

#[test]
fn what_cannot_be_isolated_is_one_clear_error_and_a_repository_without_a_commit_can() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    model.talk("s", steps(vec![write("a/new.txt", "new\n"), Answer::text("done")]));
    let none = place.folder().join("none");
    fs::create_dir_all(&none).expect("a folder can be made");
    let bare = Repository::init_with(&place.folder().join("bare"), &["--bare"]);
    let repository = place.repository();
    fs::create_dir(repository.path(".git/rebase-merge")).expect("a folder can be made");
    let unborn = Repository::init(&place.folder().join("unborn"));
    for (folder, words, why) in [
        (&*none, "", "it is not in a git repository"),
        (bare.root(), "", "bare"),
        (repository.root(), "", "a rebase"),
        (unborn.root(), "--isolation none", "`--isolated` needs a workspace, and `none` has none"),
    ] {
        let refused = session(&place, &model, folder).words(words).arg(marker("s")).run();
        let is_one = refused.stderr.matches("error: ").count() == 1;
        assert!(is_one && refused.stderr.contains(why) && refused.stdout.is_empty(), "{refused}");
    }
    let missing = session(&place, &model, unborn.root()).words("--system-prompt nope.md hi").run();
    assert!(missing.stderr.contains("there is no file `nope.md`"), "{missing}");
    let runs = place.regatta(unborn.root()).words("runs").run();
    assert!(runs.stdout.starts_with("there is no run yet"), "{runs}");
    assert_eq!(place.home().session_files().len(), 0);
    let alone = place.regatta(unborn.root()).words("-p --isolation worktree hi").run();
    assert!(alone.stderr.contains("--isolated"), "{alone}");
    let words = "--no-session --isolation worktree";
    let done = session(&place, &model, unborn.root()).words(words).arg(marker("s")).run();
    assert_eq!(done.expect_code(0).stdout, "done\n");
    assert!(!unborn.has("a/new.txt"));
    drop(place.regatta(unborn.root()).words("apply").run().expect_code(0));
    assert_eq!(unborn.text("a/new.txt"), "new\n");
}
