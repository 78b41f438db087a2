//! Logins by OAuth: in a browser, by an address that is pasted, by a code on another device; and the
//! renewal of what they bring.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use test_limit::eventually;
use tests::model::{Answer, Asked, LoopbackModel, Script, marker};
use tests::oauth::{DeviceAnswer, LoginPage, OauthServer, get};
use tests::sandbox::{Invocation, Repository, Sandbox, Screen};

use super::directory::{run_model, write_models};
use crate::binary::sandbox;

const LIMIT: Duration = Duration::from_secs(90);

fn keys_file(place: &Sandbox) -> PathBuf {
    place.home().config_file().with_file_name("auth.json")
}

/// Describes the provider `gate`, whose login is at `oauth`.
fn write_gate(place: &Sandbox, oauth: &OauthServer, more: &str, base_url: &str) {
    let described = oauth.described(more);
    write_models(
        place,
        &format!(
            "providers:\n  gate:\n    baseUrl: {base_url}\n    api: openai-completions\n    \
             oauth: {described}\n    models: [{{ id: m }}]\n"
        ),
    );
}

fn login(place: &Sandbox, repository: &Repository, words: &str) -> Invocation {
    place.regatta(repository.root()).words("login").words(words)
}

/// Returns the page that the user is to open.
fn page(screen: &Screen, path: &str) -> String {
    let mut found = None;
    eventually(LIMIT, "the page is shown", || {
        let bytes = screen.bytes();
        let mut words = bytes.split_whitespace().map(str::to_owned);
        found = words.find(|word| word.contains(path)).filter(|_| bytes.contains("\n  http"));
        found.is_some() && bytes.trim_end().len() < bytes.len()
    });
    found.expect("it is shown")
}

/// Ends a login, which has to succeed.
fn ends_well(screen: &mut Screen) {
    let status = screen.wait();
    assert!(status.success(), "{status}: {}", screen.bytes());
    let shown = screen.bytes();
    assert!(!shown.contains("canary-access") && !shown.contains("canary-refresh"), "{shown}");
}

fn expect_run_with(place: &Sandbox, repository: &Repository, model: &LoopbackModel, key: &str) {
    model.demand_key(key);
    model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let _done = run_model(place, repository, "gate/m").run().expect_code(0);
}

#[test]
fn a_login_in_a_browser_brings_tokens_and_logout_removes_them() {
    let place = sandbox();
    let repository = place.repository();
    let (oauth, model) = (OauthServer::start(), LoopbackModel::start());
    write_gate(&place, &oauth, "", &model.base_url());
    let programs = place.folder().join("programs");
    fs::create_dir(&programs).expect("a folder is made");
    let (open, opened) = (programs.join("xdg-open"), place.folder().join("opened"));
    fs::write(&open, format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display())).expect("written");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut screen = login(&place, &repository, "gate")
        .env("DISPLAY", ":0")
        .env("PATH", format!("{}:{path}", programs.display()))
        .on_a_keyboard(24, 80);
    let url = page(&screen, "/authorize?");
    eventually(LIMIT, "the browser is opened", || {
        fs::read_to_string(&opened).is_ok_and(|text| text.trim_end() == url && text.ends_with('\n'))
    });
    let redirect = get(&url).location.expect("it sends the browser back");
    // A browser also asks for other things, and connects in advance.
    let (front, _) = redirect.split_once("/callback").expect("its path");
    let _idle = std::net::TcpStream::connect(front.trim_start_matches("http://")).expect("there");
    assert_eq!(get(&format!("{front}/favicon.ico")).status, 404);
    let shown = get(&redirect);
    assert!(shown.body.contains("The login is complete"), "{shown:?}");
    ends_well(&mut screen);
    let file = keys_file(&place);
    let mode = fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    expect_run_with(&place, &repository, &model, "canary-access-1");
    let told = place.regatta(repository.root()).words("logout gate").run().expect_code(0);
    assert!(told.stdout.contains("1 key of gate removed"), "{told}");
    let text = fs::read_to_string(&file).expect("it is there");
    assert!(!text.contains("canary"), "{text}");
    let none = run_model(&place, &repository, "gate/m").run().expect_code(1);
    none.expect_refusal(&["cannot use the model gate/m", "regatta login gate"]);
}

#[test]
fn without_a_desktop_the_address_at_which_the_browser_ends_is_pasted() {
    let place = sandbox();
    let repository = place.repository();
    let (oauth, model) = (OauthServer::start(), LoopbackModel::start());
    write_gate(&place, &oauth, "", &model.base_url());
    let variables = [("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"), ("DISPLAY", ":0")];
    let call = login(&place, &repository, "gate --as work");
    let call = variables.into_iter().fold(call, |call, (name, value)| call.env(name, value));
    let mut screen = call.on_a_keyboard(24, 80);
    let url = page(&screen, "/authorize?");
    let redirect = get(&url).location.expect("it sends the browser back");
    screen.type_line("");
    screen.type_line("what?");
    screen.until("it says so", |text| text.contains("must begin with http://"));
    screen.type_line(&redirect);
    ends_well(&mut screen);
    expect_run_with(&place, &repository, &model, "canary-access-1");
}

#[test]
fn a_code_is_typed_on_another_device() {
    let place = sandbox();
    let repository = place.repository();
    let (oauth, model) = (OauthServer::start(), LoopbackModel::start());
    write_gate(&place, &oauth, &oauth.device_url(), &model.base_url());
    let mut screen = login(&place, &repository, "gate").on_a_screen(24, 80);
    let text = screen.until("the code is shown", |text| text.contains("WDJB-MJHT"));
    assert!(text.contains("/device"), "{text}");
    eventually(LIMIT, "it asks", || oauth.polls() > 0);
    oauth.device(DeviceAnswer::Granted);
    ends_well(&mut screen);
    expect_run_with(&place, &repository, &model, "canary-access-1");
}

#[test]
fn openrouter_gives_a_key_to_whoever_logs_in() {
    let place = sandbox();
    let repository = place.repository();
    let oauth = OauthServer::start();
    write_models(
        &place,
        &format!("providers:\n  openrouter: {{ baseUrl: '{}/api/v1' }}\n", oauth.url()),
    );
    let mut screen = login(&place, &repository, "openrouter").on_a_keyboard(24, 80);
    let redirect = get(&page(&screen, "/auth?")).location.expect("it sends the browser back");
    let shown = get(&redirect);
    assert!(shown.body.contains("The login is complete"), "{shown:?}");
    ends_well(&mut screen);
    let text = fs::read_to_string(keys_file(&place)).expect("it is there");
    assert!(text.contains("\"canary-key-of-a-login\""), "{text}");
    oauth.page(LoginPage::WrongState);
    let mut screen = login(&place, &repository, "openrouter --as b").on_a_keyboard(24, 80);
    let redirect = get(&page(&screen, "/auth?")).location.expect("it sends the browser back");
    let shown = get(&redirect);
    assert!(shown.body.contains("The login failed"), "{shown:?}");
    assert_eq!(screen.wait().code(), Some(1));
    let bytes = screen.bytes();
    let said: Vec<_> = bytes.split_whitespace().collect();
    assert!(said.join(" ").contains("its `state` is that of another one"), "{bytes}");
    // What a script gives is a key.
    let stored = login(&place, &repository, "openrouter").stdin("sk-of-a-script").run();
    assert!(stored.expect_code(0).stdout.contains("the key `default` of openrouter"), "a key");
}

#[test]
fn a_login_that_fails_is_one_clear_error_and_changes_no_file() {
    let place = sandbox();
    let repository = place.repository();
    let (oauth, model) = (OauthServer::start(), LoopbackModel::start());
    let _done = login(&place, &repository, "groq").stdin("canary-other").run().expect_code(0);
    let before = fs::read(keys_file(&place)).expect("it is there");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let port = taken.local_addr().expect("it has one").port();
    let fails = |told: &[&str], text: &str| {
        assert_eq!(text.matches("error:").count(), 1, "{text}");
        for words in told {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(fs::read(keys_file(&place)).expect("it is there"), before, "{text}");
    };
    write_gate(&place, &oauth, "", &model.base_url());
    for (answer, told) in [
        (LoginPage::Denies, "the login was denied: access_denied: Not today"),
        (LoginPage::WrongState, "its `state` is that of another one"),
    ] {
        oauth.page(answer);
        let mut screen = login(&place, &repository, "gate").on_a_keyboard(24, 200);
        let redirect = get(&page(&screen, "/authorize?")).location.expect("it sends it back");
        assert!(get(&redirect).body.contains("The login failed"));
        assert_eq!(screen.wait().code(), Some(1));
        fails(&["cannot log in at gate", told], &screen.bytes().replace("canary-code", "code"));
    }
    // It waits for its end beside the next ones.
    let mut late = login(&place, &repository, "gate --timeout 1s").on_a_keyboard(24, 200);
    let _waits = page(&late, "/authorize?");
    let silent = login(&place, &repository, "gate").run().expect_code(1);
    fails(&["there is no desktop here", "in a terminal", "--key"], &silent.stderr);
    let wrong = login(&place, &repository, "gate").stdin("http://127.0.0.1/x?code=1\n").run();
    fails(&["its `state` is missing"], &wrong.expect_code(1).stderr);
    let redirect = format!(", redirectUrl: 'http://127.0.0.1:{port}/callback'");
    write_gate(&place, &oauth, &redirect, &model.base_url());
    let busy = login(&place, &repository, "gate").run().expect_code(1);
    fails(&[&format!("port {port} of this machine"), "in use", "oauth.redirectUrl"], &busy.stderr);
    write_gate(&place, &oauth, &oauth.device_url(), &model.base_url());
    oauth.device(DeviceAnswer::Denied);
    let denied = login(&place, &repository, "gate --device").run().expect_code(1);
    fails(&["the login was denied"], &denied.stderr);
    oauth.device(DeviceAnswer::Pending);
    oauth.device_lasts(1);
    let expired = login(&place, &repository, "gate --device").run().expect_code(1);
    fails(&["not completed within 1 second"], &expired.stderr);
    assert_eq!(late.wait().code(), Some(1));
    fails(&["cannot log in at gate", "not completed within 1 second"], &late.bytes());
    let none = login(&place, &repository, "groq --browser").run().expect_code(1);
    fails(&["groq has no login, only API keys"], &none.stderr);
    fs::set_permissions(keys_file(&place), fs::Permissions::from_mode(0o400)).expect("ours");
    let closed = login(&place, &repository, "gate --device").run().expect_code(1);
    fails(&["cannot write", "read-only"], &closed.stderr);
    fs::set_permissions(keys_file(&place), fs::Permissions::from_mode(0o600)).expect("ours");
    drop(oauth);
    let gone = login(&place, &repository, "gate --device").run().expect_code(1);
    fails(&["cannot log in at gate", "cannot be reached"], &gone.stderr);
}

/// Logs in at `gate`, and lets what that has brought expire.
fn log_in_and_expire(place: &Sandbox, repository: &Repository, oauth: &OauthServer) {
    oauth.device(DeviceAnswer::Granted);
    let _done = login(place, repository, "gate --device").run().expect_code(0);
    let file = keys_file(place);
    let text = fs::read(&file).expect("it is there");
    let mut document: Value = serde_json::from_slice(&text).expect("it is JSON");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_millis();
    let expires = document["keys"][0]["expires"].as_u64().expect("it is known");
    assert!(u128::from(expires) > now, "{expires}");
    document["keys"][0]["expires"] = json!(1);
    fs::write(&file, document.to_string()).expect("it is ours");
}

#[test]
fn thirty_two_sessions_of_two_processes_renew_an_expired_token_once() {
    let place = sandbox();
    let (oauth, model) = (OauthServer::start(), LoopbackModel::start());
    write_gate(&place, &oauth, &oauth.device_url(), &model.base_url());
    let repositories = [place.repository(), place.repository()];
    log_in_and_expire(&place, &repositories[0], &oauth);
    model.demand_key("canary-access-2");
    let file = keys_file(&place);
    model.otherwise(move |_talk| {
        let file = file.clone();
        let script = move |_: &Asked| {
            let stored = fs::read_to_string(&file).expect("it is there");
            assert!(stored.contains("canary-refresh-2"), "it is durable before it is used");
            Answer::yields(&json!("done"))
        };
        Box::new(script) as Box<dyn Script>
    });
    oauth.hold_renewals();
    let mut runs: Vec<_> = repositories
        .iter()
        .enumerate()
        .map(|(at, repository)| {
            let run = place.regatta(repository.root());
            let run = run.words("run --json --jobs 16 --model gate/m");
            let tasks = (1..=16).map(|task| format!("Do it. {}", marker(&format!("{at}-{task}"))));
            tasks.fold(run, Invocation::arg).start()
        })
        .collect();
    for run in &mut runs {
        let starts = std::iter::from_fn(|| run.next_event());
        let starts = starts.filter(|event| event["type"] == "task_started");
        assert_eq!(starts.take(16).count(), 16);
    }
    oauth.release_renewals();
    for run in runs {
        let _done = run.wait().expect_code(0);
    }
    assert_eq!((oauth.renewals(), model.requests()), (1, 32));
}

#[test]
fn a_token_that_is_refused_is_renewed_once_and_a_login_that_has_ended_is_told() {
    let place = sandbox();
    let repository = place.repository();
    let (oauth, model) = (OauthServer::start(), LoopbackModel::start());
    write_gate(&place, &oauth, &oauth.device_url(), &model.base_url());
    oauth.device(DeviceAnswer::Granted);
    let _done = login(&place, &repository, "gate --device").run().expect_code(0);
    // The provider takes the token back before its time.
    expect_run_with(&place, &repository, &model, "canary-access-2");
    assert_eq!(oauth.renewals(), 1);
    // One that is refused although it is new is no reason for another one.
    model.demand_key("canary-never");
    let refused = run_model(&place, &repository, "gate/m").run().expect_code(5);
    assert_eq!(refused.task("t1")["failure"]["class"], "auth");
    assert_eq!(oauth.renewals(), 2);
    let file = keys_file(&place);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("it is ours");
    let before = fs::read(&file).expect("it is there");
    let closed = run_model(&place, &repository, "gate/m").run().expect_code(5);
    let message = closed.task("t1")["failure"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("cannot write") && message.contains("read-only"), "{message}");
    assert_eq!(oauth.renewals(), 2, "a token that cannot be stored is not asked for");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    oauth.end_logins();
    let ended = run_model(&place, &repository, "gate/m").run().expect_code(5);
    let message = ended.task("t1")["failure"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("the login `default` of gate cannot be renewed"), "{message}");
    assert!(message.contains("regatta login gate") && !ended.to_string().contains("canary"));
    assert_eq!(fs::read(&file).expect("it is there"), before);
}
