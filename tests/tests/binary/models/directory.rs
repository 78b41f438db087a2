//! The models that can be used: the catalogue, the user's file, their selection and their cost.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_limit::{Depth, depth, sample};
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Invocation, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Writes the user's file of models.
pub(crate) fn write_models(place: &Sandbox, yaml: &str) {
    let file = place.home().config_file().with_file_name("models.yml");
    std::fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder is made");
    std::fs::write(file, yaml).expect("a file is written");
}

/// Addresses of the servers that are looked for on this machine, without listeners, for the file
/// of models. The machine may have such servers.
const NO_SERVERS: &str = "
  ollama: { baseUrl: 'http://127.0.0.1:9/v1' }
  llama.cpp: { baseUrl: 'http://127.0.0.1:9/v1' }
  lm-studio: { baseUrl: 'http://127.0.0.1:9/v1' }
";

/// Runs one task of the model `name`.
pub(crate) fn run_model(place: &Sandbox, repository: &Repository, name: &str) -> Invocation {
    let run = place.regatta(repository.root()).words("run --json --model").arg(name);
    run.arg(format!("t1=Do what is to be done. {}", marker("t1")))
}

/// Returns the one document that a command prints.
fn document(run: Invocation) -> Value {
    let finished = run.run().expect_code(0);
    serde_json::from_str(&finished.stdout).expect("it is one JSON document")
}

fn names(document: &Value) -> Vec<&str> {
    let models = document["models"].as_array().expect("there is a list").iter();
    models.map(|model| model["model"].as_str().expect("it is a text")).collect()
}

#[test]
fn a_provider_of_the_users_file_works_like_a_built_in_one_and_its_price_is_the_cost() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.demand_key("canary-file-key");
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    write_models(
        &place,
        &format!(
            "providers:\n  gate:\n    baseUrl: {}\n    apiKey: canary-file-key\n    api: openai-completions\n    \
             models:\n      - {{ id: acme/big:70b, cost: {{ input: 1000, output: 1000 }} }}\n      - {{ id: plain }}\n",
            model.base_url()
        ),
    );
    let finished = run_model(&place, &repository, "big:70b").run().expect_code(0);
    assert!(finished.stderr.contains("`big:70b` is the model gate/acme/big:70b"), "{finished}");
    assert_eq!(model.asked("t1")[0].model(), "acme/big:70b");
    let usage = &finished.task("t1")["usage"];
    let count = |name: &str| usage[name].as_u64().expect("it is a number");
    let tokens = count("input") + count("output") + count("cache_read") + count("cache_write");
    let cost = usage["cost"].as_f64().expect("the price is known");
    #[expect(clippy::cast_precision_loss, reason = "a few tokens")]
    let expected = tokens as f64 / 1000.0;
    assert!(tokens > 0 && (cost - expected).abs() < 1e-9, "{usage}");
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let unknown = run_model(&place, &repository, "gate/plain").run().expect_code(0);
    assert_eq!(unknown.task("t1")["usage"]["cost"], Value::Null, "what is unknown is not 0");
}

#[test]
fn a_thinking_level_that_a_model_lacks_becomes_the_nearest_one_and_is_told() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let models = "{ id: two, reasoning: true, thinking: { levels: [low, high] } }, \
                  { id: none, reasoning: false }";
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{}', auth: none, api: openai-completions, models: [{models}] }}\n",
            model.base_url()
        ),
    );
    let rows = [
        ("gate/two:high", None, json!("high")),
        (
            "gate/two:medium",
            Some("gate/two has no thinking level `medium`: `low` is used"),
            json!("low"),
        ),
        (
            "gate/none:high",
            Some("gate/none has no thinking level `high`: `off` is used"),
            Value::Null,
        ),
    ];
    let mut plan = Plan::default();
    for (at, (name, ..)) in rows.iter().enumerate() {
        let talk = format!("t{at}");
        model.talk(&talk, |_: &Asked| Answer::yields(&json!("done")));
        plan = plan.agent(&talk, &marker(&talk)).with(&format!("model = {name:?}"));
    }
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    let lines = finished.stderr.lines().filter(|line| line.contains("has no thinking level"));
    let lines: Vec<_> = lines.map(|line| line.trim_start_matches("note: ")).collect();
    let told: Vec<_> = rows.iter().filter_map(|(_, told, _)| *told).collect();
    assert_eq!(lines, told, "{finished}");
    for (at, (name, _, sent)) in rows.iter().enumerate() {
        assert_eq!(model.asked(&format!("t{at}"))[0].native["reasoning_effort"], *sent, "{name}");
    }
}

#[test]
fn models_are_listed_with_the_reason_why_others_cannot_be_used() {
    let place = sandbox();
    let repository = place.repository();
    let gate =
        "{ baseUrl: https://h/v1, auth: none, api: openai-completions, models: [{ id: m }] }";
    write_models(
        &place,
        &format!("providers:\n  gate: {gate}\n  bad: {{ api: soap }}{NO_SERVERS}"),
    );
    let models = |words: &str| place.regatta(repository.root()).words(words);
    let usable = document(models("models --json"));
    assert_eq!(names(&usable), ["gate/m"]);
    assert!(
        usable["warnings"][0]
            .as_str()
            .is_some_and(|it| it.contains("models.yml:3: `providers.bad.api`")),
        "{usable}"
    );
    let all = document(models("models --all --json"));
    assert!(names(&all).len() > 80 && names(&all).contains(&"anthropic/claude-opus-5"));
    let opus = document(models("models anthropic/claude-opus-5 --all --json"));
    let opus = &opus["models"][0];
    assert_eq!(opus["usable"], false);
    assert!(
        opus["why"].as_str().is_some_and(|why| why.contains("regatta login anthropic")),
        "{opus}"
    );
    assert_eq!(
        (&opus["facts"]["context"], &opus["facts"]["price"]["input"]),
        (&json!(1_000_000), &json!(5.0))
    );
    let keyed = models("models claude-*").env("ANTHROPIC_API_KEY", "canary").run().expect_code(0);
    assert!(
        keyed.stdout.contains("anthropic/claude-opus-5 ") && !keyed.stdout.contains("gpt"),
        "{keyed}"
    );
    // A model that two providers of an account have is one row, unless the other one is asked for.
    for (words, listed) in [
        ("models --json gpt-5.4", "openai/gpt-5.4"),
        ("models --json openai-completions/gpt-5.4", "openai-completions/gpt-5.4"),
    ] {
        let found = document(models(words).env("OPENAI_API_KEY", "canary"));
        let both = ["openai/gpt-5.4", "openai-completions/gpt-5.4"];
        let found: Vec<_> = names(&found).into_iter().filter(|it| both.contains(it)).collect();
        assert_eq!(found, [listed], "{words}");
    }
    let nothing = models("models no-such-model").run().expect_code(0);
    assert!(
        nothing.stdout.is_empty() && nothing.stderr.contains("no model matches `no-such-model`"),
        "{nothing}"
    );
}

#[test]
fn newer_facts_come_from_a_file_when_asked_for_and_garbage_changes_nothing() {
    let place = sandbox();
    let repository = place.repository();
    let file = place.folder().join("api.json");
    let refresh = || {
        let run = place.regatta(repository.root()).words("models refresh --from");
        run.arg(&file)
    };
    let facts = place.home().data().join("models.json");
    let api = json!({ "groq": { "api": "https://evil.example", "models": { "new-one": {
        "tool_call": true, "limit": { "context": 7000, "output": 70 }, "cost": { "input": 9, "output": 9 },
        "modalities": { "input": ["text"], "output": ["text"] } } } } });
    std::fs::write(&file, api.to_string()).expect("a file is written");
    let _done = refresh().run().expect_code(0);
    let listed = document(place.regatta(repository.root()).words("models new-one --all --json"));
    assert_eq!(names(&listed), ["groq/new-one"]);
    assert_eq!(listed["models"][0]["facts"]["context"], 7000);
    let before = std::fs::read_to_string(&facts).expect("it was written");
    assert!(!before.contains("evil"));
    for garbage in
        ["", "{}", "<html>", "{\"a\":{\"models\":{\"b\":{\"cost\":{\"input\":-1,\"output\":1}}}}}"]
    {
        std::fs::write(&file, garbage).expect("a file is written");
        refresh().run().expect_code(1).expect_refusal(&["cannot take facts about models from"]);
        assert_eq!(std::fs::read_to_string(&facts).expect("it is there"), before, "{garbage}");
    }
    std::fs::write(&facts, "{ torn").expect("a file is written");
    let torn = document(place.regatta(repository.root()).words("models --all --json"));
    assert!(
        torn["warnings"].to_string().contains("models.json is not used"),
        "{}",
        torn["warnings"]
    );
    assert!(names(&torn).len() > 80, "the catalogue of the program stays");
}

#[test]
fn without_a_name_the_default_of_the_only_provider_with_a_key_is_chosen_and_told() {
    let place = sandbox();
    let repository = place.repository();
    let run =
        || place.regatta(repository.root()).words("run --dry-run").arg("Do what is to be done.");
    let one = run().env("ANTHROPIC_API_KEY", "canary").run().expect_code(0);
    assert!(
        one.stderr
            .contains("the model is anthropic/claude-sonnet-5: it is the default of anthropic"),
        "{one}"
    );
    let two =
        run().env("ANTHROPIC_API_KEY", "canary").env("GROQ_API_KEY", "canary").run().expect_code(1);
    let found = "there are keys of anthropic, groq";
    two.expect_refusal(&["no model is named", found, "try: --model anthropic/claude-sonnet-5"]);
    run().run().expect_code(1).expect_refusal(&[
        "no model is named",
        "there is no key of a provider",
        "try: ollama pull qwen3:8b (",
        "try: --model ollama/qwen3:8b (",
        "try: export OPENROUTER_API_KEY=KEY (",
        "try: regatta demo (",
    ]);
}

#[test]
fn a_family_is_its_newest_model_with_a_key_in_one_line_and_two_apis_of_an_account_are_one() {
    let place = sandbox();
    let repository = place.repository();
    for (key, name, model) in [
        ("OPENROUTER_API_KEY", "sonnet", "openrouter/anthropic/claude-sonnet-"),
        ("OPENAI_API_KEY", "gpt-5", "openai/gpt-5\n"),
    ] {
        let run = place.regatta(repository.root()).words("run --dry-run --model").arg(name);
        let done = run.arg("Do what is to be done.").env(key, "canary").run().expect_code(0);
        let lines: Vec<_> = done.stderr.lines().filter(|line| line.contains(name)).collect();
        let [line] = lines.as_slice() else { panic!("one line, not {lines:?}") };
        let begin = format!("note: `{name}` is the model {model}");
        assert!(format!("{line}\n").starts_with(&begin), "{line}");
    }
}

#[test]
fn the_only_model_of_a_server_on_this_machine_is_chosen_and_told() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.list(Some(&["tiny:1b"]));
    write_models(
        &place,
        &format!(
            "providers:{}",
            NO_SERVERS.replacen("'http://127.0.0.1:9/v1'", &model.base_url(), 1)
        ),
    );
    let run =
        || place.regatta(repository.root()).words("run --dry-run").arg("Do what is to be done.");
    // A server has 300 ms to answer, which are over soon on a busy machine.
    let eventually = |what: &str, holds: &dyn Fn() -> bool| {
        test_limit::eventually(Duration::from_secs(60), what, holds);
    };
    eventually("the only model is chosen", &|| {
        let found = run().run();
        let said = "the model is ollama/tiny:1b: it is the only model of ollama";
        found.stderr.contains(said) && found.expect_code(0).stderr.contains(said)
    });
    let listed = || document(place.regatta(repository.root()).words("models --json"));
    eventually("it is listed", &|| names(&listed()) == ["ollama/tiny:1b"]);
    model.list(Some(&["tiny:1b", "big:70b"]));
    eventually("both are told", &|| {
        let said = "2 models on this machine: ollama/tiny:1b, ollama/big:70b";
        let several = run().run().expect_code(1);
        several.stderr.contains(said)
    });
    // Without a key, a family is that of the server.
    for (name, expected) in [("tiny", "ollama/tiny:1b"), ("big", "ollama/big:70b")] {
        let said = format!("note: `{name}` is the model {expected}\n");
        let dry_run = || place.regatta(repository.root()).words("run --dry-run --model").arg(name);
        eventually(expected, &|| dry_run().arg("Do it all.").run().stderr.contains(&said));
    }
}

#[test]
fn a_model_that_is_unknown_without_tools_or_of_two_providers_is_one_clear_error() {
    let place = sandbox();
    let repository = place.repository();
    let gate = "baseUrl: https://gate.example/v1, auth: none, api: openai-completions";
    let other = gate.replace("gate", "other");
    write_models(
        &place,
        &format!(
            "providers:\n  one: {{ {gate}, models: [{{ id: twin }}, {{ id: mute, tools: false }}] }}\n  two: {{ {other}, models: [{{ id: twin }}] }}\n  bad: {{ {gate}, models: [{{ id: m }}], proxyUrl: x }}\n"
        ),
    );
    let refused = |name: &str, words: &[&str]| {
        run_model(&place, &repository, name).run().expect_code(1).expect_refusal(words);
    };
    refused("twin", &["`twin` may name 2 models", "one/twin, two/twin"]);
    refused("no-such-model", &["no model is called `no-such-model`"]);
    refused("one/mute", &["cannot use the model one/mute", "cannot call tools"]);
    refused("bad/m", &["cannot use the model bad/m", "models.yml:4: "]);
    // A dry run refuses what a run refuses.
    for name in ["antropic/opus", "anthropic/foo"] {
        let run = place.regatta(repository.root()).words("run --dry-run --model").arg(name);
        let dry_run = run.arg("Do what is to be done.").run();
        dry_run.expect_refusal(&["cannot use the model"]);
    }
    refused(
        "claude-opus-5",
        &[
            "cannot use the model anthropic/claude-opus-5",
            "  because no key",
            "\n  try: regatta login anthropic",
        ],
    );
}

#[test]
fn a_fault_of_the_users_file_names_its_place_and_costs_only_its_provider() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let gate = format!("baseUrl: '{}', auth: none, api: openai-completions", model.base_url());
    let rows = [
        ("bad:\n\tbaseUrl: https://h/v1".to_owned(), "models.yml:4:2: `providers.bad`: tabs"),
        (
            format!("bad: {{ {gate}, models: [{{ id: m }}, {{ id: m }}] }}"),
            "models.yml:3: `providers.bad.models[1].id`: two models have the id `m`",
        ),
        (
            format!("bad: {{ {gate}, models: [{{ id: m, cost: {{ input: -1, output: 1 }} }}] }}"),
            "models.yml:3: `providers.bad.models[0].cost.input` must be a number of US dollars",
        ),
        (
            format!("bad:\n    baseUrl: {}\n    api: soap", model.base_url()),
            "models.yml:5: `providers.bad.api` must be a known API",
        ),
        (
            format!("bad: {{ {gate}, models: [{{ id: m }}] }}\n  bad: {{ apiKey: K }}"),
            "models.yml:4: `providers.bad`: it is there twice",
        ),
    ];
    let with_a_run = sample(0..rows.len(), 1);
    for (at, (bad, told)) in rows.into_iter().enumerate() {
        let good = format!("good: {{ {gate}, models: [{{ id: m }}] }}");
        let yaml = format!("providers:\n  {good}\n  {bad}{NO_SERVERS}");
        write_models(&place, &yaml);
        let listed = document(place.regatta(repository.root()).words("models --json"));
        assert_eq!(names(&listed), ["good/m"]);
        let warnings = listed["warnings"].as_array().expect("there is a list");
        let [warning] = warnings.as_slice() else { panic!("one warning, not {warnings:?}") };
        let warning = warning.as_str().expect("it is a text");
        assert!(warning.contains(told) && warning.ends_with("`bad` is not used"), "{warning}");
        let refused = run_model(&place, &repository, "bad/m").run().expect_code(1);
        refused.expect_refusal(&["cannot use the model bad/m", told]);
        if with_a_run.contains(&at) {
            model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
            let ran = run_model(&place, &repository, "good/m").run().expect_code(0);
            assert_eq!(ran.stderr.matches(told).count(), 1, "{ran}");
        }
        let file = place.home().config_file().with_file_name("models.yml");
        assert_eq!(std::fs::read_to_string(file).expect("it is there"), yaml);
    }
}

/// Answers each request to an address of this machine with what `answer` makes of its first line.
fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> std::net::SocketAddr {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = server.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap_or(0);
            let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
            let body = answer(text.lines().next().unwrap_or_default());
            let (status, body) = match body.is_empty() {
                true => ("404 Not Found", "<html>".to_owned()),
                false => ("200 OK", body),
            };
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}");
            let _gone = write!(stream, "{head}\r\n\r\n{body}"); // the test may have ended
        }
    });
    address
}

#[test]
fn facts_about_models_are_fetched_when_asked_for_and_only_then() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let (saw, seen) = mpsc::channel();
    // Whatever is asked of another machine goes through it.
    let proxy = serve(move |line| {
        let _gone = saw.send(line.to_owned()); // the test may have ended
        String::new()
    });
    let call = |words: &str| {
        let call = place.regatta(repository.root()).words(words);
        let variables = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
        variables.into_iter().fold(call, |call, name| call.env(name, format!("http://{proxy}")))
    };
    for words in ["models --all", "models --json", "--list-models opus", "gates", "-p hello"] {
        let _any = call(words).run();
    }
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let run = call("run --json --model").arg(model.route()).arg("--base-url").arg(model.base_url());
    let _done = run.arg("--").arg(marker("t1")).run().expect_code(0);
    let keyed = call("run --dry-run --model claude-opus-5 -- x").env("ANTHROPIC_API_KEY", "canary");
    let _done = keyed.run().expect_code(0);
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [""; 0]);
    let refused = call("models refresh").run().expect_code(1);
    refused.expect_refusal(&["cannot take facts about models from https://models.dev/api.json"]);
    let asked: Vec<String> = seen.try_iter().collect();
    assert_eq!(asked, ["CONNECT models.dev:443 HTTP/1.1"], "{refused}");
    let api = json!({ "groq": { "models": { "new-one": { "tool_call": true,
        "limit": { "context": 7000, "output": 70 }, "cost": { "input": 9, "output": 9 },
        "modalities": { "input": ["text"], "output": ["text"] } } } } });
    let address = serve(move |line| match line {
        "GET /api.json HTTP/1.1" => api.to_string(),
        "GET /page.json HTTP/1.1" => "<html>".to_owned(),
        _ => String::new(),
    });
    let refresh =
        |path: &str| call("models refresh --from").arg(format!("http://{address}/{path}")).run();
    let from = format!("http://{address}/api.json");
    let fetched = call("models refresh --json --from").arg(&from).run().expect_code(0);
    assert_eq!((&fetched.json()["models"], &fetched.json()["from"]), (&json!(1), &json!(from)));
    let listed = document(call("models new-one --all --json"));
    assert_eq!(names(&listed), ["groq/new-one"]);
    let facts = place.home().data().join("models.json");
    let before = std::fs::read(&facts).expect("it was written");
    for (path, why) in [("page.json", "because"), ("gone", "the server answered 404")] {
        let refused = refresh(path).expect_code(1);
        refused.expect_refusal(&["cannot take facts about models from", why]);
        assert_eq!(std::fs::read(&facts).expect("it is there"), before, "{path}");
    }
}

#[test]
fn three_silent_servers_on_this_machine_cost_a_start_300_milliseconds_at_most() {
    const MOST: Duration = Duration::from_millis(300);
    let place = sandbox();
    let repository = place.repository();
    let listen = |_| TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let silent = [(); 3].map(listen);
    let addresses = silent.iter().map(|it| it.local_addr().expect("it is bound").to_string());
    let servers = addresses.fold(NO_SERVERS.to_owned(), |text, address| {
        text.replacen("127.0.0.1:9/", &format!("{address}/"), 1)
    });
    let start = |servers: &str| {
        write_models(&place, &format!("providers:{servers}"));
        let run = place.regatta(repository.root()).words("run --dry-run").arg("Do it.");
        let began = Instant::now();
        let finished = run.run();
        (began.elapsed(), finished.expect_code(1))
    };
    // What else the machine does only adds to it: the fastest of a few tries tells.
    let mut fastest = [Duration::MAX; 2];
    let more = |[without, with]: [Duration; 2]| with.saturating_sub(without);
    for _ in 0..7 {
        let (without, _none) = start(NO_SERVERS);
        let (with, told) = start(&servers);
        fastest = [fastest[0].min(without), fastest[1].min(with)];
        told.expect_refusal(&[
            "no model is named",
            "ollama did not answer",
            "llama.cpp did not answer",
            "lm-studio did not answer",
        ]);
        if depth() != Depth::Full && more(fastest) <= MOST {
            break;
        }
    }
    test_limit::took_at_most(more(fastest), MOST, format!("{fastest:?} without and with them"));
    for server in silent {
        let _asked = server.accept().expect("each was asked");
    }
}

#[test]
fn requests_of_a_provider_with_a_proxy_go_through_it() {
    let place = sandbox();
    let repository = place.repository();
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = proxy.local_addr().expect("it is bound");
    let (saw, seen) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in proxy.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap_or(0);
            let line = String::from_utf8_lossy(&bytes[..read])
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let _gone = saw.send(line); // the test may have ended
            let _lost = stream.write_all(
                b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
    });
    write_models(
        &place,
        &format!(
            "providers:\n  far: {{ baseUrl: 'http://models.invalid/v1', allowHttp: true, auth: none, api: openai-completions, proxyUrl: 'http://{address}', models: [{{ id: m }}] }}\n"
        ),
    );
    let finished =
        run_model(&place, &repository, "far/m").env("REGATTA_RETRY_ENABLED", "false").run();
    let lines: Vec<String> = seen.try_iter().collect();
    let asked = "POST http://models.invalid/v1/chat/completions HTTP/1.1";
    assert!(lines.iter().any(|line| line == asked), "{lines:?} {finished}");
}
