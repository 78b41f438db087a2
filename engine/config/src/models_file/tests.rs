use std::num::{NonZeroU32, NonZeroUsize};

use super::*;
use crate::secret::{Secret, ValueSource};

fn read(text: &str) -> ModelsFile {
    ModelsFile::of_text(text, Path::new("models.yml"))
}

fn faults(text: &str) -> Vec<String> {
    read(text).faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_provider_of_the_user_is_read_with_all_its_keys() {
    let file = read(
        "
providers:
  gate:
    baseUrl: http://models.example:8000/v1/
    allowHttp: true
    apiKey: $GATE_KEY
    api: openai-completions
    authHeader: true
    proxyUrl: http://proxy.example:3128
    limits: { concurrency: 4, requestsPerMinute: 60 }
    headers: { X-Team: blue, X-Token: '!pass token' }
    models:
      - id: big:70b
        name: Big
        reasoning: true
        thinking: { minLevel: low, maxLevel: high }
        input: [text, image]
        cost: { input: 0.5, output: 2, cacheRead: 0.05, tiers: [{ inputTokensAbove: 9, input: 1, output: 4 }] }
        contextWindow: 128000
        maxTokens: 8192
      - { id: small, tools: false }
  openai:
    modelOverrides: { gpt-x: { contextWindow: 1000 } }
",
    );
    assert_eq!((file.faults, file.warnings), (vec![], vec![]));
    let gate = &file.providers["gate"];
    assert_eq!(gate.base_url.as_deref(), Some("http://models.example:8000/v1"));
    assert_eq!(gate.api_key, Some(ValueSource::Variable("GATE_KEY".to_owned())));
    assert_eq!(gate.headers["X-Token"], ValueSource::Command("pass token".to_owned()));
    assert_eq!((gate.api, gate.auth_header), (Some(ApiName::OpenAiCompletions), true));
    let limits = gate.limits;
    assert_eq!(limits.concurrency.map(NonZeroUsize::get), Some(4));
    assert_eq!(limits.requests_per_minute.map(NonZeroU32::get), Some(60));
    assert_eq!(limits.tokens_per_minute, None);
    let big = &gate.models["big:70b"];
    assert_eq!(big.levels, ["low", "medium", "high"]);
    assert_eq!((big.context, big.output, big.images), (Some(128_000), Some(8_192), Some(true)));
    let price = big.price.unwrap();
    assert_eq!(
        (price.input, price.cache_read, price.cache_write),
        (500_000_000, 50_000_000, 500_000_000)
    );
    let [(above, tier)] = big.price_tiers.as_slice() else { panic!("{:?}", big.price_tiers) };
    assert_eq!((*above, tier.input, tier.cache_read), (9, 1_000_000_000, 1_000_000_000));
    assert_eq!(gate.models["small"].tools, Some(false));
    assert_eq!(file.providers["openai"].overrides["gpt-x"].context, Some(1000));
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list")]
fn a_fault_names_the_file_the_line_and_the_key_and_the_other_providers_stay() {
    let good = "  good: { baseUrl: https://h/v1, auth: none, api: openai-completions, models: [{ id: m }] }\n";
    for (bad, expected) in [
        ("{ api: soap }", "models.yml:3: `providers.bad.api` must be a known API: "),
        (
            "{ baseUrl: 'https://me:canary@h' }",
            "models.yml:3: `providers.bad.baseUrl` must be a URL",
        ),
        (
            "{ baseUrl: 'http://far.example' }",
            "models.yml:3: `providers.bad.baseUrl` is plain http",
        ),
        ("{ apiKey: [canary] }", "models.yml:3: `providers.bad.apiKey` must be a text"),
        ("{ headers: { 'a b': canary } }", "`providers.bad.headers.a b` must be a header"),
        ("{ proxyUrl: 'ftp://canary' }", "`providers.bad.proxyUrl` must be the URL of a proxy"),
        (
            "{ baseUrl: 'https://h', api: openai-completions, models: [{ id: a }] }",
            "`providers.bad` needs `apiKey` (or `oauth`, or `auth: none`) beside `models`",
        ),
        (
            "{ apiKey: canary, api: openai-completions, models: [{ id: a }] }",
            "`providers.bad` needs `baseUrl` beside `models`",
        ),
        (
            "{ baseUrl: 'https://h', auth: none, models: [{ id: a }] }",
            "`providers.bad` needs `api` beside `models`",
        ),
        (
            "{ baseUrl: 'https://h', models: [{ id: a }] }",
            "`providers.bad` needs `api` and `apiKey` (or `oauth`, or `auth: none`) beside `models`",
        ),
        (
            "{ compat: {}, models: [{ id: a }] }",
            "`providers.bad` needs `baseUrl`, `api` and `apiKey` (or ",
        ),
        (
            "{ models: [{ id: a }, { id: a }] }",
            "`providers.bad.models[1].id`: two models have the id `a`",
        ),
        ("{ models: [{ name: a }] }", "`providers.bad.models[0].id` must be the id of a model"),
        (
            "{ models: [{ id: a, cost: { input: -1, output: 1 } }] }",
            "`providers.bad.models[0].cost.input` must be a number of US dollars",
        ),
        (
            "{ models: [{ id: a, cost: { input: 1 } }] }",
            "`providers.bad.models[0].cost` must be a mapping with",
        ),
        (
            "{ models: [{ id: a, cost: { input: 1, output: 1, tiers: [{ input: 1, output: 1 }] } }] }",
            "`providers.bad.models[0].cost.tiers[0]` must be a mapping with `inputTokensAbove`",
        ),
        (
            "{ models: [{ id: a, cost: { input: 1, output: 1, tiers: 7 } }] }",
            "`providers.bad.models[0].cost.tiers` must be a list of up to 4",
        ),
        (
            "{ models: [{ id: a, thinking: { mode: loud } }] }",
            "`providers.bad.models[0].thinking.mode` must be one of effort, budget",
        ),
        (
            "{ models: [{ id: a, thinking: { defaultLevel: loud } }] }",
            "`providers.bad.models[0].thinking.defaultLevel` must be a thinking level",
        ),
        (
            "{ models: [{ id: a, contextWindow: 0 }] }",
            "`providers.bad.models[0].contextWindow` must be a whole number",
        ),
        (
            "{ models: [{ id: a, thinking: { levels: [loud] } }] }",
            "`providers.bad.models[0].thinking.levels` must be",
        ),
        ("{ models: { id: a } }", "`providers.bad.models` must be a list"),
        ("{ limits: 3 }", "`providers.bad.limits` must be a mapping"),
        (
            "{ limits: { requestsPerMinute: 0 } }",
            "`providers.bad.limits.requestsPerMinute` must be a whole number",
        ),
        ("{}", "`providers.bad` says nothing"),
        ("7", "`providers.bad` must be a mapping"),
    ] {
        let text = format!("providers:\n{good}  bad: {bad}\n");
        let file = read(&text);
        let told: Vec<_> = file.faults.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{bad}: {told:?}");
        assert!(
            told[0].contains(expected) && told[0].starts_with("models.yml:3: "),
            "{bad}: {told:?}"
        );
        assert!(!told[0].contains("canary"), "{told:?}");
        assert_eq!(file.faults[0].provider.as_deref(), Some("bad"));
        assert_eq!(file.providers.keys().collect::<Vec<_>>(), ["good"], "{bad}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_one_fault() {
    assert_eq!(read(""), ModelsFile::default());
    let tab = faults("providers:\n\tgate:\n\t\tbaseUrl: https://h\n");
    assert!(
        tab.len() == 1 && tab[0].contains("models.yml:2:") && tab[0].contains("tab"),
        "{tab:?}"
    );
    for text in ["[]", "providers: 3", "providers:\n  a: {\n", "providers:\n  a: 1\n  a: 2\n"] {
        assert_eq!(faults(text).len(), 1, "{text:?}");
    }
    let unnamed =
        faults("providers:\n  'a b': { api: openai-completions }\n  offline: { apiKey: x }\n");
    assert_eq!(unnamed.len(), 2, "{unnamed:?}");
}

#[test]
fn a_syntax_error_in_one_provider_leaves_the_others_alone() {
    let good = "  good: { baseUrl: https://h/v1, auth: none, api: openai-completions, models: [{ id: m }] }\n";
    let entry =
        "{ baseUrl: https://h/v1, auth: none, api: openai-completions, models: [{ id: m }] }";
    for (bad, expected) in [
        ("  bad:\n\tbaseUrl: https://h\n".to_owned(), "models.yml:4:2: `providers.bad`: tabs"),
        ("  bad:\n    # no\n    baseUrl: https://h\n\t api: x\n".to_owned(), "models.yml:5:"),
        ("  bad: { baseUrl: 'https://h\n".to_owned(), "`providers.bad`: "),
        ("  bad: { baseUrl: https://h\n".to_owned(), "`providers.bad`: "),
        ("  bad: *gone\n".to_owned(), "models.yml:3:"),
        (
            format!("  bad: {entry}\n  bad: {entry}\n"),
            "models.yml:4: `providers.bad`: it is there twice",
        ),
    ] {
        let other = "  other: { modelOverrides: { m: { contextWindow: 0 } } }\n";
        let text = format!("providers:\n{good}{bad}{other}equivalence: {{ exclude: [good/m] }}\n");
        let file = read(&text);
        let told: Vec<_> = file.faults.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{bad}: {told:?}");
        assert!(told[0].contains(expected), "{bad}: {told:?}");
        let line = 3 + bad.lines().count();
        assert!(
            told[1].starts_with(&format!("models.yml:{line}: `providers.other.modelOverrides.m")),
            "{bad}: {told:?}"
        );
        assert_eq!(file.providers.keys().collect::<Vec<_>>(), ["good"], "{bad}");
        assert_ne!(file.equivalence, Equivalence::default(), "{bad}");
    }
    // Where the provider is unknown, it is the whole file.
    for text in [
        "providers: { good: {}, bad: { }\n".to_owned(),
        format!("providers:\n{good}equivalence: {{\n"),
        format!("providers:\n{good} bad: {{}}\n"),
        format!("providers:\n{good}  'a b': {{\n"),
    ] {
        let file = read(&text);
        assert_eq!((file.providers.len(), file.faults.len()), (0, 1), "{text}: {:?}", file.faults);
        assert_eq!(file.faults[0].provider, None, "{text}");
    }
}

#[test]
fn unknown_keys_are_warnings_with_the_nearest_one_and_planned_ones_are_told() {
    let file = read(
        "providers:\n  a:\n    baseURL: https://h\n    apiKey: K\n    modelOverrides: { m: { premiumMultiplier: 2 } }\n",
    );
    assert_eq!(file.providers["a"].base_url, None);
    let told: Vec<_> = file.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "models.yml:3: there is no key `providers.a.baseURL`; did you mean `baseUrl`?",
            "models.yml:5: `providers.a.modelOverrides.m.premiumMultiplier` is not implemented yet and has no effect"
        ]
    );
}

#[test]
fn yaml_stands_before_json_and_json_may_have_tabs() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["models.yml", "models.json"].map(|name| folder.path().join(name));
    assert_eq!(ModelsFile::read(&files), ModelsFile::default());
    let json = "{\n\t\"providers\": {\n\t\t\"a\": { \"apiKey\": \"K\" }\n\t}\n}\n";
    std::fs::write(&files[1], json).unwrap();
    let read = ModelsFile::read(&files);
    assert_eq!((read.faults, read.providers.len()), (vec![], 1));
    std::fs::write(&files[0], "providers: { b: { apiKey: K } }\n").unwrap();
    assert_eq!(ModelsFile::read(&files).providers.keys().collect::<Vec<_>>(), ["b"]);
    std::fs::write(&files[0], vec![b'#'; 2 << 20]).unwrap();
    assert_eq!(ModelsFile::read(&files).faults.len(), 1);
}

#[test]
fn json_may_have_comments_and_a_mistake_in_it_names_its_line_and_provider() {
    let json = |text: &str| ModelsFile::of_text(text, Path::new("models.json"));
    let text = "// Mine.
{
  \"providers\": {
    /* The first
       of two. */
    \"one\": { \"apiKey\": \"a//b\" }, // its key
    \"two\": {
      \"baseUrl\": \"https://two.example/v1\", // the gateway
      \"api\": \"openai-completions\",
      \"apiKey\": \"K\",
      \"models\": [
        { \"id\": \"m\" },
        { \"id\": \"n\", \"baseUrl\": \"https://n.example\" },
      ],
    },
  },
}
";
    let file = json(text);
    assert_eq!((&file.faults, &file.warnings), (&vec![], &vec![]));
    assert_eq!(file.providers.keys().collect::<Vec<_>>(), ["one", "two"]);
    let key = ValueSource::NameOrText(Secret::new("a//b"));
    assert_eq!(file.providers["one"].api_key, Some(key));
    let models = &file.providers["two"].models;
    assert_eq!(models["n"].base_url.as_deref(), Some("https://n.example"));
    for (from, to, expected) in [
        ("\"K\",\n", "\"K\"\n", "11: in `providers.two`: "),
        ("completions\",", "completions,", "10: in `providers.two`: "),
        ("\"n\",", "\"n\"", "13: in `providers.two`: "),
        ("\"a//b\" },", "\"a//b\" ],", "6: in `providers.one`: "),
        ("openai-completions", "soap", "9: `providers.two.api` must be "),
        // What the members must be together is wrong in one of their lines.
        ("https://n.", "http://n.", "13: `providers.two.n.baseUrl` is plain http"),
        ("https://two.", "http://two.", "8: `providers.two.baseUrl` is plain http"),
        ("\"apiKey\": \"K\",", "", "11: `providers.two` needs `apiKey` (or "),
    ] {
        let file = json(&text.replace(from, to));
        let [fault] = file.faults.as_slice() else { panic!("{expected}: {:?}", file.faults) };
        let place = format!("{}: {}", fault.line, fault.message);
        assert!(place.starts_with(expected), "{expected}: {fault}");
        // Of an error of syntax it is known where in the line it is.
        assert_eq!(fault.column.is_some(), expected.contains(": in "), "{fault}");
        let column = fault.column.map(|column| format!(":{column}")).unwrap_or_default();
        let shown = format!("models.json:{}{column}: ", fault.line);
        assert!(fault.to_string().starts_with(&shown), "{fault}");
    }
}

#[test]
fn a_base_url_is_that_of_a_provider_or_of_a_model_and_shows_no_secret() {
    let own = "{ api: openai-completions, auth: none, models: [{ id: m, baseUrl: URL }] }";
    let of = "{ api: openai-completions, auth: none, baseUrl: URL, models: [{ id: m }] }";
    for provider in [own, of] {
        let read = |url: &str| {
            read(&format!("providers:\n  a: {}\n", provider.replace("URL", &format!("'{url}'"))))
        };
        for (url, stands) in [
            ("https://h/v1/", "https://h/v1"),
            ("https://h/v1/?api-version=2024-10-21", "https://h/v1?api-version=2024-10-21"),
            ("http://0.0.0.0:8080", "http://0.0.0.0:8080"),
        ] {
            let file = read(url);
            assert_eq!((&file.faults, &file.warnings), (&vec![], &vec![]), "{url}");
            let entry = &file.providers["a"];
            let found = entry.base_url.clone().or(entry.models["m"].base_url.clone());
            assert_eq!(found.as_deref(), Some(stands));
        }
        for (url, fault) in [
            ("http://h/v1", "baseUrl` is plain http to another machine"),
            ("https://h/v1?key=sekret", "baseUrl` must be a URL that begins with"),
            ("https://h/v1?api-version=1&key=sekret", "baseUrl` must be a URL that begins with"),
            ("https://ada:sekret@h", "baseUrl` must be a URL that begins with"),
        ] {
            let faults: Vec<_> = read(url).faults.iter().map(ToString::to_string).collect();
            assert!(faults.len() == 1 && faults[0].contains(fault), "{url}: {faults:?}");
            assert!(!faults[0].contains("sekret"), "{faults:?}");
        }
    }
}

#[test]
fn a_login_is_read_with_all_its_keys() {
    let file = read(
        "
providers:
  gate:
    baseUrl: https://gate.example/v1
    api: openai-completions
    oauth:
      authorizeUrl: https://gate.example/authorize?x=1
      tokenUrl: https://gate.example/token
      deviceUrl: https://gate.example/device
      redirectUrl: http://localhost:1455/done
      clientId: regatta
      clientSecret: $GATE_SECRET
      scopes: models offline
    models: [{ id: m }]
",
    );
    assert_eq!((&file.faults, &file.warnings), (&vec![], &vec![]));
    let oauth = file.providers["gate"].oauth.as_ref().unwrap();
    assert_eq!(oauth.scopes, ["models", "offline"]);
    assert_eq!(oauth.redirect_url.as_deref(), Some("http://localhost:1455/done"));
    assert_eq!(oauth.client_secret, Some(ValueSource::Variable("GATE_SECRET".to_owned())));
}

#[test]
fn a_login_that_cannot_be_is_a_fault_with_its_key() {
    for (bad, expected) in [
        ("{ auth: oauth }", "`providers.bad.oauth` must be set beside `auth: oauth`"),
        ("{ auth: token }", "`providers.bad.auth` must be `apiKey`, `oauth` or `none`"),
        (
            "{ oauth: { tokenUrl: 'https://h/t', clientId: c } }",
            "`providers.bad.oauth.authorizeUrl` or",
        ),
        (
            "{ oauth: { deviceUrl: 'https://h/d', clientId: c } }",
            "`providers.bad.oauth.tokenUrl` must be set",
        ),
        (
            "{ oauth: { deviceUrl: 'https://h/d', tokenUrl: 'https://h/t' } }",
            "oauth.clientId` must be set",
        ),
        (
            "{ oauth: { deviceUrl: 'http://h/d', tokenUrl: 'https://h/t', clientId: c } }",
            "oauth.deviceUrl` is plain http",
        ),
        (
            "{ oauth: { authorizeUrl: 'file:///x', tokenUrl: 'https://h/t', clientId: c } }",
            "oauth.authorizeUrl` must be a URL",
        ),
        (
            "{ oauth: { deviceUrl: 'https://h/d', tokenUrl: 'https://h/t', clientId: c, redirectUrl: 'http://h/' } }",
            "oauth.redirectUrl` must be a URL of this machine",
        ),
        (
            "{ oauth: { deviceUrl: 'https://h/d', tokenUrl: 'https://h/t', clientId: c, scopes: [1] } }",
            "oauth.scopes` must be a list of words",
        ),
    ] {
        let told = faults(&format!("providers:\n  bad: {bad}\n"));
        assert!(told.len() == 1 && told[0].contains(expected), "{bad}: {told:?}");
    }
}

#[test]
fn switches_of_a_server_are_data_and_those_of_a_model_stand_beside_those_of_its_provider() {
    let file = read(
        "
providers:
  gate:
    baseUrl: https://h/v1
    auth: none
    api: openai-completions
    disableStrictTools: true
    compat:
      supportsStore: false
      maxTokensField: max_completion_tokens
      reasoningEffortMap: { high: max }
      openRouterRouting: { only: [a, b] }
      extraBody: { seed: 7, heat: -0.5 }
    models:
      - { id: m, compat: { thinkingFormat: qwen }, headers: { X-Model: m } }
",
    );
    assert_eq!((file.faults, file.warnings), (vec![], vec![]));
    let gate = &file.providers["gate"];
    assert!(gate.disable_strict_tools);
    assert_eq!(
        serde_json::to_value(&gate.compat).unwrap(),
        serde_json::json!({
            "supportsStore": false,
            "maxTokensField": "max_completion_tokens",
            "reasoningEffortMap": { "high": "max" },
            "openRouterRouting": { "only": ["a", "b"] },
            "extraBody": { "seed": 7, "heat": -0.5 },
        })
    );
    let model = &gate.models["m"];
    assert_eq!(model.compat["thinkingFormat"], "qwen");
    assert_eq!(model.headers.len(), 1);
}

#[test]
fn a_switch_that_is_not_what_it_can_be_is_a_fault_and_one_that_is_not_known_or_of_no_use_is_told() {
    let text = |compat: &str| {
        format!(
            "providers:\n  gate: {{ baseUrl: 'https://h', api: openai-completions, compat: {compat} }}\n"
        )
    };
    for (compat, expected) in [
        ("3", "`providers.gate.compat` must be a mapping"),
        ("{ supportsStore: 1 }", "compat.supportsStore` must be `true` or `false`"),
        ("{ thinkingFormat: loud }", "compat.thinkingFormat` must be one of openai, openrouter"),
        ("{ reasoningEffortMap: { loud: a } }", "compat.reasoningEffortMap` must be a mapping of"),
        ("{ extraBody: [1] }", "compat.extraBody` must be a mapping"),
        ("{ extraBody: { model: x } }", "compat.extraBody` must not have `model`"),
    ] {
        let told = faults(&text(compat));
        assert!(told.len() == 1 && told[0].contains(expected), "{compat}: {told:?}");
    }
    let warnings = |text: &str| read(text).warnings.iter().map(ToString::to_string).collect();
    let told: Vec<String> = warnings(&text("{ supportStore: true }"));
    assert!(told[0].ends_with("did you mean `supportsStore`?"), "{told:?}");
    let other = text("{ supportsStore: true }").replace("openai-completions", "anthropic-messages");
    let told: Vec<String> = warnings(&other);
    assert!(told[0].contains("has an effect with the API openai-completions only"), "{told:?}");
}

#[test]
fn a_server_that_is_asked_for_its_models_has_an_address_an_api_and_a_kind() {
    let good = "providers:\n  box: { baseUrl: 'http://127.0.0.1:1/v1', api: openai-completions, discovery: { type: llama.cpp } }\n";
    let file = read(good);
    assert_eq!((file.faults, file.warnings), (vec![], vec![]));
    assert_eq!(file.providers["box"].discovery, Some(DiscoveryKind::LlamaCpp));
    assert_eq!(faults("providers:\n  ollama: { discovery: { type: ollama } }\n"), [""; 0]);
    for (bad, expected) in [
        (
            "{ discovery: { type: ollama } }",
            "`providers.box` needs `baseUrl` and `api` beside `discovery`",
        ),
        (
            "{ baseUrl: 'http://127.0.0.1:1', discovery: { type: ollama } }",
            "`providers.box` needs `api` beside `discovery`",
        ),
        ("{ discovery: { type: soap } }", "discovery.type` must be `ollama`, `llama.cpp` or"),
        ("{ discovery: {} }", "`providers.box.discovery` must be a mapping with `type`"),
        ("{ discovery: ollama }", "`providers.box.discovery` must be a mapping"),
    ] {
        let told = faults(&format!("providers:\n  box: {bad}\n"));
        assert!(told.len() == 1 && told[0].contains(expected), "{bad}: {told:?}");
    }
}

#[test]
fn how_a_model_is_told_how_much_to_think_and_how_much_it_is_to_think_are_read() {
    let text = "
providers:
  gate:
    modelOverrides:
      a: { thinking: { mode: budget } }
      b: { reasoning: false, thinking: { levels: [high, off] , defaultLevel: high } }
      c: { thinking: { maxLevel: low, mode: anthropic-budget-effort } }
      d: { reasoning: true }
";
    let file = read(text);
    assert_eq!((&file.faults, &file.warnings), (&vec![], &vec![]));
    let said = |id: &str| {
        let entry = &file.providers["gate"].overrides[id];
        let mode = entry.thinking_mode.map(protocol::ThinkingMode::as_str);
        (entry.thinking, entry.levels.join(" "), mode, entry.default_level.as_deref())
    };
    assert_eq!(said("a"), (Some(true), String::new(), Some("budget"), None));
    assert_eq!(said("b"), (Some(false), "off high".to_owned(), None, Some("high")));
    let both = Some("anthropic-budget-effort");
    assert_eq!(said("c"), (Some(true), "minimal low".to_owned(), both, None));
    assert_eq!(said("d"), (Some(true), String::new(), None, None));
}

#[test]
fn which_models_are_the_same_is_read_and_a_mistake_there_leaves_the_providers_alone() {
    let text = |equivalence: &str| {
        format!("equivalence: {equivalence}\nproviders:\n  a: {{ apiKey: K }}\n")
    };
    let file = read(&text("{ overrides: { gate/x: big }, exclude: [gate/y:1] }"));
    assert_eq!((&file.faults, &file.warnings), (&vec![], &vec![]));
    assert_eq!(file.equivalence.overrides["gate/x"], "big");
    assert!(file.equivalence.exclude.contains("gate/y:1"));
    for (wrong, expected) in [
        ("3", "`equivalence` must be a mapping"),
        ("{ overrides: { x: big } }", "`equivalence.overrides.x` must be an id"),
        ("{ overrides: { gate/x: 7 } }", "`equivalence.overrides.gate/x` must be an id"),
        ("{ exclude: [x] }", "`equivalence.exclude` must be a list of models"),
        ("{ excluded: [] }", "there is no key `equivalence.excluded`; did you mean `exclude`?"),
    ] {
        let file = read(&text(wrong));
        let told: Vec<_> = file.warnings.iter().map(ToString::to_string).collect();
        assert!(told.len() == 1 && told[0].contains(expected), "{wrong}: {told:?}");
        assert_eq!((file.faults.len(), file.providers.len()), (0, 1), "{wrong}");
        assert_eq!(file.equivalence, Equivalence::default(), "{wrong}");
    }
}

#[test]
fn a_switch_without_an_effect_is_told() {
    let file = read(
        "providers:\n  gate: { baseUrl: 'https://h', compat: { supportsMultipleSystemMessages: true } }\n",
    );
    let told: Vec<_> = file.warnings.iter().map(ToString::to_string).collect();
    assert!(
        told.len() == 1 && told[0].contains("has no effect: requests have one system message"),
        "{told:?}"
    );
}

#[test]
fn a_file_of_another_editor_is_read_and_bytes_that_are_not_utf_8_are_a_fault_of_their_line() {
    let of = |bytes: &[u8]| ModelsFile::of_bytes(bytes.to_vec(), Path::new("models.yml"));
    let file = of(b"\xef\xbb\xbfproviders:\r\n  gate:\r\n    baseUrl: https://h\r\n");
    assert_eq!((file.faults.len(), file.providers.len()), (0, 1), "{file:?}");
    let file = of(b"providers:\n  gate:\n    baseUrl: https://h\xe4\n");
    let told: Vec<_> = file.faults.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["models.yml:3: it is not UTF-8"]);
    for (bytes, told) in
        [(&b"\xff\xfep\0"[..], "UTF-16,"), (b"p\0:\0\n\0", "UTF-16 without a byte")]
    {
        let told = format!("models.yml:1: it is {told}");
        assert!(of(bytes).faults[0].to_string().starts_with(&told), "{bytes:?}");
    }
}
