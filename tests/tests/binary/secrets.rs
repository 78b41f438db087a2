//! Secrets of providers: they go where they belong, and stand nowhere else, whatever a server or a
//! proxy answers.

use std::time::Duration;

use serde_json::json;
use test_limit::sample;
use tests::model::{Answer, Asked, LoopbackModel, Pace, Wire, marker};
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox};
use tests::tls::{NAME, Overheard, https_to, tunnel_to, write_authority};

use super::models::write_models;
use super::sandbox;

/// The key of the provider, what is in a header of the user, and the password of a proxy.
const KEY: &str = "sk-canary-0f7d52";
const TEAM: &str = "team-canary-93ba1c";
const PASSWORD: &str = "proxy-canary-7c4e";
const SECRETS: [&str; 3] = [KEY, TEAM, PASSWORD];

/// Writes the user's file of models: one provider, with a key and a header that are secret.
fn write_provider(place: &Sandbox, wire: Wire, url: &str, more: &str) {
    write_models(
        place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{url}', apiKey: GATE_KEY, api: {}, {more} \
             headers: {{ X-Team: $GATE_TEAM }}, models: [{{ id: m }}] }}\n",
            wire.name()
        ),
    );
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
    let run = place.regatta(repository.root()).words("run --plan - --jobs 64").words(form);
    with_secrets(run.stdin(plan.text()))
}

/// Checks that no secret was said, is said by the commands that look at runs, or is in any file.
fn expect_no_secret(place: &Sandbox, repository: &Repository, finished: &Finished) {
    let mut said = vec![format!("{finished}")];
    for words in
        ["runs show @", "runs show @ --json", "logs @", "logs @ --json", "gates", "gates --json"]
    {
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

#[test]
fn what_a_server_repeats_of_keys_and_headers_is_kept_nowhere_and_a_key_follows_no_redirect() {
    test_limit::raise(Duration::from_secs(300), "each of the four APIs has many answers");
    let check = |wire: Wire, forms: &[&str]| {
        let place = sandbox();
        let repository = place.repository();
        let (model, elsewhere) = (LoopbackModel::start(), Overheard::only());
        model.pace(Pace::Events);
        write_provider(&place, wire, &model.url_of(wire), "authHeader: true,");
        let redirects = [301, 302, 303, 307, 308].map(|code| redirect(code, &elsewhere));
        let repeated = sample(repeats(wire), 6);
        let first_redirect = repeated.len();
        let answers = [repeated, sample(redirects, 2)].concat();
        let names: Vec<_> = (0..answers.len()).map(|at| format!("t{at}")).collect();
        for (name, answer) in names.iter().zip(answers) {
            model.talk(name, move |_: &Asked| answer.clone());
        }
        for form in forms {
            let finished = run_tasks(&place, &repository, form, &names).run();
            assert_ne!(finished.code, 0, "{finished}");
            if *form == "--json" {
                assert_eq!(finished.events_of("task_finished").len(), names.len(), "{finished}");
                for name in &names[first_redirect..] {
                    assert_eq!(finished.task(name)["outcome"], "failed", "{finished}");
                }
            }
            assert_eq!(model.asked("t0")[0].key.as_deref(), Some(KEY), "{finished}");
            assert_eq!(elsewhere.text(), "", "nobody goes there: {finished}");
            expect_no_secret(&place, &repository, &finished);
        }
    };
    std::thread::scope(|scope| {
        for (number, wire) in Wire::ALL.into_iter().enumerate() {
            // In quick depth one of the two forms, by turns.
            let forms = [["--json", ""], ["", "--json"]][number % 2];
            scope.spawn(move || check(wire, &sample(forms, 1)));
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

    // An authority that nobody knows is one clear error before a key is sent.
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
