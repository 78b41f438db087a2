//! Print mode: the models of a session, its folder, images of prompts, and the progress of tools.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use test_limit::eventually;
use tests::model::{Answer, Asked, LoopbackModel, marker, steps};
use tests::sandbox::{Invocation, Sandbox};

use super::print::session_file;
use crate::binary::sandbox;

/// Two models of one provider, which think.
const MODELS: &str = "{ id: two, reasoning: true, thinking: { levels: [low, high] } }, \
                      { id: other, reasoning: true, thinking: { levels: [low, high] } }";

/// Returns a model that says `done`, and a sandbox that knows it as the provider `gate`.
fn known_models() -> (Sandbox, LoopbackModel) {
    let (place, model) = (sandbox(), LoopbackModel::start());
    model.talk("s", |_: &Asked| Answer::text("done"));
    let file = place.home().config_file().with_file_name("models.yml");
    fs::create_dir_all(file.parent().expect("it is in a folder")).expect("it can be made");
    let url = model.base_url();
    let provider = format!(
        "providers: {{ gate: {{ baseUrl: \"{url}\", api: openai-completions, auth: none, \
         models: [{MODELS}] }} }}\n"
    );
    fs::write(file, provider).expect("it can be written");
    (place, model)
}

/// Begins `regatta -p` in the folder `work`.
fn session(place: &Sandbox) -> Invocation {
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    place.regatta(&folder).words("-p --approval-mode yolo")
}

/// Returns the model of the last request, and how much it was to think.
fn asked(model: &LoopbackModel) -> (String, Value) {
    let asked = model.asked("s").pop().expect("it was asked");
    let name = asked.native["model"].as_str().unwrap_or_default().to_owned();
    (name, asked.native["reasoning_effort"].clone())
}

/// Returns a session file without its thinking levels.
fn without_levels(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(line) = text.lines().find(|line| line.contains("thinking_level_change")) {
        let level: Value = serde_json::from_str(line).expect("it is JSON");
        let others = text.replace(&format!("{line}\n"), "");
        let parent = |id: &Value| format!("\"parentId\":{id}");
        text = others.replace(&parent(&level["id"]), &parent(&level["parentId"]));
    }
    text
}

#[test]
fn a_session_begins_with_the_first_of_its_models_and_goes_on_with_those_of_its_file() {
    let (place, model) = known_models();
    let prompt = marker("s");
    let scoped = session(&place).words("--models nothing,gate/t*:high,other").arg(&prompt).run();
    let said = scoped.expect_code(0).stderr;
    assert!(said.contains("warning: no model that can be used is called `nothing`"), "{said}");
    assert!(said.contains("note: the model is gate/two:high, of --models"), "{said}");
    assert_eq!(asked(&model), ("two".to_owned(), json!("high")));
    let logged = session_file(&place);
    let logged: Vec<Value> =
        logged.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let first: Vec<_> =
        logged[1..3].iter().map(|it| (&it["model"], &it["thinkingLevel"])).collect();
    let (two, high, none) = (json!("gate/two"), json!("high"), Value::Null);
    assert_eq!(first, [(&two, &none), (&none, &high)], "as other programs write it");

    let _more = session(&place).words("-c --models other x").run().expect_code(0);
    assert_eq!(asked(&model), ("two".to_owned(), json!("high")), "it goes on with its own");
    let _low = session(&place).words("-c --model gate/other --thinking low x").run().expect_code(0);
    assert_eq!(asked(&model), ("other".to_owned(), json!("low")));
    let _more = session(&place).words("-c x").run().expect_code(0);
    assert_eq!(asked(&model), ("other".to_owned(), json!("low")));
    let levels = session_file(&place).matches("\"thinking_level_change\"").count();
    assert_eq!(levels, 2, "only what changes is written");
    let nothing = session(&place).words("--models nothing x").run().expect_code(1);
    assert!(nothing.stderr.contains("error: `--models nothing` names no model"), "{nothing}");
    let changed = model.take_violations();
    assert_eq!(changed, ["s, request 3: the model was two and is other"]);

    let file = place.home().session_files().remove(0);
    let without = without_levels(&fs::read_to_string(&file).unwrap());
    fs::write(&file, &without).unwrap();
    let said = session(&place).words("-c --thinking medium x").run().expect_code(0).stderr;
    assert!(said.contains("gate/other has no thinking level `medium`: `low` is used"), "{said}");
    assert_eq!(asked(&model).1, json!("low"));
    let now = fs::read_to_string(&file).unwrap();
    let added = now.strip_prefix(&without).expect("what was there stays");
    assert!(added.lines().next().unwrap().contains("\"thinkingLevel\":\""), "{added}");
}

#[test]
fn models_are_listed_without_a_session_and_the_provider_of_a_name_is_that_of_the_option() {
    let (place, model) = known_models();
    let version = place.regatta(place.folder()).words("--version").run().expect_code(0);
    assert!(version.stdout.starts_with("regatta 0"), "{version}");
    for (words, listed) in [
        ("--list-models", ["gate/two ", "gate/other "].as_slice()),
        ("--list-models two", &["gate/two "]),
        ("--list-models=o*r prompt -c --model gate/two", &["gate/other "]),
        ("--list-models none-such -p prompt", &[]),
    ] {
        let done = place.regatta(place.folder()).words(words).run().expect_code(0);
        for name in ["gate/two ", "gate/other "] {
            assert_eq!(done.stdout.contains(name), listed.contains(&name), "{words}: {done}");
        }
    }
    let json = place.regatta(place.folder()).words("--list-models two --json").run();
    let json: Value = serde_json::from_str(&json.expect_code(0).stdout).expect("it is JSON");
    assert_eq!(json["models"][0]["model"], "gate/two");
    assert_eq!((model.requests(), place.home().session_files().len()), (0, 0));

    let ask = |words: &str| session(&place).words(words).arg(marker("s")).run();
    for (words, name) in [
        ("--provider gate --model two", "two"),
        ("--provider gate --model gate/other", "other"),
        // Names of models have slashes, too.
        ("--provider gate --model maker/one", "maker/one"),
    ] {
        let _answered = ask(words).expect_code(0);
        assert_eq!(asked(&model).0, name, "{words}");
    }
    let before = (model.requests(), place.home().session_files().len());
    for (words, why) in [
        ("--provider gate --model smol", "`--provider` cannot be used with the role `smol`"),
        ("--provider none --model two", "no provider is called `none`"),
        ("--provider gate", "`--model` is required"),
    ] {
        let refused = ask(words).expect_code(1);
        assert!(refused.stderr.contains(why), "{words}: {refused}");
    }
    assert_eq!((model.requests(), place.home().session_files().len()), before);
    let _of_several_sessions = model.take_violations();
}

#[test]
fn the_key_of_the_option_goes_before_that_of_the_environment_and_is_in_no_file_and_no_message() {
    let (place, model) = known_models();
    let file = place.home().config_file().with_file_name("models.yml");
    let models = fs::read_to_string(&file).unwrap().replace("auth: none", "apiKey: GATE_API_KEY");
    fs::write(file, models).unwrap();
    let (right, wrong) = ("canary-right-1", "canary-wrong-2");
    model.demand_key(right);
    let ask =
        |variable: &str| session(&place).words("--model gate/two").env("GATE_API_KEY", variable);
    // A key that is not accepted is one error, and the prompt is kept.
    let prompt = format!("first {}", marker("s"));
    let first = ask(wrong).arg(&prompt).run();
    first.expect_refusal(&["api key"]);
    let second = ask(right).words("-c second --api-key").arg(wrong).run();
    second.expect_refusal(&["api key"]);
    let third = ask(wrong).words("-c third --api-key").arg(right).run().expect_code(0);
    assert_eq!(third.stdout, "done\n");
    let asked = model.asked("s").pop().expect("it was asked");
    let said = asked.messages().iter().filter(|message| message["role"] == "user");
    let said: Vec<_> = said.map(|message| message["content"].to_string()).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    for (said, prompt) in said.iter().zip([&*prompt, "second", "third"]) {
        assert!(said.contains(prompt), "{said} instead of {prompt}");
    }
    let printed = [first, second, third].map(|done| format!("{}{}", done.stdout, done.stderr));
    for text in [session_file(&place)].iter().chain(&printed) {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[test]
fn an_image_of_a_prompt_reaches_the_model_in_a_size_that_it_takes_now_and_from_the_session() {
    let (place, model) = known_models();
    let begin = session(&place).words("--model gate/two");
    let work = place.folder().join("work");
    // Its pixels differ, so that it is too large for a line of the session file.
    let pixel = |x: u32, y: u32| {
        let [red, green, blue, _] = (x * 2_503 + y).wrapping_mul(2_654_435_761).to_be_bytes();
        image::Rgb([red, green, blue])
    };
    image::RgbImage::from_fn(2_500, 10, pixel).save(work.join("wide.png")).unwrap();
    fs::write(work.join("huge.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let huge = fs::File::options().write(true).open(work.join("huge.png")).unwrap();
    huge.set_len(26 << 20).unwrap();
    fs::write(work.join("data.bin"), b"\x7fELF\0\0").unwrap();
    let begin = begin.arg("@wide.png").arg("@huge.png").arg("@data.bin");
    let done = begin.arg(marker("s")).run().expect_code(0);
    assert_eq!(done.stdout, "done\n");
    let warning = done.stderr.lines().find(|line| line.contains("data.bin"));
    assert!(warning.is_some_and(|line| line.contains("not a text")), "{done}");
    assert!(done.stderr.contains("2500×10 pixels; the model gets it with 2000×8"), "{done}");
    assert!(done.stderr.contains("is not included: too large, 26.0 MiB"), "{done}");
    let message = model.asked("s").remove(0).native["messages"].to_string();
    assert!(message.contains("shown at 2000x8. Multiply coordinates by 1.25"), "{message}");
    assert!(message.contains("(skipped: too large, 26.0 MiB)"), "{message}");
    assert!(message.contains("(skipped: not a text"), "{message}");
    assert_eq!(message.matches("data:image/png;base64,").count(), 1);
    let image = |asked: &Asked| {
        let message = asked.native["messages"].to_string();
        let (_, data) = message.split_once("data:image/png;base64,").expect("there is an image");
        data.split('"').next().unwrap_or_default().to_owned()
    };
    let _more = session(&place).words("-c again").run().expect_code(0);
    let asked = model.asked("s");
    assert_eq!(image(&asked[1]), image(&asked[0]), "it comes back from the session");
    assert!(session_file(&place).contains("blob:sha256:"));

    place.home().configure("images: { autoResize: false }\n");
    let done = session(&place).words("--model gate/two @wide.png").arg(marker("s")).run();
    let done = done.expect_code(0);
    assert!(!done.stderr.contains("the model gets it with"), "{done}");
    let asked = model.asked("s").remove(2);
    let size = fs::metadata(work.join("wide.png")).unwrap().len().div_ceil(3) * 4;
    assert_eq!(image(&asked).len() as u64, size, "it is as it was");
    assert!(!asked.native["messages"].to_string().contains("shown at"), "{:?}", asked.native);
    let _of_two_sessions = model.take_violations();
}

/// Runs a session that looks with a command, which is seen at work before it ends.
fn look(place: &Sandbox, model: &LoopbackModel) {
    let gate = place.folder().join("gate");
    let script =
        format!("echo one; while [ ! -e '{}' ]; do sleep 0.02; done; echo two", gate.display());
    let call = Answer::call("bash", &json!({ "command": script }));
    model.talk("s", steps(vec![call, Answer::text("done")]));
    let running =
        session(place).words("--mode json --model gate/two").arg(format!("Look. {}", marker("s")));
    let mut running = running.start();
    let update = running.until_event("progress", |line| line["type"] == "tool_execution_update");
    let partial =
        update["partialResult"]["content"][0]["text"].as_str().expect("it is a text").to_owned();
    assert_eq!(partial, "one\n");
    fs::write(&gate, "").expect("a file can be changed");
    let end = running.until_event("its end", |line| line["type"] == "tool_execution_end");
    assert_eq!(end["toolCallId"], update["toolCallId"]);
    let whole = end["result"]["content"][0]["text"].as_str().expect("it is a text");
    assert!(whole.contains("one\ntwo"), "{whole}");
    let _done = running.wait().expect_code(0);
}

#[test]
fn a_command_tells_its_progress_and_the_log_of_its_session_is_printed_and_followed() {
    let (place, model) = known_models();
    let begin = || session(&place).words("--model gate/two");
    look(&place, &model);
    let file = place.home().session_files().remove(0);
    let name = file.file_stem().unwrap().to_str().unwrap().split_once('_').unwrap().1.to_owned();
    for target in [&name[..20], file.to_str().unwrap()] {
        let shown = place.regatta(place.folder()).words("logs --color never").arg(target).run();
        let shown = shown.expect_code(0).stdout;
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines[0].starts_with(&name) && lines[0].ends_with("/work"), "{shown}");
        assert!(lines[1].starts_with("prompt  ") && lines[2].starts_with("  Look."), "{shown}");
        assert!(shown.contains("\n  done\n"), "{shown}");
        assert!(lines.last().unwrap().contains("tokens ("), "{shown}");
    }
    let json = place.regatta(place.folder()).words("logs --json").arg(&name).run();
    let json: Value = serde_json::from_str(&json.expect_code(0).stdout).unwrap();
    assert_eq!(json["session"], json!(name));
    let entries = json["entries"].as_array().unwrap();
    assert_eq!(json["leaf"], entries.last().unwrap()["id"]);

    let gate = place.folder().join("next");
    let waiting = gate.clone();
    model.talk("s", move |_: &Asked| {
        eventually(Duration::from_secs(60), "the gate opens", || waiting.exists());
        Answer::text("later")
    });
    let running = begin().words("-c more").start();
    eventually(Duration::from_secs(60), "the prompt is in the file", || {
        session_file(&place).contains("\"more\"")
    });
    let follow = |words: &str| place.regatta(place.folder()).words(words).arg(&name).start();
    let (text, mut lines) = (follow("logs -f --color never"), follow("logs --follow --json"));
    lines
        .until_event("the prompt", |line| line["entry"]["message"]["content"][0]["text"] == "more");
    fs::write(&gate, "").unwrap();
    let _done = running.wait().expect_code(0);
    let _end = lines.until_event("the end", |line| line["open"] == json!(false));
    let _ended = lines.wait().expect_code(0);
    let told = text.wait().expect_code(0).stdout;
    for words in ["  Look.", "  more\n", "  later\n"] {
        assert_eq!(told.matches(words).count(), 1, "{words} in {told}");
    }
    let other = begin().arg(marker("s")).run().expect_code(0);
    assert_eq!(other.stdout, "later\n");
    let _of_two_sessions = model.take_violations();
    let several = place.regatta(place.folder()).words("logs").arg(&name[..1]).run();
    let several = several.expect_code(1).stderr;
    assert!(several.contains("2 sessions begin with"), "{several}");
}
