//! Conversations that become too long: they are compacted and go on, over every API.

use serde_json::{Value, json};
use test_limit::{by_depth, seed};
use tests::model::{Answer, Asked, Call, LoopbackModel, Said, Script, Tokens, Wire, marker};
use tests::sandbox::{Invocation, Plan, Sandbox};

use crate::binary::models::apis::variable;
use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

/// Returns the number of turns: enough for a few compactions.
fn turns_of_all() -> usize {
    by_depth(30, 300)
}

/// Returns all APIs in full depth, and else one whose threshold is below the window of its server and one
/// whose threshold is above, which the commit decides. Another `offset` has the two others.
fn wires(offset: u64) -> Vec<Wire> {
    let some = match (seed() + offset) % 2 {
        0 => vec![Wire::Completions, Wire::Gemini],
        _ => vec![Wire::Messages, Wire::Responses],
    };
    by_depth(some, Wire::ALL.to_vec())
}

/// From how many tokens on the server finds a request too long.
const WINDOW: usize = 12_000;

/// About how many tokens a request has.
fn tokens(asked: &Asked) -> usize {
    asked.bytes.len() / 4
}

/// A model that reads a file in every turn, and then says `last`. It sums up what it is asked to.
fn reader(last: impl Fn(&Asked) -> Answer + Send) -> impl Script {
    reader_of(turns_of_all(), last)
}

/// The same, in so many turns.
fn reader_of(most: usize, last: impl Fn(&Asked) -> Answer + Send) -> impl Script {
    let mut turns = 0;
    move |asked: &Asked| {
        if tokens(asked) > WINDOW {
            let why = "prompt is too long: 12001 tokens > 12000 maximum";
            return Answer::error(400, "invalid_request_error", why);
        }
        let used = Tokens {
            prompt: u64::try_from(tokens(asked)).expect("it is small"),
            completion: 50,
            ..Tokens::default()
        };
        let says = |said: Said| Answer::Says(Said { tokens: used, ..said });
        if asked.is_summary() {
            let text = format!("## Progress\n{turns} turns are done.");
            return says(Said { text, ..Said::default() });
        }
        turns += 1;
        if turns > most {
            return last(asked);
        }
        let read = Call::new("read", &json!({ "path": "notes.md", "limit": 40 }));
        let (thinking, text) = (format!("About {turns}."), format!("Turn {turns}."));
        says(Said { thinking, text, calls: vec![read], ..Said::default() })
    }
}

fn with_model(invocation: Invocation, model: &LoopbackModel, wire: Wire) -> Invocation {
    let (_provider, id) = wire.route().split_once('/').expect("a route has a provider");
    model.list(Some(&[id]));
    let invocation = invocation.arg("--model").arg(format!("{}:high", wire.route()));
    invocation.arg("--base-url").arg(model.url_of(wire)).env(variable(wire), "key")
}

/// Sets when conversations are compacted. The threshold is above the window of the server for
/// every second API, whose requests then do not fit.
fn configure(place: &Sandbox, wire: Wire) {
    let threshold = match wire {
        Wire::Completions | Wire::Messages => 8_000,
        Wire::Responses | Wire::Gemini => 100_000,
    };
    place.home().configure(&format!(
        "compaction: {{ thresholdTokens: {threshold}, keepRecentTokens: 2000 }}\nlimits: {{ turns: 400 }}\n"
    ));
}

/// Checks how a conversation was asked for, and returns the entries of its compactions.
fn check(model: &LoopbackModel, talk: &str, wire: Wire, entries: &[Value]) -> Vec<Value> {
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{wire:?}");
    let compactions: Vec<_> =
        entries.iter().filter(|entry| entry["type"] == "compaction").cloned().collect();
    let asked = model.asked(talk);
    let summaries = asked.iter().filter(|asked| asked.is_summary()).count();
    assert!(compactions.len() > by_depth(1, 3), "{wire:?}: {} compactions", compactions.len());
    assert!(summaries >= compactions.len(), "{wire:?}: {summaries} summaries");
    let last = asked.last().expect("it was asked");
    assert!(last.summary().is_some_and(|it| it.contains("turns are done")), "{wire:?}");
    for compaction in &compactions {
        let kept = &compaction["firstKeptEntryId"];
        assert!(entries.iter().any(|entry| entry["id"] == *kept), "{wire:?}: {compaction}");
        assert_eq!(compaction["details"]["readFiles"], json!(["notes.md"]), "{compaction}");
    }
    compactions
}

fn notes() -> String {
    let line = ["A note of some length, so that it counts."].repeat(by_depth(4, 1)).join(" ");
    format!("{line}\n").repeat(20)
}

#[test]
fn a_task_of_many_turns_is_compacted_and_yields_over_every_api() {
    for wire in wires(0) {
        let place = sandbox();
        let repository = place.repository();
        repository.write("notes.md", notes());
        configure(&place, wire);
        let model = LoopbackModel::start();
        model.talk("t1", reader(|_: &Asked| Answer::yields(&json!("done"))));
        let plan = Plan::default().agent("t1", &format!("Read it all. {}", marker("t1")));
        let run = with_model(place.run_plan(&repository, &plan), &model, wire);
        let finished = run.run().expect_code(0);
        let entries = place.home().session(&finished.run_name(), "t1");
        let _compactions = check(&model, "t1", wire, &entries);
        let answers = entries.iter().filter(|entry| entry["message"]["role"] == "assistant");
        let whole = answers.filter(|entry| entry["message"]["stopReason"] != "error").count();
        assert_eq!(whole, turns_of_all() + 1, "{wire:?}: {finished}");
        // The prompt is in every summary.
        let last = model.asked("t1").pop().expect("it was asked");
        assert!(last.prompt().contains("Read it all."), "{}", last.prompt());
    }
}

#[test]
fn a_session_of_many_turns_is_compacted_and_answers_the_next_prompt_over_every_api() {
    for wire in wires(1) {
        let place = sandbox();
        let folder = place.folder().join("work");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("notes.md"), notes()).unwrap();
        configure(&place, wire);
        let model = LoopbackModel::start();
        model.talk(
            "s",
            reader(|asked: &Asked| Answer::text(format!("{} messages", asked.raw.len()))),
        );
        let session = with_model(place.regatta(&folder).arg("-p"), &model, wire);
        let prompts = ["Read it all.", "And now?"].map(|it| format!("{it} {}", marker("s")));
        let done = session.arg(&prompts[0]).arg(&prompts[1]).run().expect_code(0);
        assert!(done.stdout.ends_with(" messages\n"), "{done}");
        let file = crate::binary::sessions::print::session_file(&place);
        let entries: Vec<Value> =
            file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let _compactions = check(&model, "s", wire, &entries);
    }
}

#[test]
fn a_known_window_is_kept_free_also_where_prices_cache() {
    for wire in wires(0) {
        let place = sandbox();
        let repository = place.repository();
        repository.write("notes.md", notes());
        place.home().configure(
            "compaction: { keepRecentTokens: 2000, reserveTokens: 3000 }\nlimits: { turns: 400 }\n",
        );
        let model = LoopbackModel::start();
        write_models(
            &place,
            &format!(
                "providers:\n  gate: {{ baseUrl: '{}', auth: none, api: {}, models: [{{ id: m, \
                 contextWindow: {WINDOW}, cost: {{ input: 3, output: 15, cacheRead: 0.3 }} }}] }}\n",
                model.url_of(wire),
                wire.name()
            ),
        );
        model.talk("t1", reader_of(by_depth(28, 80), |_: &Asked| Answer::yields(&json!("done"))));
        let plan = Plan::default().top("model = \"gate/m\"");
        let plan = plan.agent("t1", &format!("Read it all. {}", marker("t1")));
        let finished = place.run_plan(&repository, &plan).run().expect_code(0);
        let entries = place.home().session(&finished.run_name(), "t1");
        let _compactions = check(&model, "t1", wire, &entries);
        let refused = model.asked("t1").iter().filter(|asked| tokens(asked) > WINDOW).count();
        assert_eq!(refused, 0, "{wire:?}: {finished}");
    }
}
