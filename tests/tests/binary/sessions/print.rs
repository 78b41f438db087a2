//! Print mode: `regatta -p` answers prompts in a folder, and says only the last answer.

use std::fs;
use std::path::Path;

use protocol::is_unseen;
use serde_json::{Value, json};
use tests::model::{Answer, Asked, LoopbackModel, Said, Script, Wire, marker, steps};
use tests::sandbox::{Invocation, Sandbox};

use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

/// Begins a session in the folder `work` with the loopback model, whose first prompt is `prompt`.
fn session(place: &Sandbox, model: &LoopbackModel) -> Invocation {
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session =
        place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
    session.arg("--base-url").arg(model.base_url())
}

/// Says `script` in the conversation that begins with a prompt with the marker `s`.
fn model(script: impl Script + 'static) -> LoopbackModel {
    let model = LoopbackModel::start();
    model.talk("s", script);
    model
}

/// Returns the text of the only session file of a place.
pub(crate) fn session_file(place: &Sandbox) -> String {
    let files = place.home().session_files();
    let [file] = files.as_slice() else { panic!("one session, not {files:?}") };
    fs::read_to_string(file).expect("it can be read")
}

#[test]
fn what_is_piped_and_named_files_come_before_the_first_prompt_and_each_prompt_is_answered() {
    let place = sandbox();
    let model = model(|asked: &Asked| Answer::text(format!("answer {}", asked.answers() + 1)));
    let session = session(&place, &model);
    fs::write(place.folder().join("work/notes.md"), "a note\n").unwrap();
    let first = format!("first {}", marker("s"));
    let words = session.arg("@notes.md").arg(&first).arg("second").stdin("piped\n");
    assert_eq!(words.run().expect_code(0).stdout, "answer 2\n");
    let asked = model.asked("s");
    let prompts: Vec<_> = asked[1].messages().iter().filter(|it| it["role"] == "user").collect();
    let name = place.folder().join("work/notes.md").canonicalize().unwrap();
    let file = format!("<file name=\"{}\">\na note\n\n</file>\n", name.display());
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    assert_eq!(text(prompts[0]), format!("piped\n{file}{first}"));
    assert_eq!((text(prompts[1]), prompts.len()), ("second".to_owned(), 2));
}

#[test]
fn a_session_works_in_place_with_its_tools_and_its_first_line_says_so_and_what_it_has_read() {
    let place = sandbox();
    let write = || Answer::call("write", &json!({ "path": "new.txt", "content": "x\n" }));
    let done = || Answer::text("done");
    let model = model(steps(vec![write(), done(), done()]));
    let prompt = marker("s");
    let first = session(&place, &model).arg("--").arg(&prompt).arg("more").run().expect_code(0);
    assert_eq!(first.stdout, "done\n");
    let folder = fs::canonicalize(place.folder()).unwrap().join("work");
    assert_eq!(fs::read_to_string(folder.join("new.txt")).unwrap(), "x\n");
    let all =
        ["read", "write", "edit", "notebook", "bash", "job", "grep", "find", "ls", "todo_write"];
    assert_eq!(model.asked("s")[0].tools(), all);
    let told = format!("note: the session works in {}, in place\n", folder.display());
    assert_eq!(first.stderr.matches(&told).count(), 1, "{first}");

    for (words, tools) in [
        ("--quiet --tools bash,read", vec!["read", "bash"]),
        ("--quiet --tools report_finding,read", vec!["read", "report_finding"]),
        ("--no-tools", vec![]),
    ] {
        model.talk("s", steps(vec![done()]));
        let other = session(&place, &model).words(words).arg(&prompt).run().expect_code(0);
        assert_eq!(other.stdout, "done\n", "{words}");
        assert_eq!(model.asked("s").last().unwrap().tools(), tools, "{words}");
        assert!(!other.stderr.contains(&told), "{words}: {other}");
    }

    fs::write(folder.join("AGENTS.md"), "Be brief.").unwrap();
    for (words, told) in [
        (
            "",
            format!(
                "note: the session works in {}, in place, and has read AGENTS.md\n",
                folder.display()
            ),
        ),
        ("--no-tools", "note: the session has read AGENTS.md\n".to_owned()),
    ] {
        model.talk("s", steps(vec![done()]));
        let other = session(&place, &model).words(words).arg(&prompt).run().expect_code(0);
        assert!(other.stderr.starts_with(&told), "{words}: {other}");
    }
}

#[test]
fn a_session_of_the_home_folder_or_the_root_works_in_a_private_folder_where_it_is_continued() {
    let place = sandbox();
    let model = LoopbackModel::start();
    let home = fs::canonicalize(place.folder()).unwrap().join("user");
    fs::create_dir_all(&home).unwrap();
    let (root, user) = (Path::new("/"), rustix::process::getuid().as_raw());
    let own = |name: &str| {
        fs::canonicalize(place.temporary()).unwrap().join(format!("regatta-{user}-{name}"))
    };
    for (at, words, folder, told) in [
        (&*home, "", own("home"), ", not in your home folder (--allow-home"),
        (&*home, "-c", own("home"), ", not in your home folder (--allow-home"),
        (&*home, "--allow-home", home.clone(), "in place\n"),
        (root, "", own("root"), ", not in / (--allow-home"),
    ] {
        model.talk("s", |_: &Asked| Answer::text("done"));
        let session = place
            .regatta(at)
            .env("HOME", &home)
            .words("-p --approval-mode yolo --mode json")
            .words(words);
        let session = session.arg("--model").arg(model.route());
        let session = session.arg("--base-url").arg(model.base_url()).arg(marker("s"));
        let done = session.run().expect_code(0);
        let header: Value = serde_json::from_str(done.stdout.lines().next().unwrap()).unwrap();
        assert_eq!(header["cwd"], json!(folder), "{words}: {done}");
        assert!(done.stderr.starts_with("note: the session works in "), "{words}: {done}");
        assert!(done.stderr.contains(told), "{words}: {done}");
    }
    assert_eq!(place.home().session_files().len(), 3, "one was continued");
}

/// Returns the first character of an output that a terminal obeys or hides.
fn controls(text: &str) -> Option<char> {
    text.chars().find(|letter| !matches!(letter, '\n' | '\t') && is_unseen(*letter))
}

#[test]
fn nothing_in_prompts_answers_paths_files_or_damage_controls_a_terminal_and_json_stays_valid() {
    let place = sandbox();
    let hostile = "\u{1b}[2J\u{9b}31m\u{7}\u{202e}";
    let model = model(move |asked: &Asked| match asked.answers() {
        0 => Answer::call("read", &json!({ "path": format!("no{hostile}ne") })),
        1 => Answer::text("a\u{1b}[2Jb\u{7}\n\tc \u{202e}d"),
        _ => Answer::text(format!("said {hostile}")),
    });
    let folder = place.folder().join(format!("work {hostile}"));
    fs::create_dir_all(&folder).unwrap();
    let session = |words: &str| {
        let session =
            place.regatta(&folder).words("-p --approval-mode yolo").words(words).arg("--model");
        session.arg(model.route()).arg("--base-url").arg(model.base_url())
    };
    let prompt = format!("asked {hostile} {}", marker("s"));
    let first = session("").arg(&prompt).run().expect_code(0);
    assert_eq!(first.stdout, "ab\u{2407}\n\tc \u{fffd}d\n");
    let file = place.home().session_files().remove(0);
    assert!(file.to_string_lossy().contains('\u{1b}'), "the path is hostile: {file:?}");
    let mut text = fs::read(&file).unwrap();
    text.extend(format!("{{\"type\":\"{hostile}\n").bytes());
    fs::write(&file, text).unwrap();
    let damaged = session("-c more").run().expect_code(0);
    let forked = session("").arg("--fork").arg(&file).arg("more").run().expect_code(0);
    let logs = |words: &str| place.regatta(&folder).words(words).arg(&file).run().expect_code(0);
    let [printed, json] = ["logs", "logs --json"].map(logs);
    for done in [&damaged, &forked, &printed, &json] {
        assert!(done.stderr.contains("cannot be read whole"), "{done}");
    }
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["damage"].as_array().map(Vec::len), Some(1), "{json}");
    let listed = session("--resume").run().expect_code(0);
    assert!(listed.stdout.contains("asked "), "{listed}");
    let missing = session("").arg("-r").arg(format!("x{hostile}")).arg("more").run().expect_code(1);
    let unread = session("").arg(format!("@{hostile}.md")).run().expect_code(1);
    for done in [first, damaged, forked, printed, json, listed, missing, unread] {
        assert_eq!(controls(&done.stdout), None, "{done}");
        assert_eq!(controls(&done.stderr), None, "{done}");
    }
    let json = session("-c --mode json more").run().expect_code(0);
    assert!(json.stdout.ends_with('\n') && json.stdout.lines().count() > 5, "{json}");
    for line in json.stdout.split_terminator('\n') {
        let _line: Value = serde_json::from_str(line).expect("each line is JSON");
    }
    assert_eq!(controls(&json.stderr), None, "{json}");
    let _damaged_history = model.take_violations();
}

#[test]
fn an_answer_without_a_word_is_an_error_that_says_why() {
    let place = sandbox();
    let thought = Answer::Says(Said { thinking: "hm".to_owned(), ..Said::default() });
    for (answer, words, why) in [
        (thought, "", "because the model sent thinking and no text"),
        (Answer::nothing(), "--mode json", "because the model sent no text"),
    ] {
        let model = model(steps(vec![answer]));
        let done = session(&place, &model).words(words).arg(marker("s")).run().expect_code(1);
        assert!(done.stderr.contains("error: the answer is empty"), "{done}");
        assert!(done.stderr.contains(why), "{done}");
        assert_eq!(done.stdout.is_empty(), words.is_empty(), "{done}");
    }
}

/// An answer over the Messages API in which the model pauses after this text.
fn paused(text: &str) -> Answer {
    let events = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0,
            "content_block": { "type": "text", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "pause_turn" } }),
        json!({ "type": "message_stop" }),
    ];
    let body = events.iter().map(|data| format!("data: {data}\n\n")).collect::<String>();
    Answer::Bytes { content_type: "text/event-stream", body: body.into_bytes() }
}

#[test]
fn the_parts_of_a_paused_answer_are_printed_as_one_and_a_pause_without_a_word_is_an_end() {
    let place = sandbox();
    let model = model(steps(vec![paused("one, "), paused("two, "), Answer::text("three")]));
    let (url, api) = (model.url_of(Wire::Messages), Wire::Messages.name());
    let gate = format!("baseUrl: '{url}', auth: none, api: {api}, models: [{{ id: m }}]");
    write_models(&place, &format!("providers:\n  gate: {{ {gate} }}\n"));
    let asked = || place.regatta(place.folder()).words("-p --model gate/m").arg(marker("s"));
    assert_eq!(asked().run().expect_code(0).stdout, "one, two, three\n");
    let last = model.asked("s").pop().expect("it was asked");
    let said = last.messages().last().expect("there are messages");
    assert_eq!((&said["role"], &said["content"]), (&json!("assistant"), &json!("one, \ntwo,")));
    // A usual request ends with a message of the user.
    let _ends_with_an_answer = model.take_violations();
    model.talk("s", steps(vec![paused("")]));
    let empty = asked().run().expect_code(1);
    let why = "error: the answer is empty\n  because the model paused before its first word\n";
    assert!(empty.stderr.contains(why), "{empty}");
}
