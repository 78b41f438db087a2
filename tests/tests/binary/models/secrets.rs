//! Secrets of providers: they go where they belong, and stand nowhere else, whatever a server or a
//! proxy answers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use test_limit::{Depth, by_depth, depth, seed};
use tests::model::{Answer, Asked, LoopbackModel, Pace, Wire, marker};
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox};
use tests::tls::{NAME, Overheard, https_to, tunnel_to, write_authority};

use super::directory::write_models;
use crate::binary::sandbox;

/// The key of the provider, what is in a header of the user, and the password of a proxy.
const KEY: &str = "sk-canary-0f7d52";
const TEAM: &str = "team-canary-93ba1c";
const PASSWORD: &str = "proxy-canary-7c4e";
const SECRETS: [&str; 3] = [KEY, TEAM, PASSWORD];

/// The commands that look at runs.
const LOOKS: [&str; 6] =
    ["runs show @", "runs show @ --json", "logs @", "logs @ --json", "gates", "gates --json"];

/// Writes the user's file of models: one provider, with a key and a header that are secret.
fn write_provider(place: &Sandbox, wire: Wire, url: &str, more: &str) {
    write_gates(place, [("gate".to_owned(), wire, url.to_owned())], more);
}

/// Writes the same with several providers, each with its name, its API and its URL.
fn write_gates(
    place: &Sandbox,
    providers: impl IntoIterator<Item = (String, Wire, String)>,
    more: &str,
) {
    let mut yaml = "providers:\n".to_owned();
    for (name, wire, url) in providers {
        yaml += &format!(
            "  {name}: {{ baseUrl: '{url}', apiKey: GATE_KEY, api: {}, {more} \
             headers: {{ X-Team: $GATE_TEAM }}, models: [{{ id: m }}] }}\n",
            wire.name()
        );
    }
    write_models(place, &yaml);
    place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n");
}

fn with_secrets(run: Invocation) -> Invocation {
    run.env("GATE_KEY", KEY).env("GATE_TEAM", TEAM).env("RUST_LOG", "trace")
}

/// Runs these tasks, all at once, and prints what happens for people or, with `--json`, for programs.
fn run_tasks(place: &Sandbox, repository: &Repository, form: &str, names: &[String]) -> Invocation {
    let plan = names.iter().fold(Plan::default().top("model = \"gate/m\""), |plan, name| {
        plan.agent(name, &format!("Do what is to be done. {}", marker(name)))
    });
    run_plan(place, repository, form, &plan)
}

fn run_plan(place: &Sandbox, repository: &Repository, form: &str, plan: &Plan) -> Invocation {
    let run = place.regatta(repository.root()).words("run --plan - --jobs 64").words(form);
    with_secrets(run.stdin(plan.text()))
}

/// Checks that no secret was said, is said by the commands that look at runs, or is in any file.
fn expect_no_secret(place: &Sandbox, repository: &Repository, finished: &Finished) {
    expect_no_secret_in(place, repository, finished, &LOOKS);
}

/// The same, by these commands.
fn expect_no_secret_in(
    place: &Sandbox,
    repository: &Repository,
    finished: &Finished,
    looks: &[&str],
) {
    let mut said = vec![format!("{finished}")];
    for words in looks {
        let shown = with_secrets(place.regatta(repository.root()).words(words)).run();
        said.push(format!("{shown}"));
    }
    for secret in SECRETS {
        for text in &said {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        let found = std::process::Command::new("grep")
            .args(["-rlaF", secret])
            .args([place.home().folder(), repository.root()])
            .output()
            .expect("grep can be run");
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{secret} is in files");
    }
}

/// What servers say that repeat all they were told.
fn repeats(wire: Wire) -> Vec<Answer> {
    let told = format!("you said Authorization: Bearer {KEY} x-team: {TEAM}");
    let mut answers: Vec<Answer> = [400, 401, 402, 403, 404, 413, 429, 500, 503, 529]
        .into_iter()
        .map(|code| Answer::error(code, "echo", &told).with_header("x-echo", told.clone()))
        .collect();
    let escaped =
        format!("{{\"error\":{{\"message\":\"\\u0027{KEY}\\u0027\",\"{TEAM}\":\"{KEY}\"}}}}");
    let html = format!("<html><head><title>{KEY} {TEAM}</title></head><body>{told}</body></html>");
    for body in [escaped, html, told.clone()] {
        answers.push(Answer::Status { code: 400, headers: Vec::new(), body: body.clone() });
        answers.push(Answer::stream(body));
    }
    let error = json!({ "error": { "message": told, "type": "server_error", "code": TEAM } });
    let event = match wire {
        Wire::Messages | Wire::Responses => {
            let failed =
                json!({ "type": "error", "message": told, "code": KEY, "error": error["error"] });
            format!("event: error\ndata: {failed}\n\n")
        }
        Wire::Completions | Wire::Gemini => format!("data: {error}\n\n"),
    };
    answers.push(Answer::stream(event));
    answers.push(Answer::stream(format!("data: {{\"{KEY} {TEAM}\n\n")));
    answers
}

/// A redirect to `elsewhere` with this code.
fn redirect(code: u16, elsewhere: &Overheard) -> Answer {
    let location = format!("http://{}/v1/{KEY}", elsewhere.address());
    Answer::Status { code, headers: vec![("location", location)], body: String::new() }
}

/// A task, the API and the name of its provider, and what that answers it.
struct Told {
    task: String,
    wire: Wire,
    provider: String,
    answer: Answer,
    is_redirect: bool,
}

/// Returns a task for everything that a server of each of these APIs says: in quick depth each of it
/// over one API of all, which the commit decides.
fn tasks(wires: &[Wire], elsewhere: &Overheard) -> Vec<Told> {
    let first = usize::try_from(seed() % 4).unwrap_or(0);
    let tasks_of = |wire: Wire| {
        let redirects = [301, 302, 303, 307, 308].map(|code| (redirect(code, elsewhere), true));
        let repeated = repeats(wire).into_iter().map(|answer| (answer, false));
        let all = repeated.chain(redirects).enumerate();
        let of_all = move |at: &usize| by_depth(Wire::ALL[(first + at) % 4] == wire, true);
        let tasks =
            all.filter(move |(at, _)| of_all(at)).map(move |(at, (answer, is_redirect))| {
                let (task, shared) =
                    (format!("{}-t{at}", wire.name()), format!("gate-{}", wire.name()));
                // Failures of one account in a row are an outage, which takes a while. So in quick depth
                // each answer is that of another one.
                let provider = by_depth(format!("{shared}-{at}"), shared);
                Told { task, wire, provider, answer, is_redirect }
            });
        tasks.collect::<Vec<_>>()
    };
    wires.iter().copied().flat_map(tasks_of).collect()
}

/// Runs a task for each answer of servers of these APIs, and looks at each run by these commands.
fn run_repeating(wires: &[Wire], forms: &[&str], looks: &[&str]) {
    let place = sandbox();
    let repository = place.repository();
    let elsewhere = Overheard::only();
    let tasks = tasks(wires, &elsewhere);
    let (mut plan, mut providers) = (Plan::default(), BTreeMap::new());
    for Told { task, wire, provider, answer, .. } in &tasks {
        let start = || (*wire, task.clone(), LoopbackModel::start());
        let (_, _, model) = providers.entry(provider.clone()).or_insert_with(start);
        let answer = answer.clone();
        model.pace(Pace::Events);
        model.talk(task, move |_: &Asked| answer.clone());
        plan = plan.agent(task, &format!("Do what is to be done. {}", marker(task)));
        plan = plan.with(&format!("model = '{provider}/m'"));
    }
    let gate = |(name, (wire, _, model)): (&String, &(Wire, String, LoopbackModel))| {
        (name.clone(), *wire, model.url_of(*wire))
    };
    write_gates(&place, providers.iter().map(gate), "authHeader: true,");
    for form in forms {
        let finished = run_plan(&place, &repository, form, &plan).run();
        assert_ne!(finished.code, 0, "{finished}");
        if *form == "--json" {
            assert_eq!(finished.events_of("task_finished").len(), tasks.len(), "{finished}");
            for Told { task, .. } in tasks.iter().filter(|told| told.is_redirect) {
                assert_eq!(finished.task(task)["outcome"], "failed", "{finished}");
            }
        }
        for (name, (_, first, model)) in &providers {
            let asked = model.asked(first);
            assert_eq!(asked[0].key.as_deref(), Some(KEY), "{name}: {finished}");
        }
        assert_eq!(elsewhere.text(), "", "nobody goes there: {finished}");
        expect_no_secret_in(&place, &repository, &finished, looks);
    }
}

#[test]
fn what_a_server_repeats_of_keys_and_headers_is_kept_nowhere_and_a_key_follows_no_redirect() {
    let forms = ["--json", ""];
    if depth() == Depth::Full {
        test_limit::raise(Duration::from_secs(300), "each of the four APIs has many answers");
        std::thread::scope(|scope| {
            for wire in Wire::ALL {
                scope.spawn(move || run_repeating(&[wire], &forms, &LOOKS));
            }
        });
        return;
    }
    // In quick depth half of the APIs for each form, and half of the commands.
    std::thread::scope(|scope| {
        for (half, form) in forms.into_iter().enumerate() {
            let every_second = |all: &[&'static str]| {
                all.iter().skip(half).step_by(2).copied().collect::<Vec<_>>()
            };
            let (wires, looks) = ([Wire::ALL[half], Wire::ALL[half + 2]], every_second(&LOOKS));
            scope.spawn(move || run_repeating(&wires, &[form], &looks));
        }
    });
}

/// Runs one task over HTTPS through a tunnel, and returns how it ended, what the server was sent, and
/// what the proxy saw. `by` gives the proxy to the run.
fn through_tunnel(
    place: &Sandbox,
    repository: &Repository,
    model: &LoopbackModel,
    task: &str,
    by: impl Fn(&Overheard, Invocation) -> Invocation,
) -> (Finished, Overheard, Overheard) {
    let address = model.base_url().trim_start_matches("http://").replace("/v1", "");
    let server = https_to(address.parse().expect("it is an address"));
    let proxy = tunnel_to(server.address(), None);
    write_provider(place, Wire::Completions, &format!("https://{NAME}/v1"), "");
    let run = by(&proxy, run_tasks(place, repository, "", &[task.to_owned()]));
    (run.run(), server, proxy)
}

fn trusting(place: &Sandbox, run: Invocation) -> Invocation {
    let authority = place.folder().join("authority.pem");
    write_authority(&authority);
    run.env("SSL_CERT_FILE", authority)
}

#[test]
fn a_key_goes_in_the_tunnel_of_a_proxy_only_to_a_trusted_server_and_past_it_on_this_machine() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    for task in ["trusted", "here", "untrusted"] {
        model.talk(task, |_: &Asked| Answer::yields(&json!("done")));
    }
    let (finished, server, proxy) =
        through_tunnel(&place, &repository, &model, "trusted", |proxy, run| {
            trusting(&place, run).env("HTTPS_PROXY", format!("http://{}", proxy.address()))
        });
    let finished = finished.expect_code(0);
    assert!(server.text().contains(&format!("authorization: Bearer {KEY}")), "{finished}");
    let seen = proxy.text();
    assert!(seen.starts_with(&format!("CONNECT {NAME}:443 ")), "{seen}");
    assert!(SECRETS.iter().all(|secret| !seen.contains(secret)), "{seen}");
    expect_no_secret(&place, &repository, &finished);

    // A server on this machine is asked without it.
    let proxy = Overheard::only();
    write_provider(&place, Wire::Completions, &model.base_url(), "");
    let mut run = run_tasks(&place, &repository, "", &["here".to_owned()]);
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        run = run.env(variable, format!("http://{}", proxy.address()));
    }
    let finished = run.run().expect_code(0);
    assert_eq!(proxy.text(), "", "{finished}");
    expect_no_secret(&place, &repository, &finished);

    // An unknown authority is one clear error before a key is sent.
    let requests = model.requests();
    let (finished, server, _proxy) =
        through_tunnel(&place, &repository, &model, "untrusted", |proxy, run| {
            run.env("HTTPS_PROXY", format!("http://{}", proxy.address()))
        });
    let said = format!("{finished}");
    assert!(said.contains("cannot be trusted"), "{finished}");
    assert_ne!(finished.code, 0, "{finished}");
    assert_eq!((server.text(), model.requests()), (String::new(), requests), "{finished}");
    expect_no_secret(&place, &repository, &finished);
}

#[test]
fn the_password_of_a_proxy_goes_to_the_proxy_only_and_stands_nowhere() {
    // `user:proxy-canary-7c4e` in base64.
    const CREDENTIALS: &str = "Basic dXNlcjpwcm94eS1jYW5hcnktN2M0ZQ==";
    for (user, lands) in [("user", true), ("other", false)] {
        let place = sandbox();
        let repository = place.repository();
        let model = LoopbackModel::start();
        model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
        let address = model.base_url().trim_start_matches("http://").replace("/v1", "");
        let server = https_to(address.parse().expect("it is an address"));
        let proxy = tunnel_to(server.address(), Some(CREDENTIALS));
        let more = format!("proxyUrl: 'http://{user}:{PASSWORD}@{}',", proxy.address());
        write_provider(&place, Wire::Completions, &format!("https://{NAME}/v1"), &more);
        let run = trusting(&place, run_tasks(&place, &repository, "", &["t1".to_owned()]));
        let finished = run.run();
        assert_eq!((finished.code == 0), lands, "{finished}");
        let seen = proxy.text();
        assert!(
            seen.contains("authorization: Basic") || seen.contains("Authorization: Basic"),
            "{seen}"
        );
        assert!(!seen.contains(KEY), "{seen}");
        assert!(!server.text().to_ascii_lowercase().contains("proxy-authorization"), "{finished}");
        // It stands in the file where the user has written it.
        std::fs::remove_file(place.home().config_file().with_file_name("models.yml")).unwrap();
        expect_no_secret(&place, &repository, &finished);
    }
}
