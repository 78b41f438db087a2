use engine::ports::Models as _;
use protocol::ModelRoute;
use serde_json::json;

use super::*;
use crate::test_support::{Loopback, Reply, ReplyEnd, catalogue, closed};

/// However busy the machine is, a server that answers does so by then.
const LONG: Duration = Duration::from_secs(60);

async fn looked(limit: Duration, model: &str, base_url: Option<&str>) -> Result<(), Failure> {
    let catalogue = catalogue();
    let route: ModelRoute = model.parse().unwrap();
    let route = ModelRoute { base_url: base_url.map(str::to_owned), ..route };
    assert!(catalogue.open(&route).is_ok());
    catalogue.preflight_within(limit, &route).await
}

/// What a server with these models answers.
fn models(names: &[&str]) -> Reply {
    let models: Vec<_> =
        names.iter().map(|name| json!({ "id": name, "object": "model" })).collect();
    Reply::new(200, "application/json", &json!({ "object": "list", "data": models }).to_string())
}

async fn at(reply: Reply, model: &str) -> Result<(), String> {
    let server = Loopback::start(vec![reply]).await;
    let looked = looked(LONG, model, Some(&server.url)).await;
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].path.as_str()), (1, "/v1/models"));
    assert_eq!(seen[0].headers["authorization"], "Bearer key");
    looked.map_err(|failure| {
        assert_eq!(failure.class, FailureClass::Invalid);
        failure.message.replace(&server.url, "URL")
    })
}

#[test]
async fn a_model_that_is_not_there_is_named_with_those_that_are() {
    let names = ["qwen3:8b", "b", "c", "d", "e", "f\u{1b}"];
    assert_eq!(at(models(&names), "ollama/qwen3:8b").await, Ok(()));
    assert_eq!(at(models(&["llama3:latest"]), "ollama/llama3").await, Ok(()));
    // The nearest name is among those that it has, and what to try.
    let near = "at URL has no model `qwen3:9b` (it has b, c, d, e, qwen3:8b, …); try: --model";
    let unlisted = "define the model in models.yml, if it accepts the name all the same";
    for provider in ["ollama", "gw", "openai"] {
        let found = at(models(&names), &format!("{provider}/qwen3:9b")).await;
        let or = if provider == "ollama" { String::new() } else { format!(" (or {unlisted})") };
        assert_eq!(found, Err(format!("{provider} {near} {provider}/qwen3:8b{or}")));
    }
    let far = |provider: &str| {
        format!("{provider} at URL has no model `zzzzzz` (it has qwen3:8b, b, c, d, e, …)")
    };
    for provider in ["vllm", "lm-studio", "gw", "openrouter"] {
        let found = at(models(&names), &format!("{provider}/zzzzzz")).await;
        assert_eq!(found, Err(format!("{}; {unlisted}", far(provider))));
    }
    let pulled = format!("{}; try: ollama pull zzzzzz", far("ollama"));
    assert_eq!(at(models(&names), "ollama/zzzzzz").await, Err(pulled));
}

#[test]
async fn who_may_have_more_than_is_listed_is_not_refused() {
    // llama.cpp answers for whatever it has loaded, by whatever name.
    assert_eq!(at(models(&["/models/x.gguf"]), "llama.cpp/alias").await, Ok(()));
    let llama = json!({ "data": [{ "id": "/models/x.gguf", "owned_by": "llamacpp" }] });
    let page = json!({ "data": [{ "id": "a" }], "has_more": true });
    for list in [llama, page] {
        let reply = Reply::new(200, "application/json", &list.to_string());
        assert_eq!(at(reply, "gw/alias").await, Ok(()), "{list}");
    }
    for names in [&["openai/*"][..], &["models/alias"], &["acme/alias", "b"]] {
        assert_eq!(at(models(names), "gw/alias").await, Ok(()), "{names:?}");
    }
}

#[test]
async fn what_is_not_certain_is_no_failure() {
    let large = format!("{{\"data\":[{}", " ".repeat(MAX_LEN));
    for reply in [
        Reply::new(404, "text/plain", "404"),
        Reply::new(401, "application/json", "{}"),
        Reply::new(200, "text/html", "<html>"),
        Reply::new(200, "application/json", "{\"data\":[{\"name\":1}]}"),
        Reply::new(200, "application/json", &large),
        models(&[]),
        models(&["other"]).then(ReplyEnd::Lost),
    ] {
        assert_eq!(at(reply, "ollama/m").await, Ok(()));
    }
    // Only the limit ends this one.
    let slow = Reply::new(200, "application/json", "{").then(ReplyEnd::Silent);
    let server = Loopback::start(vec![slow]).await;
    assert_eq!(looked(Duration::from_millis(50), "ollama/m", Some(&server.url)).await, Ok(()));
}

#[test]
async fn when_nobody_listens_it_is_said_at_once_and_what_to_do() {
    let (_closed, url) = closed();
    // Who is waited for until the limit is over is no failure.
    let failure = looked(LONG, "ollama/x", Some(&url)).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Transient);
    let refused = format!("at {url} cannot be reached: Connection refused");
    assert_eq!(failure.message, format!("ollama {refused}; start it with `ollama serve`"));
    let failure = looked(LONG, "acme/x", Some(&url)).await.unwrap_err();
    let hint = "start it, or correct its base URL";
    assert_eq!(failure.message, format!("acme {refused}; {hint}"));
}

#[test]
async fn a_hosted_model_and_a_script_are_not_looked_for() {
    assert_eq!(looked(LONG, "openai/gpt-5", None).await, Ok(()));
}
