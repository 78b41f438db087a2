use protocol::{FailureClass, ModelRoute, ThinkingMode};
use providers::UserProviders as _;

use super::*;
use tempfile::TempDir;

fn user(models_yml: &str) -> (TempDir, UserModels) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_path_buf();
    let places = DataPaths::resolve(move |name| {
        (name == "REGATTA_HOME").then(|| home.clone().into_os_string())
    });
    let places = places.unwrap();
    std::fs::create_dir_all(folder.path().join("config")).unwrap();
    std::fs::write(&places.models_files()[0], models_yml).unwrap();
    (folder, UserModels::new(&places))
}

fn route(text: &str) -> ModelRoute {
    text.parse().unwrap()
}

const GATE: &str = "
providers:
  gate:
    baseUrl: https://gate.example/v1
    apiKey: '!echo canary-key'
    api: openai-completions
    headers: { X-Token: '!echo canary-header' }
    models:
      - { id: m, cost: { input: 3, output: 4 } }
      - { id: free }
      - { id: elsewhere, baseUrl: 'https://else.example/v2' }
  bad: { api: soap }
  openai: { modelOverrides: { gpt-5: { cost: { input: 7, output: 7 } }, gpt-5-mini: { baseUrl: 'https://else.example' } } }
";

#[test]
async fn a_key_given_goes_before_a_stored_one_and_that_before_the_file() {
    let (_folder, user) = user(GATE);
    assert_eq!(user.key_place("gate"), KeyPlace::File);
    user.prepare(["gate"]).await;
    let provider = user.provider(&route("gate/m")).unwrap().unwrap();
    assert_eq!(provider.headers, [("X-Token".to_owned(), "canary-header".to_owned())]);
    assert!(provider.key.is_some() && user.keys("gate").unwrap().is_empty());
    user.store().store("gate", "work", "canary-stored").unwrap();
    let (_other, without) = self::user("");
    assert_eq!(without.key_place("gate"), KeyPlace::Missing("GATE_API_KEY".to_owned()));
    let fresh = UserModels {
        models_files: user.models_files.clone(),
        facts_file: user.facts_file.clone(),
        store: user.store.clone(),
        file: OnceLock::new(),
        facts: OnceLock::new(),
        stored: OnceLock::new(),
        given: Mutex::default(),
        logins: Mutex::default(),
        renewals: Renewals::default(),
        commands: Mutex::default(),
    };
    assert_eq!(fresh.key_place("gate"), KeyPlace::Stored("work".to_owned()));
    assert_eq!(fresh.keys("gate").unwrap()[0].name, "the stored key work");
    fresh.give("gate", Secret::new("canary-given"));
    assert_eq!(fresh.key_place("gate"), KeyPlace::Given);
    assert_eq!(fresh.keys("gate").unwrap()[0].name, "the key of --api-key");
    let printed = format!("{user:?} {fresh:?} {provider:?} {:?}", fresh.keys("gate"));
    assert!(!printed.contains("canary-"), "{printed}");
}

#[test]
async fn a_value_that_cannot_be_had_names_its_key_and_a_fault_its_line() {
    let (_folder, user) = user(&GATE.replace("!echo canary-key", "!echo canary-key; exit 1"));
    user.prepare(["gate"]).await;
    let failure = user.provider(&route("gate/m")).unwrap_err();
    assert_eq!(failure.class, FailureClass::Auth);
    assert!(failure.message.starts_with("`providers.gate.apiKey` of "), "{}", failure.message);
    assert!(!failure.message.contains("canary"), "{}", failure.message);
    let fault = user.provider(&route("bad/m")).unwrap_err();
    assert!(fault.message.contains("models.yml:12: `providers.bad.api`"), "{}", fault.message);
    assert!(user.provider(&route("groq/m")).unwrap().is_none());
    assert!(user.notes().iter().any(|note| note.contains("the provider `bad` is not used")));
}

#[test]
fn a_file_of_which_nothing_is_used_says_so_where_a_model_of_it_is_asked() {
    let (_folder, user) = user("providers: { gate: { baseUrl: 'https://gate.example/v1'\n");
    let failure = user.provider(&route("gate/m")).unwrap_err();
    let message = &failure.message;
    assert!(message.contains("models.yml:1:20: "), "{message}");
    assert!(message.ends_with("; nothing in the file is used"), "{message}");
    // It says nothing of others.
    let elsewhere =
        ModelRoute { base_url: Some("http://127.0.0.1:1".to_owned()), ..route("gate/m") };
    for other in [elsewhere, route("groq/m")] {
        assert!(user.provider(&other).unwrap().is_none(), "{other}");
    }
}

#[test]
async fn a_model_is_asked_at_its_own_base_url_else_at_that_of_its_provider() {
    let (_folder, user) = user(GATE);
    user.prepare(["gate"]).await;
    let url = |name: &str| user.provider(&route(name)).unwrap().unwrap().base_url;
    assert_eq!(url("gate/m").as_deref(), Some("https://gate.example/v1"));
    assert_eq!(url("gate/elsewhere").as_deref(), Some("https://else.example/v2"));
    assert_eq!(url("openai/gpt-5-mini").as_deref(), Some("https://else.example"));
    assert_eq!(url("openai/gpt-5"), None);
    // Only those that stand in the file with an address are not looked for.
    let defined = ["gate/m", "gate/elsewhere", "gate/other", "openai/gpt-5-mini"];
    let defined = defined.map(|name| user.defines(&route(name)));
    assert_eq!(defined, [true, true, false, false]);
    // The price of the catalogue is that at the provider's own address.
    assert!(user.price(&route("openai/gpt-5-mini")).is_none());
    assert_eq!(user.notes().len(), 1, "{:?}", user.notes());
}

#[test]
fn a_price_of_the_file_goes_before_that_of_the_catalogue_and_unknown_stays_unknown() {
    let (_folder, user) = user(GATE);
    let price = |route: &str| user.price(&route.parse().unwrap());
    let input = |route: &str| price(route).map(|price| (price.input.as_dollars(), price.source));
    assert_eq!(input("gate/m"), Some((3.0, PriceSource::User)));
    assert_eq!(input("gate/free"), None);
    assert_eq!(input("openai/gpt-5"), Some((7.0, PriceSource::User)));
    assert_eq!(input("anthropic/claude-opus-5"), Some((5.0, PriceSource::Catalogue)));
    assert_eq!(input("openai/no-such-model"), None);
}

#[test]
fn facts_of_a_model_are_those_of_its_entry_and_one_of_the_users_own_has_a_window_and_a_limit() {
    let (_folder, user) = user(
        "
providers:
  gate:
    baseUrl: https://gate.example/v1
    auth: none
    api: anthropic-messages
    models:
      - { id: plain }
      - { id: claude-opus-5 }
      - id: full
        contextWindow: 9000
        maxTokens: 700
        input: [text]
        thinking: { mode: budget, defaultLevel: low }
        cost: { input: 1, output: 2, tiers: [{ inputTokensAbove: 100, input: 3, output: 4 }] }
  openai: { modelOverrides: { gpt-5: { contextWindow: 7 } } }
",
    );
    let plain = user.model_facts(&route("gate/plain"));
    assert_eq!((plain.context, plain.output, plain.images), (Some(128_000), Some(16_384), None));
    let same = user.model_facts(&route("gate/claude-opus-5"));
    assert_eq!((same.context, same.output, same.price), (Some(1_000_000), Some(128_000), None));
    let full = user.model_facts(&route("gate/full"));
    assert_eq!((full.context, full.output, full.images), (Some(9_000), Some(700), Some(false)));
    assert_eq!((full.thinking, full.thinking_mode), (Some(true), Some(ThinkingMode::Budget)));
    assert_eq!(full.default_thinking(), Some(protocol::ThinkingLevel::Low));
    let price = user.price(&route("gate/full")).unwrap();
    assert_eq!(price.tiers.at(101).map(|tier| tier.input), Rate::per_million(3.0));
    let changed = user.model_facts(&route("openai/gpt-5"));
    assert_eq!((changed.context, changed.output), (Some(7), Some(128_000)));
    assert_eq!(user.model_facts(&route("other/m")), ModelFacts::default());
}

#[test]
fn of_a_provider_without_keys_it_is_known_where_that_is_said() {
    let (folder, user) =
        user("providers:\n  gate: { baseUrl: https://g/v1, auth: none, models: [] }\n");
    let gate = user.provider(&route("gate/m")).unwrap().expect("it is in the file");
    let file = folder.path().join("config/models.yml");
    let said = format!("`providers.gate.auth: none` in {}", file.display());
    assert_eq!(gate.key.map(|key| key.name), Some(said));
}
