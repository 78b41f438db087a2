use std::collections::BTreeSet;

use super::*;
use crate::trial::{brisk, clock};

/// A catalogue in whose environment these variables hold a key.
fn catalogue(variables: &[&'static str]) -> Catalogue {
    let variables: BTreeSet<_> = variables.iter().copied().collect();
    let terms = brisk();
    Catalogue::new(CatalogueConfig {
        keys: Arc::new(move |name| variables.contains(name).then(|| format!("key-{name}"))),
        prices: BTreeMap::new(),
        retry: terms.retry,
        watchdog: terms.watchdog,
        near_watchdog: Watchdog { first_event: Watchdog::NEAR, ..terms.watchdog },
        clock: clock(),
    })
}

fn route(text: &str, base_url: Option<&str>) -> ModelRoute {
    ModelRoute { base_url: base_url.map(str::to_owned), ..text.parse().unwrap() }
}

#[test]
fn each_provider_has_its_own_key_and_any_address_may_have_one() {
    let cases = [
        ("openai/gpt-5", None, &["OPENAI_API_KEY", "REGATTA_API_KEY"][..], Some("OPENAI_API_KEY")),
        ("openai/gpt-5", Some("http://h/v1"), &["REGATTA_API_KEY"], Some("REGATTA_API_KEY")),
        ("openai/gpt-5", Some("http://h/v1"), &[], None),
        (
            "my-gate/x",
            Some("http://h/v1"),
            &["MY_GATE_API_KEY", "REGATTA_API_KEY"],
            Some("MY_GATE_API_KEY"),
        ),
        ("ollama/x", None, &["REGATTA_API_KEY", "OPENAI_API_KEY"], None),
        ("ollama/x", None, &["OLLAMA_API_KEY"], Some("OLLAMA_API_KEY")),
    ];
    for (model, base_url, variables, expected) in cases {
        let endpoint = catalogue(variables).endpoint(&route(model, base_url)).unwrap();
        let key = expected.map(|name| Secret::new(&format!("key-{name}")).unwrap());
        assert_eq!(endpoint.key, key, "{model} {base_url:?} {variables:?}");
    }
}

#[test]
fn what_cannot_be_opened_says_what_is_missing() {
    let refused = |model: &str, base_url: Option<&str>| {
        let failure = catalogue(&[]).open(&route(model, base_url)).err().unwrap();
        (failure.class, failure.message)
    };
    let missing = "openrouter wants a key, and OPENROUTER_API_KEY is not set".to_owned();
    assert_eq!(refused("openrouter/x", None), (FailureClass::Auth, missing));
    let (class, message) = refused("olama/x", None);
    assert_eq!(class, FailureClass::Invalid);
    assert!(
        message.starts_with("no provider is called `olama`; did you mean ollama? known are "),
        "{message}"
    );
    assert!(message.ends_with("offline, and any other with a base URL"), "{message}");
    let (class, message) = refused("x/y", Some("localhost:1"));
    assert_eq!(class, FailureClass::Invalid);
    assert!(message.starts_with("`localhost:1` is no base URL: "), "{message}");
    let (class, message) = refused("offline/no/such.toml", None);
    assert_eq!(class, FailureClass::Invalid);
    let expected =
        "the scenario file no/such.toml cannot be read: No such file or directory (os error 2)";
    assert_eq!(message, expected);
}

#[test]
fn opening_a_model_sends_nothing_and_needs_no_runtime() {
    assert!(catalogue(&[]).open(&route("ollama/qwen3:8b", None)).is_ok());
    assert!(catalogue(&["OPENAI_API_KEY"]).open(&route("openai/x", None)).is_ok());
}

#[test]
fn a_server_on_this_machine_has_more_time_until_its_first_word() {
    let patience = |model: &str, base_url: Option<&str>| {
        let catalogue = catalogue(&["OPENAI_API_KEY"]);
        let endpoint = catalogue.endpoint(&route(model, base_url)).unwrap();
        catalogue.watchdog(&endpoint).first_event
    };
    for (model, base_url) in [
        ("ollama/x", None),
        ("ollama/x", Some("http://10.0.0.7:11434/v1")),
        ("mine/x", Some("http://127.0.0.1:8080/v1")),
    ] {
        assert_eq!(patience(model, base_url), Watchdog::NEAR, "{model} {base_url:?}");
    }
    for (model, base_url) in [("openai/x", None), ("mine/x", Some("https://example.org/v1"))] {
        assert_eq!(patience(model, base_url), brisk().watchdog.first_event, "{model}");
    }
}
