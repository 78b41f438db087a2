use std::sync::Arc;
use std::time::Duration;

use protocol::{CacheSaving, CostSource, Message, Usage};
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::test_support::{
    Observed, ask, assistant, call, clock, end, request, result, retries, text, user,
};

fn scripted(text: &str) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel {
        info: info(&"offline/s.toml".parse().unwrap()),
        script: Arc::new(parse(text).unwrap()),
        attempts: Arc::default(),
        price: None,
        clock: clock(),
    })
}

async fn asked(script: &str, messages: Vec<Message>) -> Vec<Observed> {
    ask(scripted(script), request(messages)).await
}

const TICKETS: &str = r#"
version = 1

[[scenario]]
when = 'ticket'
[[scenario.turn]]
thinking = "Where is it?"
calls = [{ tool = "read", arguments = { path = "a.txt", deep = { list = [1, 2.5, true, "x"] } } }]
[[scenario.turn]]
remember = { nonce = 'nonce: (\w+)', who = 'for (\w+)' }
text = "It is {{nonce}}."
calls = [
  { tool = "edit", arguments = { path = "a.txt", edits = [{ newText = "{{nonce}}" }] }, id = "forced" },
  { tool = "bash", arguments_text = '{bad {{who}}' },
]
usage = { input = 900, output = 40, cache_read = 7 }
[[scenario.turn]]
text = "{{nonce}} for {{who}}"
repeat = true
"#;

#[test]
async fn a_scenario_is_played_turn_by_turn() {
    let mut said = vec![user("A ticket for ada.")];
    let events = asked(TICKETS, said.clone()).await;
    let message = end(&events).unwrap();
    let expected = json!({ "path": "a.txt", "deep": { "list": [1, 2.5, true, "x"] } });
    let first = call("call_1_1", "read", &expected);
    assert_eq!(message.content[1], first);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert!(events.contains(&Observed::Calling("read".to_owned())));
    said.extend([assistant(vec![first]), result("call_1_1", "read", "nonce: n17\n")]);

    let events = asked(TICKETS, said.clone()).await;
    let message = end(&events).unwrap();
    let edit = json!({ "path": "a.txt", "edits": [{ "newText": "n17" }] });
    assert_eq!(message.content[..2], [text("It is n17."), call("forced", "edit", &edit)]);
    let malformed: Vec<_> = message.calls().filter_map(|call| call.malformed.clone()).collect();
    assert_eq!(malformed, ["{bad ada"]);
    let cache_saving = Some(CacheSaving::default()); // it is free
    let counts = Usage { input: 900, output: 40, cache_read: 7, ..Usage::ZERO };
    let usage = Usage { cost_source: CostSource::Priced, cache_saving, ..counts };
    assert_eq!(message.usage, usage);
    said.extend([assistant(message.content.clone()), result("forced", "edit", "ok")]);

    for _again in 0..2 {
        let events = asked(TICKETS, said.clone()).await;
        assert_eq!(end(&events).unwrap().text(), "n17 for ada");
        said.extend([assistant(vec![text("n17 for ada")]), user("Yield.")]);
    }
}

#[test]
async fn the_first_scenario_that_fits_is_played_and_one_has_to() {
    let script = "version = 1\n[[scenario]]\nwhen = 'b'\n[[scenario.turn]]\ntext = 'one'\n\
        [[scenario]]\nwhen = 'a|b'\n[[scenario.turn]]\ntext = 'two'\n";
    for (prompt, said) in [("ab", "one"), ("a", "two")] {
        assert_eq!(end(&asked(script, vec![user(prompt)]).await).unwrap().text(), said);
    }
    let events = asked(script, vec![user("c\nd")]).await;
    let failure = end(&events).unwrap_err();
    assert_eq!(failure.class, FailureClass::Invalid);
    assert_eq!(failure.message, "no scenario of s.toml is for the prompt `c d`");
}

#[test]
async fn after_its_last_turn_a_model_says_nothing() {
    let script = "version = 1\n[[turn]]\ntext = 'only'\n";
    let events = asked(script, vec![user("x"), assistant(vec![text("only")]), user("more")]).await;
    let message = end(&events).unwrap();
    assert_eq!((message.content.len(), message.stop_reason), (0, StopReason::Stop));
}

#[test]
async fn what_cannot_be_remembered_is_said() {
    let script = "version = 1\n[[turn]]\nremember = { n = 'x(\\d)' }\ntext = '{{n}}'\n";
    let events = asked(script, vec![user("y")]).await;
    let failure = end(&events).unwrap_err();
    assert_eq!(failure.class, FailureClass::Invalid);
    let expected =
        "turn 1 of the scenario cannot remember `n`: nothing said before it matches `x(\\d)`";
    assert_eq!(failure.message, expected);
}

#[test]
async fn the_newest_result_is_remembered_first() {
    let script = "version = 1\n[[turn]]\ncalls = [{ tool = 'a' }, { tool = 'b' }]\n\
        [[turn]]\nremember = { n = 'x(\\d)' }\ntext = '{{n}}'\n";
    let said = |results: &[&str]| {
        let results = results.iter().map(|text| result("c", "a", text));
        let calls = assistant(vec![call("c", "a", &json!({}))]);
        [user("x9"), calls].into_iter().chain(results).collect::<Vec<_>>()
    };
    for (results, expected) in [(&["x1", "x2", "y"][..], "2"), (&["y"], "9")] {
        assert_eq!(end(&asked(script, said(results)).await).unwrap().text(), expected);
    }
}

fn faulty(fault: &str) -> String {
    format!("version = 1\n[[turn]]\ntext = '{}'\n{fault}\n", "word ".repeat(30))
}

#[test(start_paused = true)]
async fn each_fault_word_has_its_end() {
    let cases = [
        ("refused", FailureClass::Refused, 0),
        ("quota", FailureClass::Quota, 0),
        ("auth", FailureClass::Auth, 0),
        ("transient", FailureClass::Transient, 3),
        ("cut", FailureClass::Transient, 3),
        ("silence", FailureClass::Transient, 3),
    ];
    for (word, class, tries) in cases {
        let events = asked(&faulty(&format!("fault = '{word}'")), vec![user("x")]).await;
        let failure = end(&events).unwrap_err();
        assert_eq!((failure.class, retries(&events).len()), (class, tries), "{word}");
        assert_eq!(failure.detail.is_some(), word == "quota", "{word}");
        let text = events.iter().filter(|event| matches!(event, Observed::Text(_))).count();
        assert_eq!(text > 0, word == "cut", "{word}");
    }
    let events = asked(&faulty("fault = 'endless'"), vec![user("x")]).await;
    let message = end(&events).unwrap();
    assert_eq!((message.text().len(), message.stop_reason), (2 << 20, StopReason::Length));
    let events = asked(&faulty("fault = 'panic'"), vec![user("x")]).await;
    let names: Vec<_> = end(&events).unwrap().calls().map(|call| call.name.clone()).collect();
    assert_eq!(names, ["panic"]);
}

#[test]
async fn a_crash_comes_in_the_middle_of_the_answer() {
    let model = scripted(&faulty("fault = 'crash'\ntimes = 1"));
    let asks = request(vec![user("x")]);
    let (told, heard) = std::sync::mpsc::channel();
    let mut stream = model.stream(&asks).events;
    let played = tokio::spawn(async move {
        while let Some(event) = futures_util::StreamExt::next(&mut stream).await {
            let _heard = told.send(event);
        }
    });
    let crash = played.await.unwrap_err().into_panic();
    assert_eq!(crash.downcast_ref::<&str>(), Some(&CRASH));
    assert!(heard.iter().count() > 1);
    // The session is begun again, and this time it does not crash.
    assert!(end(&ask(model, asks).await).is_ok());
}

#[test]
async fn a_fault_that_strikes_some_times_strikes_each_session_and_turn_as_often() {
    let model = scripted(&faulty("fault = 'transient'\ntimes = 2"));
    for _session in 0..2 {
        let events = ask(Arc::clone(&model) as Arc<_>, request(vec![user("x")])).await;
        assert_eq!(retries(&events).len(), 2);
        assert!(end(&events).is_ok());
    }
}

#[test(start_paused = true)]
async fn text_comes_in_pieces_at_its_pace() {
    let began = Instant::now();
    let script = faulty("delay = '2s'\npace = '100ms'");
    let events = asked(&script, vec![user("x")]).await;
    let pieces: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Observed::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!((pieces.len(), pieces.concat()), (7, "word ".repeat(30)));
    assert_eq!(began.elapsed(), Duration::from_millis(2700));
}

#[test]
async fn a_reminder_can_be_remembered_too() {
    let script = "version = 1\n[[turn]]\ntext = 'first'\n[[turn]]\nremember = { path = 'at (/\\w+)' }\ntext = '{{path}}'\n";
    let reminder = Message::user("It is wrong at /count.", crate::test_support::noon());
    let events = asked(script, vec![user("x"), assistant(vec![text("first")]), reminder]).await;
    assert_eq!(end(&events).unwrap().text(), "/count");
}

fn opened(scenarios: &Scenarios, path: &Path) -> Result<Arc<Script>, String> {
    let path = path.to_str().unwrap();
    let route =
        ModelRoute { provider: "offline".into(), id: path.into(), base_url: None, thinking: None };
    let opened = scenarios.open(&route, None, clock());
    assert_eq!(opened.is_ok(), scenarios.script(path).is_ok());
    scenarios.script(path).map_err(|failure| {
        assert_eq!(failure.class, FailureClass::Invalid);
        failure.message.replace(path, "FILE")
    })
}

#[test]
fn a_file_is_read_each_time_and_understood_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    let scenarios = Scenarios::default();
    std::fs::write(&path, "version = 1\n[[turn]]\n").unwrap();
    let first = opened(&scenarios, &path).unwrap();
    assert!(Arc::ptr_eq(&first, &opened(&scenarios, &path).unwrap()));
    std::fs::write(&path, "version = 1\n[[turn]]\n[[turn]]\n").unwrap();
    assert_eq!(opened(&scenarios, &path).unwrap().scenarios[0].turns.len(), 2);
    std::fs::write(&path, "version = 1\n[[turn]]\nx = 1\n").unwrap();
    let told = opened(&scenarios, &path).unwrap_err();
    assert!(told.starts_with("FILE:3:1: unknown field `x`"), "{told}");
}

#[test]
fn what_is_no_text_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = Scenarios::default();
    let told = |path: &Path| opened(&scenarios, path).unwrap_err();
    assert_eq!(told(folder.path()), "the scenario file FILE cannot be read: it is not a file");
    assert_eq!(
        told(Path::new("/dev/zero")),
        "the scenario file FILE cannot be read: it is not a file"
    );
    let path = folder.path().join("bytes");
    std::fs::write(&path, b"a\xff").unwrap();
    assert!(told(&path).contains("line 1 is not UTF-8"), "{}", told(&path));
    let file = File::create(&path).unwrap();
    file.set_len(LARGEST + 1).unwrap();
    assert_eq!(told(&path), "the scenario file FILE cannot be read: it is larger than 4 MiB");
}
