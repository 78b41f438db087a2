//! Print mode: `regatta -p` answers prompts in a folder, and says only the last answer.

use std::fs;

use protocol::is_unseen;
use serde_json::{Value, json};
use tests::model::{Answer, Asked, LoopbackModel, Said, Script, marker, steps};
use tests::sandbox::{Invocation, Sandbox};

use crate::binary::sandbox;

/// Begins a session in the folder `work` with the loopback model, whose first prompt is `prompt`.
fn session(place: &Sandbox, model: &LoopbackModel) -> Invocation {
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session = place.regatta(&folder).arg("-p").arg("--model").arg(model.route());
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
fn a_session_works_in_place_with_its_tools_and_says_so_or_elsewhere_in_the_users_home() {
    let place = sandbox();
    let write = || Answer::call("write", &json!({ "path": "new.txt", "content": "x\n" }));
    let done = || Answer::text("done");
    let model = model(steps(vec![write(), done(), done()]));
    let prompt = marker("s");
    let first = session(&place, &model).arg(&prompt).arg("more").run().expect_code(0);
    assert_eq!(first.stdout, "done\n");
    let folder = fs::canonicalize(place.folder()).unwrap().join("work");
    assert_eq!(fs::read_to_string(folder.join("new.txt")).unwrap(), "x\n");
    assert_eq!(model.asked("s")[0].tools(), ["read", "write", "edit", "bash"]);
    let told = format!("note: the session works in {}, in place\n", folder.display());
    assert_eq!(first.stderr.matches(&told).count(), 1, "{first}");

    for (words, tools) in
        [("--quiet --tools bash,read", vec!["read", "bash"]), ("--no-tools", vec![])]
    {
        model.talk("s", steps(vec![done()]));
        let other = session(&place, &model).words(words).arg(&prompt).run().expect_code(0);
        assert_eq!(other.stdout, "done\n", "{words}");
        assert_eq!(model.asked("s").last().unwrap().tools(), tools, "{words}");
        assert!(!other.stderr.contains(&told), "{words}: {other}");
    }

    let home = fs::canonicalize(place.folder()).unwrap().join("user");
    fs::create_dir_all(home.join("tmp")).unwrap();
    let shown = home.display().to_string();
    for (words, folder, is_told) in
        [("", format!("{shown}/tmp"), true), ("--allow-home", shown.clone(), false)]
    {
        model.talk("s", steps(vec![done()]));
        let session = place.regatta(&home).env("HOME", &home).words("-p --mode json").words(words);
        let session = session.arg("--model").arg(model.route());
        let session = session.arg("--base-url").arg(model.base_url()).arg(&prompt);
        let other = session.run().expect_code(0);
        let header: Value = serde_json::from_str(other.stdout.lines().next().unwrap()).unwrap();
        assert_eq!(header["cwd"], json!(folder), "{words}: {other}");
        let told = other.stderr.contains("not in your home folder (--allow-home");
        assert_eq!(told, is_told, "{words}: {other}");
    }
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
        let session = place.regatta(&folder).arg("-p").words(words).arg("--model");
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
    assert!(damaged.stderr.contains("cannot be read whole"), "{damaged}");
    let listed = session("--resume").run().expect_code(0);
    assert!(listed.stdout.contains("asked "), "{listed}");
    let missing = session("").arg("-r").arg(format!("x{hostile}")).arg("more").run().expect_code(1);
    let unread = session("").arg(format!("@{hostile}.md")).run().expect_code(1);
    for done in [first, damaged, listed, missing, unread] {
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
        (thought, "", "because the model has thought, and then said nothing"),
        (Answer::nothing(), "--mode json", "because the model has said nothing"),
    ] {
        let model = model(steps(vec![answer]));
        let done = session(&place, &model).words(words).arg(marker("s")).run().expect_code(1);
        assert!(done.stderr.contains("error: the answer is empty"), "{done}");
        assert!(done.stderr.contains(why), "{done}");
        assert_eq!(done.stdout.is_empty(), words.is_empty(), "{done}");
    }
}
