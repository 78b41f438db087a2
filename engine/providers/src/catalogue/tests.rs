use std::collections::BTreeSet;

use super::*;
use crate::model_facts::ModelFacts;
use crate::test_support::clock;
use crate::user_provider::NoUserProviders;

/// A catalogue in whose environment these variables hold a key.
fn catalogue(variables: &[&'static str]) -> Catalogue {
    let variables: BTreeSet<_> = variables.iter().copied().collect();
    Catalogue::new(CatalogueConfig {
        keys: Arc::new(move |name| variables.contains(name).then(|| format!("key-{name}"))),
        user: Arc::new(NoUserProviders),
        prices: BTreeMap::new(),
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
        ("openai/gpt-5", Some("https://h/v1"), &["REGATTA_API_KEY"], Some("REGATTA_API_KEY")),
        ("openai/gpt-5", Some("http://h/v1"), &[], None),
        ("google/x", None, &["GEMINI_API_KEY", "GOOGLE_API_KEY"], Some("GEMINI_API_KEY")),
        ("google/x", None, &["GOOGLE_API_KEY"], Some("GOOGLE_API_KEY")),
        (
            "anthropic/x",
            Some("http://127.0.0.1:1"),
            &["ANTHROPIC_API_KEY"],
            Some("ANTHROPIC_API_KEY"),
        ),
        (
            "my-gate/x",
            Some("https://h/v1"),
            &["MY_GATE_API_KEY", "REGATTA_API_KEY"],
            Some("MY_GATE_API_KEY"),
        ),
        ("ollama/x", None, &["REGATTA_API_KEY", "OPENAI_API_KEY"], None),
        ("ollama/x", None, &["OLLAMA_API_KEY"], Some("OLLAMA_API_KEY")),
    ];
    for (model, base_url, variables, expected) in cases {
        let (catalogue, user) = (catalogue(variables), UserProvider::default());
        let route = route(model, base_url);
        let access = catalogue.first_access(&route, &user).unwrap();
        let endpoint = catalogue.endpoint(&route, &user, access).unwrap();
        let key = expected.map(|name| ApiKey::new(&format!("key-{name}")).unwrap());
        assert_eq!(endpoint.key, key, "{model} {base_url:?} {variables:?}");
    }
}

#[test]
fn no_key_is_sent_over_plain_http_to_another_machine() {
    for url in ["http://h/v1", "http://10.0.0.7:11434/v1", "http://localhost.example.org/"] {
        let refused = catalogue(&["MY_GATE_API_KEY"]).open(&route("my-gate/x", Some(url)));
        let failure = refused.err().unwrap();
        assert_eq!(failure.class, FailureClass::Invalid, "{url}");
        assert_eq!(failure.advice.as_deref(), Some("use https, or unset MY_GATE_API_KEY"));
        assert!(catalogue(&[]).open(&route("my-gate/x", Some(url))).is_ok(), "{url}");
    }
    for url in ["https://h/v1", "http://127.0.0.1:1/v1", "http://localhost:1/v1"] {
        let opened = catalogue(&["MY_GATE_API_KEY"]).open(&route("my-gate/x", Some(url)));
        assert!(opened.is_ok(), "{url}");
    }
}

#[test]
fn each_known_provider_is_asked_over_its_api() {
    let api = |model: &str| {
        let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY"];
        info(model, None, &keys).api
    };
    assert_eq!(api("anthropic/claude-sonnet-4-5"), "anthropic-messages");
    assert_eq!(api("openai/gpt-5"), "openai-responses");
    assert_eq!(api("openai-completions/gpt-4.1"), "openai-completions");
    assert_eq!(api("google/gemini-2.5-pro"), "google-generative-ai");
    assert_eq!(api("groq/x"), "openai-completions");
}

#[test]
fn what_cannot_be_opened_says_what_is_missing() {
    let refused = |model: &str, base_url: Option<&str>| {
        let failure = catalogue(&[]).open(&route(model, base_url)).err().unwrap();
        (failure.class, failure.message)
    };
    let missing = "openrouter needs an API key, and OPENROUTER_API_KEY is not set".to_owned();
    assert_eq!(refused("openrouter/x", None), (FailureClass::Auth, missing));
    let (class, message) = refused("olama/x", None);
    assert_eq!(class, FailureClass::Invalid);
    assert!(message.starts_with("no provider is called `olama` (known are "), "{message}");
    let end = "offline, and any other with a base URL); try: --model ollama/x";
    assert!(message.ends_with(end), "{message}");
    let (class, message) = refused("x/y", Some("localhost:1"));
    assert_eq!(class, FailureClass::Invalid);
    assert!(message.starts_with("`localhost:1` is not a base URL: "), "{message}");
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

fn info(model: &str, base_url: Option<&str>, variables: &[&'static str]) -> ProviderInfo {
    catalogue(variables).open(&route(model, base_url)).unwrap().info().clone()
}

#[test]
fn a_server_on_this_machine_is_a_local_one() {
    let location = |model: &str, base_url| info(model, base_url, &["OPENAI_API_KEY"]).location;
    for (model, base_url) in [
        ("ollama/x", None),
        ("ollama/x", Some("http://10.0.0.7:11434/v1")),
        ("mine/x", Some("http://127.0.0.1:8080/v1")),
    ] {
        assert_eq!(location(model, base_url), ModelLocation::Local, "{model} {base_url:?}");
    }
    for (model, base_url) in [("openai/x", None), ("mine/x", Some("https://example.org/v1"))] {
        assert_eq!(location(model, base_url), ModelLocation::Remote, "{model}");
    }
}

#[test]
fn an_account_is_a_provider_an_address_and_a_key_and_never_shows_the_key() {
    let account = |model: &str, base_url, variables: &[&'static str]| {
        info(model, base_url, variables).account.to_string()
    };
    let url = Some("https://example.org/v1/?key=secret");
    let cases = [
        (account("ollama/x", None, &[]), "ollama"),
        (account("ollama/y", None, &[]), "ollama"),
        (account("openai/x", None, &["OPENAI_API_KEY"]), "openai with the key in OPENAI_API_KEY"),
        (account("mine/x", url, &[]), "mine at https://example.org/v1"),
        (
            account("mine/x", url, &["REGATTA_API_KEY"]),
            "mine at https://example.org/v1 with the key in REGATTA_API_KEY",
        ),
    ];
    for (account, expected) in cases {
        assert_eq!(account, expected);
    }
}

/// A provider `gate` with a header and a key.
struct Gate;

impl UserProviders for Gate {
    fn provider(&self, route: &ModelRoute) -> Result<Option<UserProvider>, Failure> {
        let gate = UserProvider {
            base_url: Some("https://gate.example/v1".to_owned()),
            api: Some("anthropic-messages"),
            headers: vec![("X-Token".to_owned(), "canary-header".to_owned())],
            auth_header: true,
            key: Some(NamedKey::new("the apiKey in models.yml", "canary-key")),
            ..UserProvider::default()
        };
        Ok((route.provider == "gate").then_some(gate))
    }

    fn keys(&self, _provider: &str) -> Result<Vec<NamedKey>, Failure> {
        Ok(Vec::new())
    }

    fn price(&self, _route: &ModelRoute) -> Option<Price> {
        None
    }

    fn model_facts(&self, _route: &ModelRoute) -> ModelFacts {
        ModelFacts { levels: vec!["low".to_owned()], ..ModelFacts::default() }
    }
}

#[test]
fn what_is_configured_for_a_provider_is_sent_to_no_other_address() {
    let catalogue = Catalogue::new(CatalogueConfig {
        keys: Arc::new(|_name| None),
        user: Arc::new(Gate),
        prices: BTreeMap::new(),
        clock: clock(),
    });
    let found = |base_url| {
        let route = route("gate/m", base_url);
        let user = catalogue.user(&route).unwrap();
        let access = catalogue.first_access(&route, &user).unwrap();
        let endpoint = catalogue.endpoint(&route, &user, access).unwrap();
        (
            endpoint.key.is_some(),
            user.has_own_client(),
            endpoint.api.name(),
            endpoint.base.to_string(),
        )
    };
    let own = (true, true, "anthropic-messages", "https://gate.example/v1".to_owned());
    assert_eq!(found(None), own);
    let elsewhere = (false, false, "anthropic-messages", "https://else.example/v1".to_owned());
    assert_eq!(found(Some("https://else.example/v1")), elsewhere);
}
