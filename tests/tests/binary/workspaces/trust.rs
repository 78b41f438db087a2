//! The trust in what the settings of a repository run: how it is given, listed and ended.

use std::fs;

use tests::sandbox::{Plan, Repository};

use crate::binary::sandbox;

#[test]
fn what_is_trusted_is_what_was_shown_and_a_changed_byte_or_value_ends_it() {
    let place = sandbox();
    let repository = place.repository();
    let proof = |name: &str| place.folder().join(name);
    let script =
        |name: &str| format!("#!/bin/sh\n. tools/more.sh\ntouch '{}'\n", proof(name).display());
    repository.write("tools/more.sh", "true\n");
    repository.write("setup.sh", script("first"));
    repository.make_executable("setup.sh");
    repository.write(".regatta/config.yml", "isolation:\n  setup: ./setup.sh\n");
    repository.commit("a set-up");
    let regatta = |words: &str| place.regatta(repository.root()).words(words).stdin("").run();
    let run = || place.run_in(&repository).exec("echo x > x.txt").run().expect_code(0);
    assert!(regatta("trust").expect_code(1).stderr.contains("regatta trust --yes"));
    let _ended = run();
    assert!(!proof("first").exists(), "it was only shown");
    let shown = regatta("trust --yes").expect_code(0);
    for words in
        [".regatta/config.yml:2: isolation.setup", "$ ./setup.sh", "setup.sh, tools/more.sh"]
    {
        assert!(shown.stdout.contains(words), "{words}: {shown}");
    }
    let trusted = run();
    assert!(proof("first").exists() && !trusted.stderr.contains("trust"), "{trusted}");
    // Other files of the repository may change.
    repository.write("README.md", "other words\n");
    repository.commit("other words");
    assert!(!run().stderr.contains("trust"));

    for (path, text) in [
        ("setup.sh", script("second")),
        ("tools/more.sh", "true \n".to_owned()),
        (".regatta/config.yml", "isolation:\n  setup: [./setup.sh, ./setup.sh]\n".to_owned()),
    ] {
        let before = repository.read(path);
        fs::remove_file(proof("first")).unwrap();
        repository.write(path, text);
        let untrusted = run();
        let told =
            "`isolation.setup` has changed since you trusted it, and does not count: regatta trust";
        assert!(untrusted.stderr.contains(told), "{path}: {untrusted}");
        assert!(!proof("first").exists() && !proof("second").exists(), "{path}: {untrusted}");
        let shown = regatta("trust --json").expect_code(0).json();
        let changes = shown["powers"][0]["changes"].to_string();
        let is_value = path.ends_with("config.yml");
        let expected = if is_value { "its value was" } else { path };
        assert!(changes.contains(expected), "{path}: {shown}");
        repository.write(path, before);
        let _ended = run();
        assert!(proof("first").exists(), "{path} is as it was");
    }

    let listed = regatta("trust --list").expect_code(0);
    assert!(listed.stdout.contains("isolation.setup = ./setup.sh"), "{listed}");
    let _refused = regatta("trust --revoke isolation.nothing").expect_code(1);
    let _revoked = regatta("trust --revoke").expect_code(0);
    fs::remove_file(proof("first")).unwrap();
    assert!(run().stderr.contains("before you trust it"));
    assert!(!proof("first").exists());
    assert_eq!(regatta("trust --list").expect_code(0).stdout, "");
}

#[test]
fn a_retry_sets_up_its_workspaces_with_what_the_user_trusts_at_that_time() {
    let place = sandbox();
    let repository = place.repository();
    let (told, ended) = (place.folder().join("told"), place.folder().join("ended"));
    let script = |name: &str| format!("#!/bin/sh\necho {name} >> '{}'\n", told.display());
    repository.write("setup.sh", script("first"));
    repository.make_executable("setup.sh");
    repository.write(".regatta/config.yml", "isolation.setup: ./setup.sh\n");
    repository.commit("a set-up");
    let regatta = |words: &str| place.regatta(repository.root()).words(words).stdin("").run();
    let _trusted = regatta("trust --yes").expect_code(0);
    let _failed = place.run_in(&repository).exec("false").run().expect_code(5);
    repository.write("setup.sh", script("second"));
    let retry = || {
        let retry = place.regatta(repository.root()).words("runs retry --exec true --notify");
        retry.arg(format!("cat > '{}'", ended.display())).run()
    };
    let refused = retry();
    refused.expect_refusal(&["do not count now", "regatta trust"]);
    let is_told = |expected: &str| assert_eq!(fs::read_to_string(&told).unwrap(), expected);
    is_told("first\n");
    assert!(!ended.exists());
    let _trusted = regatta("trust --yes").expect_code(0);
    let _retried = retry().expect_code(0);
    is_told("first\nsecond\n");
    let ended = fs::read_to_string(&ended).expect("the end of the run is told");
    assert!(ended.contains(r#""type":"run_end""#), "{ended}");
}

#[test]
fn a_command_that_is_not_known_is_trusted_until_the_next_commit_with_other_files() {
    let place = sandbox();
    let repository = place.repository();
    let proof = place.folder().join("proof");
    let setup = format!("isolation.setup: \"truncate -s 0 '{}'\"\n", proof.display());
    repository.write(".regatta/config.yml", setup);
    repository.commit("a set-up");
    let run = || place.run_in(&repository).exec("true").run().expect_code(0);
    let named = place.regatta(repository.root()).words("trust -y limits.turns").run();
    named.expect_refusal(&["cannot be used with"]);
    let _trusted = place.regatta(repository.root()).words("trust -y").run().expect_code(0);
    let _ended = run();
    fs::remove_file(&proof).expect("it has run");
    repository.write("README.md", "other words\n");
    repository.commit("other words");
    let untrusted = run();
    assert!(untrusted.stderr.contains("has changed since you trusted it"), "{untrusted}");
    assert!(!proof.exists());
}

#[test]
fn what_a_trusted_project_runs_is_run_at_its_root_wherever_the_command_is() {
    let place = sandbox();
    let repository = place.repository();
    let told = place.folder().join("told");
    let proof = |name: &str| format!("#!/bin/sh\necho {name} >> '{}'\n", told.display());
    for (path, text) in [
        ("s.sh", proof("setup")),
        ("n.sh", proof("notify")),
        ("sub/s.sh", proof("other setup")),
        ("sub/n.sh", proof("other notify")),
    ] {
        repository.write(path, text);
        repository.make_executable(path);
    }
    repository.write(".regatta/config.yml", "isolation.setup: ./s.sh\nnotify: ./n.sh\n");
    repository.commit("settings");
    let _trusted = place.regatta(repository.root()).words("trust -y").run().expect_code(0);
    let sub = repository.path("sub");
    for (words, expected) in [
        ("run", "setup\nnotify\n"),
        ("run --verify true", "setup\nsetup\nnotify\n"),
        ("run --setup ./s.sh --notify ./n.sh", "other setup\nother notify\n"),
    ] {
        let run = place.regatta(&sub).words(words).exec("echo x >> x.txt").run().expect_code(0);
        assert_eq!(fs::read_to_string(&told).unwrap_or_default(), expected, "{words}: {run}");
        fs::remove_file(&told).unwrap();
    }
    let run = place.regatta(place.folder()).words("run --exec true --repo").arg(&sub);
    let run = run.run().expect_code(0);
    assert_eq!(fs::read_to_string(&told).unwrap_or_default(), "setup\nnotify\n", "{run}");
}

#[test]
fn what_a_task_writes_changes_nothing_in_its_run_and_a_task_trusts_nothing() {
    let place = sandbox();
    let repository = place.repository();
    let proof = place.folder().join("proof");
    let setup = format!("isolation.setup: \"touch {}\"", proof.display());
    let binary = place.binary().display();
    let writes = format!(
        "mkdir .regatta; echo '{setup}' > .regatta/config.yml; '{binary}' trust --yes 2>&1 | grep -q 'a task cannot'"
    );
    let plan = Plan::default().task("writes", &writes);
    let plan = plan.task("works", "test -e .regatta/config.yml").after(&["writes"]);
    let run = place.run_plan(&repository, &plan).run().expect_code(0);
    assert!(repository.has(".regatta/config.yml"), "{run}");
    assert!(!proof.exists(), "{run}");
}

#[test]
fn several_repositories_have_settings_and_trust_of_their_own() {
    let place = sandbox();
    let repositories = ["one", "two"].map(|name| {
        let repository = Repository::init(&place.folder().join(name));
        let proof = place.folder().join(format!("proof-{name}"));
        let settings = format!("isolation.setup: touch {}\nlimits.turns: 3\n", proof.display());
        repository.write(".regatta/config.yml", settings);
        repository.commit("settings");
        repository
    });
    let at = |name: &str| place.regatta(place.folder()).words(name).arg("--repo");
    let _trusted = at("trust --yes").arg(repositories[0].root()).run().expect_code(0);
    let run = at("run --exec true").arg(repositories[0].root()).arg("--repo");
    let run = run.arg(repositories[1].root()).run().expect_code(0);
    assert!(place.folder().join("proof-one").exists(), "{run}");
    assert!(!place.folder().join("proof-two").exists(), "{run}");
    let told = format!("regatta trust --repo {}", repositories[1].root().display());
    assert!(run.stderr.contains(&told), "{run}");
}

#[test]
fn a_file_of_trust_that_cannot_be_used_trusts_nothing_with_one_warning() {
    let place = sandbox();
    let repository = place.repository();
    let proof = place.folder().join("proof");
    let setup = format!("isolation.setup: touch {}\n", proof.display());
    repository.write(".regatta/config.yml", setup);
    repository.commit("a set-up");
    let regatta = |words: &str| place.regatta(repository.root()).words(words).run();
    let _trusted = regatta("trust -y").expect_code(0);
    let file = place.home().data().join("trust.json");
    let whole = fs::read_to_string(&file).expect("it was written");
    for (text, why) in [
        (&whole[..whole.len() / 2], "is not a file of trust"),
        (&whole.replace("\"version\": 1", "\"version\": 2"), "by a newer version"),
        ("", "is not a file of trust"),
    ] {
        fs::write(&file, text).unwrap();
        let run = place.run_in(&repository).exec("true").run().expect_code(0);
        assert_eq!(run.stderr.matches(why).count(), 1, "{run}");
        assert!(!proof.exists(), "{run}");
        for words in ["trust -y", "trust --list", "trust --revoke"] {
            assert!(regatta(words).expect_code(1).stderr.contains(why), "{words}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "it is left as it is");
    }
}

#[test]
fn trust_is_asked_for_on_a_terminal_and_shows_what_cannot_be_seen() {
    let place = sandbox();
    let repository = place.repository();
    let setup = "isolation.setup: \"echo a \\e[2K\\u202e; echo b\\necho c\"\n";
    repository.write(".regatta/config.yml", setup);
    repository.commit("a set-up");
    for (answer, is_trusted) in [("n", false), ("", false), ("y", true)] {
        let mut screen = place.regatta(repository.root()).words("trust").on_a_keyboard(24, 120);
        screen.until("it asks", |text| text.contains("[y/N]"));
        screen.type_line(answer);
        screen.wait();
        let shown = screen.bytes();
        assert!(shown.contains("$ echo a \u{fffd}; echo b"), "{shown}");
        assert!(shown.contains("$ echo c"), "{shown}");
        let listed = place.regatta(repository.root()).words("trust --list").run().expect_code(0);
        assert_eq!(!listed.stdout.is_empty(), is_trusted, "{answer}: {listed}");
    }
}

#[test]
fn settings_are_listed_with_where_they_were_set() {
    let place = sandbox();
    let repository = place.repository();
    repository
        .write(".regatta/config.yml", "limits:\n  wall: 5m\n  turns: 900\nbranch.prefix: theirs\n");
    repository.commit("settings");
    place.home().configure("limits:\n  output: 1 MB\n");
    let config = |words: &str| {
        let regatta = place.regatta(repository.root()).words(words);
        regatta.env("REGATTA_BRANCH_PREFIX", "mine").run()
    };
    let project = repository.path(".regatta/config.yml").display().to_string();
    let user = place.home().config_file().display().to_string();
    let expected = format!(
        "limits.wall = 5m  ({project}:2)\nlimits.output = 1 MB  ({user}:2)\nlimits.turns = 50\n\
         limits.tokens = unset\nlimits.cost = unset\n"
    );
    assert_eq!(config("config limits").expect_code(0).stdout, expected);
    let one = config("config branch.prefix --json").expect_code(0).json();
    let origin = "the variable REGATTA_BRANCH_PREFIX";
    let expected = serde_json::json!({ "key": "branch.prefix", "value": "mine", "origin": origin });
    assert_eq!(one["settings"], serde_json::json!([expected]));
    let all = config("config").expect_code(0).stdout;
    assert!(all.lines().count() > 40, "{all}");
    let error = config("config limits.wal").expect_code(1).stderr;
    assert!(error.contains("regatta config limits.wall"), "{error}");
}
