//! The keys of providers: where they come from, in which order, and that nothing ever shows them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use test_limit::{Depth, depth, eventually};
use tests::model::{Answer, Asked, LoopbackModel};
use tests::sandbox::{Finished, Repository, Sandbox};

use super::directory::{run_model, write_models};
use crate::binary::sandbox;

fn keys_file(place: &Sandbox) -> PathBuf {
    place.home().config_file().with_file_name("auth.json")
}

fn login(place: &Sandbox, repository: &Repository, words: &str, key: &str) -> Finished {
    place.regatta(repository.root()).words("login").words(words).stdin(key).run()
}

/// Returns the files below `folder` that contain `word`.
fn files_with(folder: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder can be read").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("it has a kind"));
        if kind.is_dir() {
            found.extend(files_with(&path, word));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes.windows(word.len()).any(|window| window == word.as_bytes()) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_key_given_goes_before_the_stored_one_the_environment_and_the_file_and_none_is_ever_shown() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    write_models(
        &place,
        &format!(
            "providers:\n  gate:\n    baseUrl: {}\n    apiKey: '!echo canary-file-1'\n    api: openai-completions\n    \
             headers: {{ X-Team: canary-header-1 }}\n    models: [{{ id: m }}]\n",
            model.base_url()
        ),
    );
    let run = |options: &str, variable: &str| {
        model.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
        let run = run_model(&place, &repository, "gate/m").words(options);
        let run = run.env("RUST_LOG", "trace").words("-v");
        let run = if variable.is_empty() { run } else { run.env("GATE_API_KEY", variable) };
        run.run()
    };
    let mut told = Vec::new();
    let mut expect = |key: &str, options: &str, variable: &str| {
        model.demand_key(key);
        let finished = run(options, variable).expect_code(0);
        told.push(format!("{}{}", finished.stdout, finished.stderr));
    };
    expect("canary-file-1", "", "");
    expect("canary-env-1", "", "canary-env-1");
    let _done = login(&place, &repository, "gate", "canary-stored-1\n").expect_code(0);
    let _done = login(&place, &repository, "gate --as work", "canary-stored-2\n").expect_code(0);
    expect("canary-stored-1", "", "canary-env-1");
    expect("canary-given-1", "--api-key canary-given-1", "canary-env-1");
    let _done =
        place.regatta(repository.root()).words("logout gate --as default").run().expect_code(0);
    expect("canary-stored-2", "", "canary-env-1");
    let _done = place.regatta(repository.root()).words("logout gate").run().expect_code(0);
    expect("canary-env-1", "", "canary-env-1");
    let _done = login(&place, &repository, "gate", "canary-stored-3").expect_code(0);
    model.demand_key("another");
    let refused = run("", "");
    told.push(format!("{}{}", refused.stdout, refused.stderr));
    for words in ["models --json --all", "models -v", "runs show --json", "logs"] {
        let shown = place.regatta(repository.root()).words(words).run();
        told.push(format!("{}{}", shown.stdout, shown.stderr));
    }
    assert_eq!(told.iter().filter(|text| text.contains("canary-")).count(), 0, "{told:#?}");
    let files = files_with(place.home().folder(), "canary-");
    assert_eq!(files, ["auth.json", "models.yml"]);
    assert_eq!(files_with(repository.root(), "canary-"), Vec::<String>::new());
}

#[test]
fn a_key_that_is_typed_at_a_terminal_is_not_shown() {
    const KEY: &str = "canary-typed-1";
    let place = sandbox();
    let repository = place.repository();
    let login = place.regatta(repository.root()).words("login openai");
    // The key is asked for at the terminal of the process, which another program makes it.
    let mut screen = login.shell("exec setsid --ctty \"$0\" \"$@\"").on_a_keyboard(24, 100);
    screen.until("it asks", |text| text.contains("API key of openai (as in OPENAI_API_KEY), not"));
    eventually(Duration::from_secs(60), "nothing is shown any more", || !screen.echoes());
    screen.type_line(KEY);
    let status = screen.wait();
    let shown = screen.bytes();
    assert!(status.success() && !shown.contains("canary"), "{status}: {shown}");
    assert!(shown.contains("the key `default` of openai is stored"), "{shown}");
    assert!(screen.echoes(), "the terminal is as it was");
    let stored = fs::read_to_string(keys_file(&place)).expect("it was written");
    assert!(stored.contains(KEY), "it is what was typed");
}

#[test]
fn a_stored_key_is_not_sent_to_an_address_that_a_run_names() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let _done = login(&place, &repository, "openai", "canary-stored").expect_code(0);
    let run =
        run_model(&place, &repository, "openai/gpt-5").arg("--base-url").arg(model.base_url());
    run.run()
        .expect_code(1)
        .expect_refusal(&["cannot use the model openai/gpt-5", "address of openai only"]);
    assert_eq!(model.requests(), 0);
}

#[test]
fn what_is_no_key_or_no_provider_is_refused_and_the_file_stays_as_it_was() {
    let place = sandbox();
    let repository = place.repository();
    let _done = login(&place, &repository, "openai", "canary-good").expect_code(0);
    let file = keys_file(&place);
    let before = fs::read(&file).expect("it was written");
    for (words, key, told) in [
        ("openai", "canary\nbad", "not an API key"),
        ("openai", "", "it is empty"),
        ("openai", "canary\u{0}bad", "not an API key"),
        ("openai --as a/b", "canary", "a key is named by"),
        ("opnai", "canary", "no provider is called `opnai`"),
    ] {
        let finished = login(&place, &repository, words, key).expect_code(1);
        assert!(
            finished.stderr.contains(told) && !finished.stderr.contains("canary"),
            "{finished}"
        );
        assert_eq!(finished.stderr.matches("error:").count(), 1, "{finished}");
        assert_eq!(fs::read(&file).expect("it is there"), before, "{words}");
    }
    let none = place.regatta(repository.root()).words("logout groq").run().expect_code(1);
    none.expect_refusal(&["no key of groq is stored"]);
}

#[test]
fn a_file_of_keys_that_is_torn_is_left_alone_and_one_that_others_can_read_is_closed() {
    let place = sandbox();
    let repository = place.repository();
    let _done = login(&place, &repository, "openai", "canary-good").expect_code(0);
    let file = keys_file(&place);
    let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode));
    mode(0o644).expect("it is ours");
    let told = place.regatta(repository.root()).words("models").run().expect_code(0);
    assert!(told.stderr.contains("auth.json could be read by others (mode 0644)"), "{told}");
    let now = fs::metadata(&file).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(now, 0o600);
    mode(0o400).expect("it is ours");
    login(&place, &repository, "groq", "canary-new")
        .expect_code(1)
        .expect_refusal(&["cannot write", "read-only"]);
    mode(0o600).expect("it is ours");
    let torn = "{ \"version\": 1, \"keys\": [ { \"key\": \"canary-to";
    fs::write(&file, torn).expect("it is ours");
    for words in ["login groq", "logout openai"] {
        let run = place.regatta(repository.root()).words(words).stdin("canary-new").run();
        run.expect_code(1)
            .expect_refusal(&["auth.json:1: it is not valid JSON", "the file is unchanged"]);
    }
    let used =
        run_model(&place, &repository, "openai/gpt-5").env("OPENAI_API_KEY", "canary-env").run();
    used.expect_code(1).expect_refusal(&["cannot use the model openai/gpt-5", "auth.json:1: "]);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), torn);
}

#[test]
fn a_command_for_a_key_that_hangs_or_fails_is_ended_and_told() {
    let place = sandbox();
    let repository = place.repository();
    let gate = |command: &str| {
        write_models(
            &place,
            &format!(
                "providers:\n  gate: {{ baseUrl: 'https://gate.example/v1', api: openai-completions, apiKey: '!{command}', models: [{{ id: m }}] }}\n"
            ),
        );
        run_model(&place, &repository, "gate/m").run().expect_code(1)
    };
    let failed = gate("echo canary-1; exit 7");
    assert!(!failed.to_string().contains("canary-1"), "{failed}");
    failed.expect_refusal(&["`providers.gate.apiKey` of ", "its command failed: exit status: 7"]);
    // A command has ten seconds, of which a test beside it takes one.
    if depth() == Depth::Full {
        test_limit::waits("a command hangs");
        gate("sleep 600").expect_refusal(&["its command took longer than 10 seconds"]);
    }
}
