//! What the user's file says about how a server departs from its API, and which models it has.

use serde_json::json;
use tests::model::{Answer, Asked, Checks, LoopbackModel, Wire, marker};
use tests::sandbox::Sandbox;

use super::models::{run_model, write_models};
use super::sandbox;

#[test]
fn switches_of_the_users_file_change_the_requests_to_its_server() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.check(Checks::None);
    write_models(
        &place,
        &format!(
            "providers:\n  gate:\n    baseUrl: {}\n    auth: none\n    api: openai-completions\n    \
             disableStrictTools: true\n    compat: {{ supportsStore: true, supportsUsageInStreaming: \
             false, extraBody: {{ seed: 7 }} }}\n    models:\n      - {{ id: m, reasoning: true, \
             thinking: {{ minLevel: low, maxLevel: high }}, compat: {{ thinkingFormat: openrouter, \
             reasoningEffortMap: {{ high: most }} }} }}\n",
            model.base_url()
        ),
    );
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let finished = run_model(&place, &repository, "gate/m:high").run().expect_code(0);
    assert!(!finished.stderr.contains("warning"), "{finished}");
    let body = model.asked("t1")[0].native.clone();
    assert_eq!((&body["store"], &body["seed"]), (&json!(false), &json!(7)), "{body}");
    assert_eq!(body["reasoning"], json!({ "effort": "most" }), "{body}");
    assert_eq!(body.get("stream_options"), None, "{body}");
    assert_eq!(body["tools"][0]["function"].get("strict"), None, "{body}");
}

#[test]
fn a_server_on_this_machine_says_which_models_it_has() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.list(Some(&["qwen-box", "llama-box"]));
    write_models(
        &place,
        &format!(
            "providers:\n  box: {{ baseUrl: '{}', api: openai-completions, discovery: {{ type: ollama }} }}\n",
            model.base_url()
        ),
    );
    let list = || place.regatta(repository.root()).words("models box").run().expect_code(0);
    // A server has 300 ms to answer, which are over soon on a busy machine.
    let listed = (0..50).map(|_| list()).find(|listed| listed.stdout.contains("box/qwen-box"));
    let listed = listed.expect("the server is asked");
    assert!(listed.stdout.contains("box/llama-box"), "{listed}");
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let run = || run_model(&place, &repository, "qwen-b").run();
    let finished = (0..50).map(|_| run()).find(|finished| !finished.stdout.is_empty());
    let finished = finished.expect("the model is found by its name").expect_code(0);
    assert_eq!(model.asked("t1")[0].model(), "qwen-box", "{finished}");
    drop(model);
    let listed = list();
    assert!(!listed.stdout.contains("qwen-box"), "{listed}");
}

/// Writes a provider `gate` with one model that the file describes so.
fn write_gate(place: &Sandbox, model: &LoopbackModel, wire: Wire, described: &str) {
    let (url, api) = (model.url_of(wire), wire.name());
    write_models(
        place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{url}', auth: none, api: {api}, models: [{{ {described} }}] }}\n"
        ),
    );
}

/// Has a model that the user's file describes so do a task, at a level of thinking, and returns what it
/// was asked.
fn asked_of(wire: Wire, described: &str, level: &str) -> Asked {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    write_gate(&place, &model, wire, described);
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let id = described.split([':', ',']).nth(1).expect("it has an id").trim();
    let name = format!("gate/{id}{level}");
    let finished = run_model(&place, &repository, &name).run().expect_code(0);
    assert!(!finished.stderr.contains("warning"), "{finished}");
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{wire:?}: {finished}");
    model.asked("t1").remove(0)
}

#[test]
fn the_limit_of_answers_that_the_users_file_says_is_in_requests() {
    for (described, expected) in [
        ("id: m, maxTokens: 4096", 1_365),
        ("id: claude-opus-5, maxTokens: 30000", 10_000),
        ("id: m", 5_461),
        ("id: claude-opus-5", 42_666),
    ] {
        let asked = asked_of(Wire::Messages, described, "");
        assert_eq!(asked.native["max_tokens"], expected, "{described}");
    }
}

#[test]
fn a_model_that_thinks_by_the_users_file_alone_is_told_how_much_over_every_api() {
    for wire in Wire::ALL {
        let body = asked_of(wire, "id: m, reasoning: true", ":high").native;
        let told = match wire {
            Wire::Completions => body["reasoning_effort"] == "high",
            Wire::Responses => body["reasoning"]["effort"] == "high",
            Wire::Messages => body["thinking"]["budget_tokens"] == 15_360,
            Wire::Gemini => body["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "HIGH",
        };
        assert!(told, "{wire:?}: {body}");
        let body = asked_of(wire, "id: claude-opus-5, reasoning: false", ":high").native;
        for key in ["reasoning_effort", "reasoning", "thinking", "generationConfig"] {
            assert_eq!(body.get(key), None, "{wire:?}");
        }
    }
}

#[test]
fn the_mode_and_the_default_level_of_the_users_file_say_how_a_model_thinks() {
    let described = |thinking: &str| {
        format!("id: m, maxTokens: 90000, thinking: {{ {thinking}, defaultLevel: low }}")
    };
    let of = |wire, mode: &str, level: &str| asked_of(wire, &described(mode), level).native;
    let body = of(Wire::Messages, "mode: anthropic-adaptive", "");
    assert_eq!(body["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(body["output_config"], json!({ "effort": "low" }));
    let body = of(Wire::Messages, "mode: anthropic-budget-effort", ":medium");
    assert_eq!(body["thinking"]["budget_tokens"], 8_192);
    assert_eq!(body["output_config"], json!({ "effort": "medium" }));
    let body = of(Wire::Gemini, "mode: budget", "");
    assert_eq!(body["generationConfig"]["thinkingConfig"]["thinkingBudget"], 2_048);
}

#[test]
fn a_model_without_images_gets_a_text_in_their_place_over_every_api() {
    for wire in Wire::ALL {
        for (input, seen) in [("[text]", false), ("[text, image]", true)] {
            let place = sandbox();
            let work = place.folder().join("work");
            std::fs::create_dir_all(&work).unwrap();
            image::RgbImage::new(20, 10).save(work.join("shot.png")).unwrap();
            let model = LoopbackModel::start();
            write_gate(&place, &model, wire, &format!("id: m, input: {input}"));
            model.talk("s", |_: &Asked| Answer::text("I see."));
            let session = place.regatta(&work).words("-p --model gate/m @shot.png");
            let _done = session.arg(marker("s")).run().expect_code(0);
            assert_eq!(model.take_violations(), Vec::<String>::new(), "{wire:?}");
            let body = model.asked("s").remove(0).native.to_string();
            assert_eq!(body.contains("iVBORw0KGgo"), seen, "{wire:?}: {body}");
            assert_eq!(body.contains("An image is left out here"), !seen, "{wire:?}: {body}");
        }
    }
}

#[test]
fn thinking_that_a_model_writes_into_its_text_is_no_part_of_its_answer() {
    let place = sandbox();
    let model = LoopbackModel::start();
    write_gate(&place, &model, Wire::Completions, "id: MiniMax-M2");
    model.talk("s", |_: &Asked| Answer::text("<think>Erst überlegen.</think>\n\nDone."));
    let session = place.regatta(place.folder()).words("-p --model gate/MiniMax-M2");
    let done = session.arg(marker("s")).run().expect_code(0);
    assert_eq!(done.stdout, "Done.\n", "{done}");
}

#[test]
fn models_that_the_users_file_calls_the_same_are_named_by_their_common_id() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let url = model.base_url();
    let provider = |name: &str, id: &str, key: &str| {
        format!(
            "  {name}: {{ baseUrl: '{url}', {key}, api: openai-completions, models: [{{ id: {id} }}] }}\n"
        )
    };
    write_models(
        &place,
        &format!(
            "equivalence: {{ overrides: {{ gate/x1: big, locked/x2: big }} }}\nproviders:\n{}{}",
            provider("gate", "x1", "auth: none"),
            provider("locked", "x2", "apiKey: $NOT_SET_ANYWHERE"),
        ),
    );
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let finished = run_model(&place, &repository, "big").run().expect_code(0);
    assert!(!finished.stderr.contains("warning"), "{finished}");
    assert_eq!(model.asked("t1")[0].model(), "x1");
}
