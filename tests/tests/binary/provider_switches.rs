//! What the user's file says about how a server departs from its API, and which models it has.

use serde_json::json;
use tests::model::{Answer, Asked, Checks, LoopbackModel};

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
