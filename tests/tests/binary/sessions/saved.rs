//! Print mode and the files of sessions: continued, resumed by a name, forked, or kept in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tests::json_shapes::{ONLY_OWN, ONLY_RECORDED, recorded, shapes};
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Invocation, Plan, Sandbox};

use crate::binary::sandbox;

/// A model that says how many answers it has given in the conversation.
fn counting() -> LoopbackModel {
    let model = LoopbackModel::start();
    model.talk("s", |asked: &Asked| Answer::text(format!("answer {}", asked.answers() + 1)));
    model
}

/// Begins `regatta -p` in a folder.
fn session(place: &Sandbox, model: &LoopbackModel, folder: &str) -> Invocation {
    let folder = place.folder().join(folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session =
        place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
    session.arg("--base-url").arg(model.base_url())
}

/// Returns the session files of all folders.
fn files(place: &Sandbox) -> Vec<PathBuf> {
    place.home().session_files()
}

/// Returns the header of a session file.
fn header(file: &Path) -> Value {
    let text = fs::read_to_string(file).expect("it can be read");
    let mut lines =
        text.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
    lines.find(|line| line["type"] == "session").expect("there is a header")
}

#[test]
fn a_session_is_listed_and_continued_by_its_id_or_file_and_in_another_folder_only_forked() {
    let (place, model) = (sandbox(), counting());
    let none = session(&place, &model, "work").arg("--resume").run().expect_code(0);
    assert_eq!(none.stdout, "No sessions found\n");
    let prompt = format!("What is there? {}", marker("s"));
    let first = session(&place, &model, "work").arg(&prompt).run().expect_code(0);
    assert_eq!(first.stdout, "answer 1\n");
    let listed = session(&place, &model, "work").arg("--resume").run().expect_code(0);
    assert!(listed.stdout.contains("What is there?"), "{listed}");
    let [file] = &files(&place)[..] else { panic!("one session") };
    let id = header(file)["id"].as_str().unwrap().to_owned();
    for (words, answer) in [
        (vec!["-c".to_owned()], "answer 2\n"),
        (vec!["-r".to_owned(), id[..20].to_uppercase()], "answer 3\n"),
        (vec!["--resume".to_owned(), file.display().to_string()], "answer 4\n"),
    ] {
        let before = fs::read(file).unwrap();
        let more = words.iter().fold(session(&place, &model, "work"), Invocation::arg);
        let done = more.arg("And now?").run().expect_code(0);
        assert_eq!(done.stdout, answer, "{words:?}");
        assert!(fs::read(file).unwrap().starts_with(&before), "{words:?}: what was said stays");
    }
    assert_eq!(files(&place).len(), 1);
    assert_eq!(model.take_violations(), [""; 0]);
    let none = session(&place, &model, "work").words("-r 7777").arg("x").run().expect_code(1);
    assert!(none.stderr.contains("session `7777` was not found"), "{none}");
    // Without the address of its model, the model of the session cannot be used.
    let on = place.regatta(&place.folder().join("work")).words("-p -c more").run();
    let refused = on.expect_code(1).stderr;
    let named = refused.contains("error: cannot use the model of the session, loopback/loop");
    assert!(named && refused.contains("try: --model MODEL"), "{refused}");
    assert_eq!(model.requests(), 4, "lists and errors ask nothing");

    let (name, text) = (&id[..18], fs::read(file).unwrap());
    let other = session(&place, &model, "other").arg("-r").arg(name).arg("x").run();
    let refused = other.expect_code(1);
    assert!(refused.stderr.contains("is in another project"), "{refused}");
    assert!(refused.stderr.contains("--fork"), "{refused}");
    let forked = session(&place, &model, "other").arg("--fork").arg(name).arg("more").run();
    assert_eq!(forked.expect_code(0).stdout, "answer 5\n");
    let said = model.take_violations();
    let is_folder = said.iter().all(|it| it.contains("message 0 was"));
    assert!(is_folder, "only the folder differs: {said:?}");
    let all = files(&place);
    let copy = all.iter().find(|it| *it != file).unwrap();
    assert_eq!((all.len(), &header(copy)["parentSession"]), (2, &json!(id)));
    assert_ne!(header(copy)["id"], json!(id));
    assert_eq!(fs::read(file).unwrap(), text);
}

#[test]
fn the_session_of_a_task_is_copied_by_the_name_of_the_task_or_its_id_and_never_continued() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    model.talk("s", |asked: &Asked| match asked.answers() {
        0 => Answer::yields(&json!("done")),
        before => Answer::text(format!("answer {}", before + 1)),
    });
    let repository = place.repository();
    let plan = Plan::default().agent("own", &format!("Do it. {}", marker("s")));
    let run = place.run_plan(&repository, &plan).arg("--model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url()).run().expect_code(0);
    let task = format!("{}/own", run.run_name());
    let log = place.home().data().join("artifacts").join(&task).join("session.jsonl");
    let (before, id) = (fs::read(&log).unwrap(), header(&log)["id"].as_str().unwrap().to_owned());
    let call = |option: &str, name: &str| {
        session(&place, &model, "work").arg(option).arg(name).arg("And now?").run()
    };
    for name in [&task, &id] {
        let refused = call("-r", name).expect_code(1).stderr;
        assert!(refused.contains(&format!("is that of task {task}\n")), "{refused}");
        assert!(refused.contains(&format!("try: regatta --fork {name} …")), "{refused}");
        assert_eq!(call("--fork", name).expect_code(0).stdout, "answer 2\n", "{name}");
    }
    let logs = place.regatta(&place.folder().join("work")).arg("logs").arg(&id);
    let shown = logs.run().expect_code(0);
    assert!(shown.stdout.contains("Do it."), "{shown}");
    assert_eq!(fs::read(&log).unwrap(), before);
    // The first message is the prompt of a session, and the rest the same in both copies.
    let said = model.take_violations();
    assert!(said.iter().all(|it| it.contains("message 0 was") || it.contains("answer 2")));
}

#[test]
fn the_file_of_a_session_is_in_the_folder_of_its_folder_in_the_one_that_is_given_or_nowhere() {
    let (place, model) = (sandbox(), counting());
    let begin = |words: &str| session(&place, &model, "work").words(words).arg(marker("s"));
    let answer = |words: &str| begin(words).env("KITTY_WINDOW_ID", "1").run().expect_code(0).stdout;
    assert_eq!(answer(""), "answer 1\n");
    let [file] = &files(&place)[..] else { panic!("one session") };
    let work = fs::canonicalize(place.folder().join("work")).unwrap();
    let name = work.to_str().unwrap().trim_start_matches('/').replace('/', "-");
    assert!(file.parent().unwrap().ends_with(format!("sessions/--{name}--")), "{file:?}");
    let header = header(file);
    let at = header["timestamp"].as_str().unwrap().replace([':', '.'], "-");
    // The name is chosen a moment before the header is written.
    let named = file.file_name().unwrap().to_str().unwrap();
    let end = format!("_{}.jsonl", header["id"].as_str().unwrap());
    let named_at = named.strip_suffix(&end).expect("the name ends with the id");
    assert!(named_at.len() == at.len() && *named_at <= *at, "{named_at} and {at}");

    // A folder that is given counts alone, whatever this terminal has used before.
    for (words, said) in [
        ("-c --session-dir ../one", "answer 1\n"),
        ("-c --session-dir ../two", "answer 1\n"),
        ("-c --session-dir ../one", "answer 2\n"),
        ("-c --session-dir ../two", "answer 2\n"),
    ] {
        assert_eq!(answer(words), said, "{words}");
    }
    for folder in ["one", "two"] {
        assert_eq!(fs::read_dir(place.folder().join(folder)).unwrap().count(), 1, "{folder}");
    }
    let memory = begin("--no-session --").arg("and b").run().expect_code(0);
    assert_eq!(memory.stdout, "answer 2\n");
    let both = session(&place, &model, "work").words("--no-session --fork x y").run();
    assert!(both.expect_code(1).stderr.contains("cannot be used with"));
    assert_eq!(files(&place).len(), 1, "a session in memory has no file");
    let _of_four_sessions = model.take_violations();
}

#[test]
fn folders_that_share_a_name_or_have_a_long_path_have_their_own_sessions() {
    let (place, model) = (sandbox(), counting());
    let long = vec!["d".repeat(100); 3].join("/");
    let on = |folder: &str| {
        let done = session(&place, &model, folder).arg("-c").arg(marker("s")).run();
        done.expect_code(0).stdout
    };
    let folders = ["a/b", "a-b", &long];
    assert_eq!(folders.map(on), ["answer 1\n"; 3], "there is none to continue");
    assert_eq!(folders.map(on), ["answer 2\n"; 3]);
    for folder in folders {
        let listed = session(&place, &model, folder).arg("--resume").run().expect_code(0);
        assert_eq!(listed.stdout.matches(" messages").count(), 1, "{listed}");
    }
    assert_eq!(files(&place).len(), 3);
    let _of_three_sessions = model.take_violations();
}

#[test]
fn each_terminal_continues_its_own_session_and_without_one_the_latest_is_continued() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    for talk in ["a", "b"] {
        model.talk(talk, move |asked: &Asked| Answer::text(format!("{talk}{}", asked.answers())));
    }
    let at = |terminal: &str| session(&place, &model, "work").env("KITTY_WINDOW_ID", terminal);
    for (terminal, talk) in [("1", "a"), ("2", "b")] {
        let begun = at(terminal).arg(marker(talk)).run().expect_code(0);
        assert_eq!(begun.stdout, format!("{talk}0\n"));
    }
    // That of the other terminal is the newest of the folder, for each of them in turn.
    for (terminal, answer) in [("1", "a1\n"), ("2", "b1\n"), ("1", "a2\n")] {
        let more = at(terminal).arg("-c").arg("And now?").run().expect_code(0);
        assert_eq!(more.stdout, answer, "terminal {terminal}");
    }
    assert_eq!(files(&place).len(), 2);

    let of = |talk: &str| {
        let is_of = |file: &PathBuf| fs::read_to_string(file).unwrap().contains(&marker(talk));
        files(&place).into_iter().find(is_of).expect("it has a file")
    };
    let now = SystemTime::now();
    // Ids begin with their time, so that `0` begins all of them.
    for (words, talk, minutes, answer) in [
        ("-c", "a", 1, "a3\n"),
        ("-c", "b", 2, "b2\n"),
        ("-c", "a", 3, "a4\n"),
        ("-r 0", "b", 4, "b3\n"),
    ] {
        let set_time = || {
            let file = fs::File::options().append(true).open(of(talk)).unwrap();
            file.set_modified(now + Duration::from_secs(minutes * 60)).unwrap();
        };
        set_time();
        let more = session(&place, &model, "work").words(words).arg("more").run().expect_code(0);
        assert_eq!(more.stdout, answer, "{words}: the one that was changed last");
        // What was said sets the time back to now.
        set_time();
    }
}

#[test]
fn a_damaged_line_costs_that_line_only_and_is_told_with_its_number() {
    let (place, model) = (sandbox(), counting());
    let _first = session(&place, &model, "work").arg(marker("s")).run().expect_code(0);
    for _ in 0..2 {
        let _more = session(&place, &model, "work").words("-c more").run().expect_code(0);
    }
    let [file] = &files(&place)[..] else { panic!("one session") };
    let text = fs::read_to_string(file).unwrap();
    let number = text.lines().position(|line| line.contains("answer 2")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let damaged = text.replacen(lines[number], &lines[number][..lines[number].len() / 2], 1);
    fs::write(file, &damaged).unwrap();
    // The model is asked with all the rest, and is the one of the session.
    let on = place.regatta(&place.folder().join("work")).words("-p -c more");
    let done = on.arg("--base-url").arg(model.base_url()).run().expect_code(0);
    assert_eq!(done.stdout, "answer 3\n", "two answers are left of three");
    let told = format!("line {} of", number + 1);
    assert!(done.stderr.contains(&told) && done.stderr.contains("stays as it is"), "{done}");
    assert!(fs::read_to_string(file).unwrap().starts_with(&damaged), "nothing was changed");
    let missed = model.take_violations();
    assert!(missed[0].contains("message 4 was"), "the model misses the line: {missed:?}");
    let fork = session(&place, &model, "work").arg("--fork").arg(file).arg("more").run();
    assert_eq!(fork.expect_code(0).stdout, "answer 4\n");
}

#[test]
fn a_session_of_a_later_version_is_neither_continued_nor_forked_and_stays_as_it_is() {
    let (place, model) = (sandbox(), counting());
    let _first = session(&place, &model, "work").arg(marker("s")).run().expect_code(0);
    let [file] = &files(&place)[..] else { panic!("one session") };
    let id = header(file)["id"].as_str().unwrap().to_owned();
    let text = fs::read_to_string(file).unwrap();
    let later = text.replacen("\"version\":3", "\"version\":4", 1);
    assert_ne!(later, text);
    fs::write(file, &later).unwrap();
    for words in [&["--fork", &id][..], &["-r", &id], &["-c"]] {
        let mut call = session(&place, &model, "work");
        for word in words {
            call = call.arg(word);
        }
        let refused = call.arg("more").run().expect_code(1);
        let why = &refused.stderr;
        assert!(why.contains("error: ") && why.contains("newer version"), "{words:?}: {refused}");
        assert!(words[0] == "--fork" || why.contains("its version is 4"), "{words:?}: {refused}");
        assert!(why.contains(&file.display().to_string()), "{words:?}: {refused}");
        assert_eq!(refused.stdout, "", "{words:?}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), later);
    assert_eq!((files(&place).len(), model.requests()), (1, 1), "nothing was begun or asked");
    // It can still be read.
    for name in [&id, file.to_str().unwrap()] {
        let logs = place.regatta(&place.folder().join("work")).arg("logs").arg(name);
        let shown = logs.run().expect_code(0);
        assert!(shown.stdout.contains("answer 1"), "{name}: {shown}");
    }
}

#[test]
fn json_mode_prints_the_header_and_each_event_also_of_retries_as_pi_does_for_the_same_prompt() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    for (talk, words) in [("s", "--mode json"), ("t", "--json")] {
        model.talk(talk, |asked: &Asked| match asked.answers() {
            0 => Answer::call("bash", &json!({ "command": "echo tool-ran" })),
            _ => Answer::text("tool finished"),
        });
        let run = session(&place, &model, "work").words(words);
        let done = run.arg(marker(talk)).run().expect_code(0);
        let lines: Vec<Value> =
            done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (first, events) = lines.split_first().expect("there is a header");
        assert_eq!((&first["type"], &first["version"]), (&json!("session"), &json!(3)));
        let last = header(&files(&place).pop().unwrap());
        assert_eq!((&first["id"], &first["cwd"]), (&last["id"], &last["cwd"]));
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!((types[0], types[types.len() - 1]), ("agent_start", "agent_end"));
        for kind in ["turn_start", "message_update", "tool_execution_end", "turn_end"] {
            assert!(types.contains(&kind), "{kind} in {types:?}");
        }
        assert_eq!(events[events.len() - 1]["messages"].as_array().map(Vec::len), Some(4));
        let (own, recorded) = (shapes(events, ONLY_OWN), shapes(&recorded(), ONLY_RECORDED));
        for (own, recorded) in own.iter().zip(&recorded) {
            assert_eq!(own, recorded, "{words}");
        }
        assert_eq!(own.len(), recorded.len(), "{words}");
    }
    let begin = || session(&place, &model, "work").words("--mode json").arg(marker("s"));
    model.talk("s", |_: &Asked| Answer::error(401, "authentication_error", "no such key"));
    let failed = begin().run().expect_code(1);
    let last: Value = serde_json::from_str(failed.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "agent_end");

    place.home().configure("retry: { baseDelayMs: 1 }\n");
    let (mut failures, before) = (2, model.requests());
    model.talk("s", move |_: &Asked| {
        if failures == 0 {
            return Answer::text("at last");
        }
        failures -= 1;
        Answer::error(503, "overloaded", "come again")
    });
    let done = begin().run().expect_code(0);
    let begun = done.events_of("auto_retry_start");
    let numbers: Vec<_> = begun.iter().map(|event| event["attempt"].as_u64()).collect();
    assert_eq!(numbers, [Some(1), Some(2)], "{done}");
    let ends = done.events_of("auto_retry_end");
    assert_eq!(ends.len(), 1, "{done}");
    assert_eq!((&ends[0]["success"], &ends[0]["attempt"]), (&json!(true), &json!(2)), "{done}");
    assert_eq!((done.events_of("agent_end").len(), model.requests() - before), (1, 3));
    // Only the answer is in the conversation that goes on.
    let file = fs::read_to_string(files(&place).pop().unwrap()).unwrap();
    assert!(file.lines().last().is_some_and(|line| line.contains("at last")), "{file}");
}
