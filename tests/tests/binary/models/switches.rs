//! What the user's file says about how a server departs from its API, and which models it has.

use serde_json::{Value, json};
use test_limit::{by_depth, seed};
use tests::model::{Answer, Asked, Checks, LoopbackModel, Wire, marker};
use tests::sandbox::{Plan, Sandbox};

use super::directory::{run_model, write_models};
use crate::binary::sandbox;

/// A model that the user's file describes, the level at which it thinks, and what is to be in requests to
/// it, by the path in their body. `null` stands for nothing.
struct Switched {
    wire: Wire,
    described: &'static str,
    level: &'static str,
    sends: Vec<(&'static str, Value)>,
}

/// The limit of answers that the file says is in requests.
fn limits() -> Vec<Switched> {
    let limit = |described, limit: u32| Switched {
        wire: Wire::Messages,
        described,
        level: "",
        sends: vec![("/max_tokens", json!(limit))],
    };
    vec![
        limit("id: m, maxTokens: 4096", 1_365),
        limit("id: claude-opus-5, maxTokens: 30000", 10_000),
        limit("id: m", 5_461),
        limit("id: claude-opus-5", 42_666),
    ]
}

/// A model that thinks by the file alone is told how much over every API, and one that does not is told
/// nothing.
fn thinking() -> Vec<Switched> {
    let told = |wire| match wire {
        Wire::Completions => ("/reasoning_effort", json!("high")),
        Wire::Responses => ("/reasoning/effort", json!("high")),
        Wire::Messages => ("/thinking/budget_tokens", json!(15_360)),
        Wire::Gemini => ("/generationConfig/thinkingConfig/thinkingLevel", json!("HIGH")),
    };
    let of = |wire, described, sends| Switched { wire, described, level: ":high", sends };
    let thinks = |wire| of(wire, "id: m, reasoning: true", vec![told(wire)]);
    let nothing = ["/reasoning_effort", "/reasoning", "/thinking", "/generationConfig"];
    let not = |wire| {
        let nothing = nothing.map(|path| (path, Value::Null)).to_vec();
        of(wire, "id: claude-opus-5, reasoning: false", nothing)
    };
    Wire::ALL.into_iter().flat_map(|wire| [thinks(wire), not(wire)]).collect()
}

/// The mode and the default level of the file say how a model thinks.
fn modes() -> Vec<Switched> {
    let of = |wire, described, level, sends| Switched { wire, described, level, sends };
    let effort = |effort| ("/output_config", json!({ "effort": effort }));
    vec![
        of(
            Wire::Messages,
            "id: m, maxTokens: 90000, thinking: { mode: anthropic-adaptive, defaultLevel: low }",
            "",
            vec![("/thinking", json!({ "type": "adaptive" })), effort("low")],
        ),
        of(
            Wire::Messages,
            "id: m, maxTokens: 90000, thinking: { mode: anthropic-budget-effort, defaultLevel: low }",
            ":medium",
            vec![("/thinking/budget_tokens", json!(8_192)), effort("medium")],
        ),
        of(
            Wire::Gemini,
            "id: m, maxTokens: 90000, thinking: { mode: budget, defaultLevel: low }",
            "",
            vec![("/generationConfig/thinkingConfig/thinkingBudget", json!(2_048))],
        ),
    ]
}

#[test]
fn what_the_users_file_says_of_limits_and_thinking_is_in_the_requests_over_every_api() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let rows: Vec<_> = limits().into_iter().chain(thinking()).chain(modes()).collect();
    let (mut yaml, mut plan) = ("providers:\n".to_owned(), Plan::default());
    for (at, Switched { wire, described, level, .. }) in rows.iter().enumerate() {
        let (name, url, api) = (format!("gate{at}"), model.url_of(*wire), wire.name());
        yaml += &format!(
            "  {name}: {{ baseUrl: '{url}', auth: none, api: {api}, models: [{{ {described} }}] }}\n"
        );
        let id = described.split([':', ',']).nth(1).expect("it has an id").trim();
        model.talk(&name, |_: &Asked| Answer::yields(&json!("done")));
        plan = plan.agent(&name, &marker(&name)).with(&format!("model = '{name}/{id}{level}'"));
    }
    write_models(&place, &yaml);
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    assert!(!finished.stderr.contains("warning"), "{finished}");
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    for (at, Switched { wire, described, level, sends }) in rows.iter().enumerate() {
        let body = model.asked(&format!("gate{at}")).remove(0).native;
        for (path, value) in sends {
            let sent = body.pointer(path).unwrap_or(&Value::Null);
            assert_eq!(sent, value, "{wire:?}, `{described}` at `{level}`: {path}: {body}");
        }
    }
}

#[test]
fn switches_of_the_users_file_change_the_requests_to_its_server() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.check(Checks::None);
    write_models(
        &place,
        &format!(
            "equivalence: {{ overrides: {{ gate/m: big }} }}\n\
             providers:\n  gate:\n    baseUrl: {}\n    auth: none\n    api: openai-completions\n    \
             disableStrictTools: true\n    compat: {{ supportsStore: true, supportsUsageInStreaming: \
             false, extraBody: {{ seed: 7 }} }}\n    models:\n      - {{ id: m, reasoning: true, \
             thinking: {{ minLevel: low, maxLevel: high }}, compat: {{ thinkingFormat: openrouter, \
             reasoningEffortMap: {{ high: most }} }} }}\n",
            model.base_url()
        ),
    );
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let finished = run_model(&place, &repository, "big:high").run().expect_code(0);
    assert!(!finished.stderr.contains("warning"), "{finished}");
    let body = model.asked("t1")[0].native.clone();
    assert_eq!(body["model"], "m", "by the id that the file gives it: {body}");
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

#[test]
fn a_model_without_images_gets_a_text_in_their_place_over_every_api() {
    let cells = Wire::ALL.into_iter().enumerate();
    let cells = cells.map(|(at, wire)| [(wire, at % 2 == 0), (wire, at % 2 == 1)]);
    // In quick depth each API once, and both inputs twice.
    let all: Vec<_> = cells.collect();
    let half = usize::try_from(seed() % 2).unwrap_or(0);
    let some: Vec<_> = all.iter().map(|two| two[half]).collect();
    for (wire, sees) in by_depth(some, all.concat()) {
        let input = if sees { "[text, image]" } else { "[text]" };
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
        assert_eq!(body.contains("iVBORw0KGgo"), sees, "{wire:?}: {body}");
        assert_eq!(body.contains("An image is left out here"), !sees, "{wire:?}: {body}");
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
