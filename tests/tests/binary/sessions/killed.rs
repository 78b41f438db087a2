//! Print mode that is killed with SIGKILL: what was said before is in the file, and the session goes on.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tests::model::{Answer, Asked, LoopbackModel, Said, Script, Tokens, marker};
use tests::sandbox::{Invocation, Sandbox};

use crate::binary::sandbox;

/// Begins `regatta -p` in the folder `work`.
fn session(place: &Sandbox, model: &LoopbackModel) -> Invocation {
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session =
        place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
    session.arg("--base-url").arg(model.base_url())
}

/// Returns a script that kills the process whose id is sent, when `is_last` says so of its request,
/// and otherwise answers as `script` does; and where to send the id.
fn killer(
    is_last: impl Fn(&Asked) -> bool + Send,
    mut script: impl Script,
) -> (Sender<Pid>, impl Script) {
    let (process, processes) = channel();
    let killing = move |asked: &Asked| {
        if !is_last(asked) {
            return script.next(asked);
        }
        let process = processes.recv().expect("the process is named");
        kill_process(process, Signal::KILL).expect("it waits for an answer");
        Answer::Silence
    };
    (process, killing)
}

/// Returns the texts of the user's messages in a session file.
fn prompts(file: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(file).expect("there is a file");
    let entries = text.lines().map(|line| serde_json::from_str(line).expect("it is whole"));
    let messages = entries.map(|mut entry: Value| entry["message"].take());
    let said = messages.filter(|message| message["role"] == "user");
    said.map(|message| message["content"][0]["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn a_process_that_is_killed_when_its_request_arrives_has_its_prompt_in_the_file() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let mut expected: Vec<Vec<String>> = Vec::new();
    for number in 0..test_limit::by_depth(6, 50) {
        let prompt = format!("Prompt {number}. {}", marker("s"));
        let (process, script) = killer(|_| true, |_: &Asked| Answer::Silence);
        model.talk("s", script);
        // Each session is begun once and continued four times.
        let session = session(&place, &model);
        let session = if number % 5 == 0 { session } else { session.arg("-c") };
        if number % 5 == 0 {
            expected.push(Vec::new());
        }
        let running = session.arg(&prompt).start();
        process.send(running.id()).expect("the server waits for it");
        let killed = running.wait().expect_code(137);
        assert_eq!(killed.stdout, "", "{killed}");
        expected.last_mut().expect("one was begun").push(prompt);
        let files = place.home().session_files();
        let said: Vec<_> = files.iter().map(prompts).collect();
        assert_eq!(said, expected, "{killed}");
    }
    assert_eq!(model.take_violations(), [""; 0]);
}

/// Returns what a model says that is asked for a summary once the conversation is long.
fn writer() -> impl Script {
    |asked: &Asked| match asked.is_summary() {
        true => Answer::text(format!("## Progress\nA summary of it. {}", marker("s"))),
        false => {
            let prompt = u64::try_from(asked.bytes.len() / 4).expect("it is small");
            let tokens = Tokens { prompt, completion: 50, ..Tokens::default() };
            let text = format!("answer {}: {}", asked.answers() + 1, "words ".repeat(400));
            Answer::Says(Said { text, tokens, ..Said::default() })
        }
    }
}

#[test]
fn a_process_that_is_killed_while_it_compacts_loses_nothing_and_its_session_goes_on() {
    // When the summary is asked for, and while the entry of the compaction is written.
    for fault in [None, Some("kill@session.append:2"), Some("kill@session.sync:2")] {
        let (place, model) = (sandbox(), LoopbackModel::start());
        let more = "more ".repeat(800);
        let prompt = |number: usize| format!("Prompt {number}. {} {more}", marker("s"));
        model.talk("s", writer());
        for number in 0..2 {
            let session = session(&place, &model);
            let session = if number == 0 { session } else { session.arg("-c") };
            let _answered = session.arg(prompt(number)).run().expect_code(0);
        }
        let files = place.home().session_files();
        let [file] = files.as_slice() else { panic!("one session, not {files:?}") };
        let before = fs::read(file).expect("there is a file");
        let compaction = "compaction: { thresholdTokens: 3000, keepRecentTokens: 500 }\n";
        place.home().configure(compaction);
        let begin = session(&place, &model).arg("-c").arg(prompt(2));
        let killed = match fault {
            Some(fault) => begin.fault(fault).run(),
            None => {
                let (process, script) = killer(Asked::is_summary, writer());
                model.talk("s", script);
                let running = begin.start();
                process.send(running.id()).expect("the server waits for it");
                running.wait()
            }
        };
        let killed = killed.expect_code(137);
        assert!(model.asked("s").last().is_some_and(Asked::is_summary), "{fault:?}: {killed}");
        let after = fs::read(file).expect("there is a file");
        assert!(after.starts_with(&before), "{fault:?}: what was said stays");
        model.talk("s", writer());
        let done = session(&place, &model).arg("-c").arg("Go on.").run().expect_code(0);
        assert!(done.stdout.starts_with("answer "), "{done}");
        assert!(fs::read(file).expect("there is a file").starts_with(&after), "{fault:?}");
        let said = prompts(file);
        let expected: Vec<_> = (0..3).map(prompt).chain(["Go on.".to_owned()]).collect();
        assert_eq!(said, expected, "{fault:?}: {killed}");
        let text = fs::read_to_string(file).expect("there is a file");
        assert!(text.contains("\"type\":\"compaction\""), "{fault:?}: {done}");
        let last = model.asked("s").pop().expect("it was asked");
        assert!(last.summary().is_some_and(|it| it.contains("A summary of it.")), "{fault:?}");
        assert_eq!(last.reminder().as_deref(), Some("Go on."), "{fault:?}");
        assert_eq!(model.take_violations(), [""; 0], "{fault:?}");
    }
}

/// A session file of the first version.
const OLD: &str = include_str!("../../../../engine/store/tests/sessions/version-1.jsonl");

#[test]
fn a_process_that_is_killed_while_it_rewrites_an_old_file_leaves_it_and_the_next_one_goes_on() {
    for point in ["session.rewrite.write", "session.rewrite.rename"] {
        let (place, model) = (sandbox(), LoopbackModel::start());
        for talk in ["first", "s"] {
            model.talk(talk, |_: &Asked| Answer::text("Done."));
        }
        let _first = session(&place, &model).arg(marker("first")).run().expect_code(0);
        let files = place.home().session_files();
        let [file] = files.as_slice() else { panic!("one session, not {files:?}") };
        let first = "What was said first.";
        let old = OLD.replace(first, &format!("{first} {}", marker("s")));
        let folder = place.folder().join("work").display().to_string();
        let old = old.replacen("/home/user/project", &folder, 1);
        fs::write(file, &old).expect("a file can be written");
        let go_on = || session(&place, &model).arg("-c").arg("Go on.");
        let requests = model.requests();
        let killed = go_on().fault(&format!("kill@{point}")).run().expect_code(137);
        assert_eq!(model.requests(), requests, "{point}: nothing was asked, {killed}");
        let text = |file: &PathBuf| fs::read_to_string(file).expect("there is a file");
        assert_eq!(text(file), old, "{point}: {killed}");
        let backup = file.with_extension("jsonl.bak");
        assert_eq!(text(&backup), old, "{point}");

        let done = go_on().run().expect_code(0);
        assert_eq!(done.stdout, "Done.\n", "{point}");
        assert_eq!(prompts(file), ["", "", "Go on."], "{point}: the file is of this version");
        assert!(text(file).starts_with("{\"type\":\"session\",\"version\":3,"), "{point}");
        assert_eq!(text(&backup), old, "{point}");
        let last = model.asked("s").pop().expect("it was asked");
        assert!(last.summary().is_some_and(|it| it.contains(first)), "{point}");
        assert_eq!(last.reminder().as_deref(), Some("Go on."), "{point}");
        assert_eq!(model.take_violations(), [""; 0], "{point}");
    }
}
