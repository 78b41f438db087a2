//! Print mode as scripts use it: its output in variables and pipes, its exit code, and its signals.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use test_limit::{eventually, took_at_most};
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Invocation, Sandbox};

use super::print::session_file;
use crate::binary::sandbox;

/// Begins `regatta -p` in the folder `work`.
fn session(place: &Sandbox, model: &LoopbackModel) -> Invocation {
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session =
        place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
    session.arg("--base-url").arg(model.base_url())
}

#[test]
fn a_script_gets_what_a_tool_has_read_in_a_variable_and_nothing_else() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    model.talk("s", |asked: &Asked| match asked.answers() {
        0 => Answer::call("read", &json!({ "path": "secret.txt" })),
        _ => Answer::text(asked.result().split_whitespace().last().unwrap_or_default()),
    });
    let script = "nonce=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ') && echo \"$nonce\" > secret.txt \
                  && answer=$(\"$0\" \"$@\") && test ${#nonce} = 16 && test \"$answer\" = \"$nonce\"";
    let asking = session(&place, &model).arg("-q").arg(format!("Say it. {}", marker("s")));
    let done = asking.shell(script).run().expect_code(0);
    assert_eq!((&*done.stdout, &*done.stderr), ("", ""));
    assert_eq!(model.requests(), 2);
    let file = session_file(&place);
    let entries = file.lines().map(|line| serde_json::from_str(line).expect("it is JSON"));
    let entries: Vec<Value> = entries.collect();
    let roles: Vec<_> = entries.iter().filter_map(|it| it["message"]["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!(entries[0]["cwd"], json!(place.folder().join("work").canonicalize().unwrap()));
    place.expect_no_process(Duration::from_secs(5));
}

#[test]
fn a_script_pipes_texts_and_images_into_it_and_its_answer_out_of_it_and_reads_its_exit_code() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    model.talk("s", |asked: &Asked| match asked.answers() {
        0 => {
            let images = asked.native.to_string().matches("data:image/png;base64,").count();
            let lines = asked.prompt().lines().count();
            Answer::text(format!("one\ntwo\n{lines} lines, {images} images"))
        }
        _ => Answer::error(400, "invalid_request_error", "no such luck"),
    });
    let script = "printf 'a\\nb\\n' | \"$0\" \"$@\" | tail -n 2 | tr a-z A-Z; \
                  echo and | \"$0\" \"$@\" -c > failed.txt; echo \"code $?\"; \
                  printf '\\211PNG\\r\\n\\032\\nxxxx' > shot.png; \
                  \"$0\" \"$@\" @shot.png | sed -n 's/^.*lines, /it says: /p'; \
                  \"$0\" \"$@\" @none.png; echo \"code $?\"";
    let asking = session(&place, &model).arg("-q").arg(marker("s"));
    let done = asking.shell(script).run().expect_code(0);
    let printed = "TWO\n3 LINES, 0 IMAGES\ncode 1\nit says: 1 images\ncode 1\n";
    assert_eq!(done.stdout, printed, "{done}");
    assert_eq!(fs::read_to_string(place.folder().join("work/failed.txt")).unwrap(), "");
    assert!(done.stderr.contains("no such luck"), "{done}");
    assert!(done.stderr.contains("cannot read the file"), "{done}");
    assert_eq!(done.stderr.matches("error: ").count(), 2, "{done}");
    let _of_two_sessions = model.take_violations();
}

#[test]
fn a_signal_ends_it_at_once_with_its_code_and_keeps_the_prompt_and_what_had_come_of_the_answer() {
    for (signal, code, begin) in [
        (Signal::INT, 130, "half an answer"),
        (Signal::TERM, 143, "half an answer"),
        (Signal::INT, 130, ""),
    ] {
        let (place, model) = (sandbox(), LoopbackModel::start());
        model.talk("s", move |asked: &Asked| match (asked.messages().len(), begin) {
            (0..=2, "") => Answer::Silence,
            (0..=2, begin) => Answer::begun(begin),
            _ => Answer::text("the rest"),
        });
        let prompt = format!("Wait. {}", marker("s"));
        let mut running = session(&place, &model).words("--mode json").arg(&prompt).start();
        if begin.is_empty() {
            eventually(Duration::from_secs(60), "a request", || !model.asked("s").is_empty());
        } else {
            let _update = running.until_event("a part of the answer", |event| {
                let delta = event["assistantMessageEvent"]["delta"].as_str();
                delta.is_some_and(|it| it.contains("half"))
            });
        }
        let since = Instant::now();
        running.signal(signal);
        let done = running.wait().expect_code(code);
        took_at_most(since.elapsed(), Duration::from_secs(5), "it waits for something");
        let last: Value = serde_json::from_str(done.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["type"], "agent_end", "{done}");
        let file = session_file(&place);
        assert!(file.contains(&prompt), "{file}");
        let entry: Value = serde_json::from_str(file.lines().last().unwrap()).unwrap();
        let message = &entry["message"];
        if !begin.is_empty() {
            assert_eq!(message["stopReason"], "aborted", "{file}");
            assert_eq!(message["content"][0]["text"], begin, "{file}");
        }
        let more = session(&place, &model).arg("-c").arg("Go on.").run().expect_code(0);
        assert_eq!(more.stdout, "the rest\n", "{begin}");
        assert!(session_file(&place).starts_with(&file));
        place.expect_no_process(Duration::from_secs(5));
    }
}

#[test]
fn a_script_interrupts_one_that_works_and_meanwhile_is_refused_or_forks_it() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let work = place.folder().join("work");
    let asked_file = work.join("asked");
    model.talk("s", move |asked: &Asked| match asked.messages().len() {
        0..=2 => {
            fs::write(&asked_file, "").expect("a file can be made");
            Answer::Silence
        }
        _ => Answer::text("the rest"),
    });
    let script = "\"$0\" \"$@\" > first.txt 2> first.err & first=$!; \
                  until [ -e asked ]; do sleep 0.02; done; \
                  \"$0\" \"$@\" -c > second.txt 2> second.err; echo \"second $?\"; \
                  file=$(find \"$REGATTA_HOME/data/sessions\" -name '*.jsonl'); \
                  \"$0\" \"$@\" --fork \"$file\"; echo \"fork $?\"; \
                  kill -INT $first; wait $first; echo \"first $?\"; \
                  \"$0\" \"$@\" -r \"$file\"; echo \"third $?\"";
    let session = session(&place, &model).arg("-q").arg(marker("s"));
    let done = session.shell(script).run().expect_code(0);
    let printed = "second 1\nthe rest\nfork 0\nfirst 130\nthe rest\nthird 0\n";
    assert_eq!(done.stdout, printed, "{done}");
    let printed = |name: &str| fs::read_to_string(work.join(name)).expect("it was printed");
    assert_eq!((printed("first.txt"), printed("second.txt")), (String::new(), String::new()));
    let refused = printed("second.err");
    assert!(refused.contains("another session has it open"), "{refused}");
    assert!(refused.contains("--fork"), "{refused}");
    let files = place.home().session_files();
    assert_eq!(files.len(), 2, "the session and its copy");
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let prompts = text.matches("\"role\":\"user\"").count();
        assert_eq!(prompts, 2, "that of the second was not taken: {text}");
    }
    place.expect_no_process(Duration::from_secs(5));
    let _of_two_sessions = model.take_violations();
}
