//! Which calls of tools run where no person can answer: the mode, the rules, and what a refusal looks like.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tests::model::{Answer, Asked, Call, LoopbackModel, marker};

use crate::binary::sandbox;

/// Writes a file, also through a symlink, makes one with a command, and reads, all in one answer.
fn works(asked: &Asked) -> Answer {
    let write = |path: &str| Call::new("write", &json!({ "path": path, "content": "x\n" }));
    let bash = |command: &str| Call::new("bash", &json!({ "command": command }));
    match asked.answers() {
        0 => Answer::calls(vec![
            write("new.txt"),
            write("link/new.txt"),
            bash("timeout 9 sh -c 'touch made'"),
            bash("cat README.md | head -n 1"),
            bash("$MAKE it"),
        ]),
        _ if asked.tools().contains(&"yield") => Answer::yields(&json!("done")),
        _ => Answer::text("done"),
    }
}

#[test]
fn calls_that_have_to_be_asked_about_are_refused_counted_and_said_and_rules_decide_before_the_mode()
{
    // Of each row: which of the five calls are refused.
    for (words, settings, refused) in [
        ("", "", [true, true, true, false, true]),
        ("--approval-mode yolo", "", [false; 5]),
        ("", "approvals: { mode: yolo }", [false; 5]),
        ("-q --approval-mode ask", "", [true, true, true, false, true]),
        ("--approval-mode write", "approvals: { mode: ask }", [false, false, true, false, true]),
        (
            "",
            "approvals: { mode: ask, allow: ['bash(touch *)', 'edit(docs/**)'] }",
            [true, false, false, false, true],
        ),
        (
            "",
            "approvals: { mode: yolo, deny: ['Edit(docs/**)', 'bash(touch:*)', read(README.md)] }",
            [false, true, true, true, true],
        ),
    ] {
        let place = sandbox();
        let folder = place.folder().join("work");
        fs::create_dir_all(folder.join("docs")).expect("a folder can be made");
        symlink("docs", folder.join("link")).expect("a link can be made");
        fs::write(folder.join("README.md"), "read me\n").expect("a file can be written");
        place.home().configure(settings);
        let model = LoopbackModel::start();
        model.talk("s", works);
        let session = place.regatta(&folder).arg("-p").arg("--model").arg(model.route());
        let session = session.arg("--base-url").arg(model.base_url()).words(words);
        let finished = session.arg("--").arg(marker("s")).run().expect_code(0);
        assert_eq!(finished.stdout, "done\n", "{words} {settings}");
        let results = model.asked("s").last().expect("it was asked").results();
        let was_refused = |result: &String| result.contains("was refused");
        let found: Vec<_> = results.iter().map(was_refused).collect();
        assert_eq!(found, refused, "{words} {settings}: {results:?}");
        let made = [folder.join("new.txt"), folder.join("docs/new.txt"), folder.join("made")];
        let is_there = made.map(|path| path.exists());
        let ran = [!refused[0], !refused[1], !refused[2]];
        assert_eq!(is_there, ran, "{words} {settings}");
        let count = refused.iter().filter(|refused| **refused).count();
        let last = finished.stderr.lines().last().unwrap_or_default();
        let calls = if count == 1 { "call was" } else { "calls were" };
        let expected = format!(
            "note: {count} tool {calls} refused; --approval-mode yolo runs what no rule denies"
        );
        assert_eq!(last == expected, count > 0, "{words} {settings}: {finished}");
        let is_asked = !words.contains("-q") && !format!("{words}{settings}").contains("yolo");
        let first = finished.stderr.lines().next().unwrap_or_default();
        let said = first.starts_with("note: questions cannot be asked here")
            && first.contains("commands will be refused");
        assert_eq!(said, is_asked, "{words} {settings}: {finished}");
    }
}

#[test]
fn a_task_goes_on_without_the_calls_that_were_refused_and_its_report_counts_them() {
    // Of each row: how many calls are refused, and whether the file is written.
    for (words, refused, is_written) in [
        ("--approval-mode write", 2, true),
        ("--isolation none", 4, false),
        ("--isolation none --approval-mode write", 2, true),
    ] {
        let place = sandbox();
        let repository = place.repository();
        repository.write("README.md", "read me\n");
        repository.commit("a file");
        let model = LoopbackModel::start();
        model.talk("s", works);
        let run = place.run_in(&repository).arg("--model").arg(model.route()).arg("--base-url");
        let run = run.arg(model.base_url()).words("--name one").words(words);
        let finished = run.arg(format!("do it {}", marker("s"))).run().expect_code(0);
        assert_eq!(finished.task("one")["refused_calls"], refused, "{words}: {finished}");
        assert_eq!(repository.has("new.txt"), is_written, "{words}: {finished}");
        assert!(!repository.has("made"), "{words}: {finished}");
        let said = finished.stderr.contains("note: questions cannot be asked here");
        assert!(said, "{words}: {finished}");
        place.expect_nothing_left(&repository);
        if refused == 2 {
            continue;
        }
        // The retry may have another mode.
        let retry = place.regatta(repository.root()).words("runs retry --all --approval-mode yolo");
        let again = retry.run().expect_code(0);
        assert!(!again.stderr.contains("questions cannot be asked"), "{again}");
        assert!(repository.has("made"), "{again}");
        // It begins the same conversation anew.
        let _not_continued = model.take_violations();
    }
}

#[test]
fn a_rule_or_a_mode_that_cannot_be_is_refused_with_its_place() {
    let place = sandbox();
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session = || place.regatta(&folder).words("-p --model offline/none.toml hi");
    let refused =
        |session: tests::sandbox::Invocation, said: &[&str]| session.run().expect_refusal(said);
    refused(session().words("--approval-mode sometimes"), &["sometimes", "ask, write, yolo"]);
    for (settings, said) in [
        ("approvals: { deny: ['bsh(rm *)'] }", "did you mean `bash`?"),
        ("approvals: { allow: ['*'] }", "every tool"),
        ("approvals: { ask: { bash: true } }", "must be a list of rules"),
        ("approvals: { denny: ['bash(rm *)'] }", "did you mean `approvals.deny`?"),
        ("approvals: { mode: maybe }", "must be `ask`, `write` or `yolo`, not `maybe`"),
    ] {
        place.home().configure(settings);
        refused(session(), &["config.yml:1", "approvals.", said]);
    }
}

#[test]
fn where_rules_judge_commands_they_run_without_the_functions_and_aliases_of_the_user() {
    for (settings, has_them) in [
        ("approvals: { mode: yolo }", true),
        ("approvals: { mode: yolo, deny: ['bash(rm *)'] }", false),
    ] {
        let place = sandbox();
        let (folder, user) = (place.folder().join("work"), place.folder().join("user"));
        for folder in [&folder, &user] {
            fs::create_dir_all(folder).expect("a folder can be made");
        }
        let profile = "greet() { echo \"hello $1\"; }\nalias hi='greet'\n";
        fs::write(user.join(".bashrc"), profile).expect("a file can be written");
        place.home().configure(settings);
        let model = LoopbackModel::start();
        model.talk("s", |asked: &Asked| match asked.answers() {
            0 => Answer::call("bash", &json!({ "command": "greet you; hi there" })),
            _ => Answer::text("done"),
        });
        let session = place.regatta(&folder).env("SHELL", "/bin/bash").arg("-p");
        let session = session.arg("--model").arg(model.route()).arg("--base-url");
        let finished = session.arg(model.base_url()).arg("--").arg(marker("s")).run();
        let _done = finished.expect_code(0);
        let results = model.asked("s").last().expect("it was asked").results().concat();
        for greeting in ["hello you", "hello there"] {
            assert_eq!(results.contains(greeting), has_them, "{settings}: {results}");
        }
    }
}
