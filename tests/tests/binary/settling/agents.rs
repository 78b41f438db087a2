//! Conflicts are resolved by an agent: a model in a workspace with the markers and the sides.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;
use test_limit::sample;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// A name that no shell takes for one word.
const ODD: &str = "it's $(touch oops) odd.txt";

fn plan() -> Plan {
    let each = |word: &str| {
        let odd = ODD.replace('\'', r"'\''");
        format!("echo {word} >> list.txt; echo {word} >> '{odd}'; echo {word} > {word}.txt")
    };
    Plan::default().task("ours", &each("ours")).task("theirs", &each("theirs"))
}

/// A repository in which the tasks of [`plan`] can conflict.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    repository.write("list.txt", "first\n");
    repository.write(ODD, "first\n");
    repository.commit("files");
    repository
}

/// A model that runs one command, and yields.
fn model(place: &Sandbox, name: &str, command: &str, last: &str) -> String {
    let mut text = String::from("version = 1\n[[scenario]]\n");
    let when = "(?s)Resolve merge conflicts.*echo ours >> list.*echo theirs >> list";
    writeln!(text, "when = '{when}'\n[[scenario.turn]]").expect("a text takes everything");
    let command = Value::from(command).to_string();
    writeln!(text, "calls = [{{ tool = \"bash\", arguments = {{ command = {command} }} }}]")
        .expect("a text takes everything");
    writeln!(text, "usage = {{ input = 700, output = 30 }}\n[[scenario.turn]]\n{last}")
        .expect("a text takes everything");
    let file: PathBuf = place.folder().join(name);
    std::fs::write(&file, text).expect("it can be written");
    format!("agent:offline/{}", file.display())
}

const YIELDS: &str =
    "calls = [{ tool = \"yield\", arguments = { result = { data = \"merged\" } } }]";

/// Merges both files from their sides, where the markers and the sides are as expected.
const MERGES: &str = "set -e; test $(grep -c '^<<<<<<< ours$' list.txt) = 1
    test \"$(cat .regatta-sides-*/1/BASE)\" = first
    for file in it*odd.txt list.txt; do printf 'first\\nours\\ntheirs\\n' > \"$file\"; done
    diff .regatta-sides-*/2/THEIRS - <<< $'first\\ntheirs'";

#[test]
fn the_agent_for_a_run_in_a_subfolder_is_set_up_and_works_there() {
    let place = sandbox();
    let repository = repository(&place);
    repository.write("web/list.txt", "first\n");
    repository.write("web/only-here", "");
    repository.commit("web");
    let call = place.regatta(&repository.path("web")).words("run --json --setup");
    let call = call.arg("test -f only-here").words("ours theirs --exec");
    let call = call.arg("echo {{item}} >> list.txt # echo ours >> list, echo theirs >> list");
    let _run = call.run().expect_code(4);
    let merges = "set -e; test -f only-here; test \"$(cat ../.regatta-sides-*/1/BASE)\" = first
        printf 'first\\nours\\ntheirs\\n' > list.txt";
    let resolver = model(&place, "web.toml", merges, YIELDS);
    let applied = apply(&place, &repository, &resolver).expect_code(0);
    assert_eq!(repository.text("web/list.txt"), "first\nours\ntheirs\n", "{applied}");
}

fn apply(place: &Sandbox, repository: &Repository, resolver: &str) -> Finished {
    let apply = place.regatta(repository.root()).words("apply").arg(first_run(place, repository));
    apply.words("--resolve").arg(resolver).run()
}

/// Returns the task `theirs` of the run that the test began with: the latest may be that of an agent.
fn first_run(place: &Sandbox, repository: &Repository) -> String {
    let runs = json(place, repository, "runs --json");
    let runs = runs.as_array().expect("it is a list");
    let first = runs.iter().find(|run| run["label"].is_null()).expect("it has no label");
    format!("{}/theirs", first["name"].as_str().expect("it has a name"))
}

fn json(place: &Sandbox, repository: &Repository, words: &str) -> Value {
    let shown = place.regatta(repository.root()).words(words).run().expect_code(0);
    serde_json::from_str(&shown.stdout).expect("it is JSON")
}

#[test]
fn an_agent_resolves_conflicts_and_the_ledger_says_which_and_what_it_used() {
    let place = sandbox();
    let repository = repository(&place);
    let run = place.run_plan(&repository, &plan()).run().expect_code(4);
    let dot_git = repository.dot_git();
    let resolver = model(&place, "good.toml", MERGES, YIELDS);
    let applied = apply(&place, &repository, &resolver).expect_code(0);
    for file in [ODD, "list.txt"] {
        assert_eq!(repository.text(file), "first\nours\ntheirs\n", "{applied}");
    }
    assert_eq!(repository.text("theirs.txt"), "theirs\n");
    assert!(!repository.path("oops").exists());
    assert_eq!(dot_git.differences(&repository.dot_git()), Vec::<String>::new());

    let name = run.events_of("run_started")[0]["run"].as_str().expect("it has a name").to_owned();
    let shown = json(&place, &repository, &format!("runs show {name} --json"));
    let task = &shown["tasks"][1];
    let settled = task["settled"]["conflicts"].as_array().expect("conflicts were settled");
    assert_eq!(settled.len(), 2, "{task}");
    for conflict in settled {
        let recorded = &conflict["resolver"];
        assert_eq!(conflict["by"], "resolver", "{task}");
        assert_eq!(recorded["program"], *resolver, "{task}");
        let capture = format!("refs/tasks/{name}/theirs.resolve/1");
        assert_eq!(recorded["capture"], capture, "{task}");
        let of_agent = recorded["run"].as_str().expect("it has a run");
        let agent = json(&place, &repository, &format!("runs show {of_agent} --json"));
        assert_eq!(agent["run"]["label"], format!("resolve {name}/theirs"));
        let used = agent["run"]["usage"]["input"].as_u64().expect("tokens were used");
        assert!(used >= 700, "{agent}");
        assert!(agent["tasks"][0]["discarded"].is_string(), "{agent}");
    }
    let shown = place.regatta(repository.root()).words("runs show").arg(&name).run();
    let shown = shown.expect_code(0);
    assert!(shown.stdout.contains("list.txt was resolved by `agent:offline/"), "{shown}");
    // Nothing is kept besides what was resolved, which is listed and discarded with its task.
    let resolved = format!("{name}/theirs.resolve/1");
    let kept = || -> Vec<String> {
        let captures = place.home().captures().into_iter();
        captures.filter(|capture| capture.contains("resolve")).collect()
    };
    assert_eq!(kept(), [resolved.as_str()]);
    let gc = place.regatta(repository.root()).words("gc --older-than 0s --dry-run").run();
    let gc = gc.expect_code(0);
    assert!(gc.stdout.contains("would remove  3 captures"), "what settled goes with it: {gc}");
    for (words, left) in [("discard --dry-run", 1), ("discard", 0)] {
        let gone = place.regatta(repository.root()).words(words).arg(&name).run().expect_code(0);
        let line = format!("theirs  output of a resolver: refs/tasks/{resolved}");
        assert!(gone.stdout.contains(&line), "{gone}");
        assert_eq!(kept().len(), left, "{words}");
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn nothing_lands_without_a_model_or_of_what_an_agent_makes_that_is_refused_of_a_command_too() {
    let place = sandbox();
    let repository = repository(&place);
    let _run = place.run_plan(&repository, &plan()).run().expect_code(4);
    let before = repository.tree();
    for (resolver, said) in [
        ("agent", "no model is named"),
        ("agent:", "a model is PROVIDER/ID"),
        ("agent:smol", "no model has the role `smol`"),
        ("agent:offline/gone.toml", "gone.toml"),
        (" ", "it names no command"),
    ] {
        apply(&place, &repository, resolver).expect_refusal(&[said]);
        assert_eq!(repository.tree(), before, "{resolver}");
    }
    place.expect_nothing_left(&repository);
    let both = |text: &str| {
        format!("for file in it*odd.txt list.txt; do printf '{text}' > \"$file\"; done")
    };
    let gives_up =
        "calls = [{ tool = \"yield\", arguments = { result = { error = \"no idea\" } } }]";
    let refusals = [
        (both("first\\nours\\n"), YIELDS, "it left the file as it was, or wrote the version"),
        (both("first\\nours\\nmore\\n"), YIELDS, "nothing of theirs is left"),
        (both("first\\ntheirs\\n"), YIELDS, "nothing of ours is left"),
        ("sed -i '1s/^/more\\n/' list.txt it*odd.txt".into(), YIELDS, "markers of a conflict"),
        (both("first\\nours\\n=======\\ntheirs\\n"), YIELDS, "markers of a conflict"),
        ("echo x > elsewhere.txt".to_owned(), YIELDS, "it left the file as it was"),
        ("rm list.txt it*odd.txt".to_owned(), YIELDS, "its agent removed the file"),
        (both("first\\nours\\ntheirs\\n"), gives_up, "its agent failed"),
        ("true".to_owned(), YIELDS, "it left the file as it was"),
    ];
    // What is refused of what is written: cli/src/commands/side_check.rs.
    let refusals = sample(refusals, 4);
    for (command, last, said) in &refusals {
        let resolver = model(&place, "bad.toml", command, last);
        let refused = apply(&place, &repository, &resolver).expect_code(4);
        assert!(refused.stderr.contains("the resolver did not settle"), "{command}: {refused}");
        assert!(refused.stderr.contains(said), "{command}: {refused}");
        assert!(refused.stderr.contains("logs r"), "{command}: {refused}");
        assert_eq!(repository.tree(), before, "{command}");
    }
    let name = first_run(&place, &repository);
    let shown = json(&place, &repository, &format!("runs show {} --json", &name[..name.len() - 7]));
    let failures = shown["tasks"][1]["unresolved"].as_array().expect("it is a list");
    assert_eq!(failures.len(), refusals.len(), "{shown}");
    assert!(failures.iter().all(|failure| failure["resolver"]["run"].is_string()), "{shown}");
    let resolver = model(&place, "bad.toml", &both("first\\ntheirs\\n"), YIELDS);
    let loss =
        place.regatta(repository.root()).words("apply --allow-loss --resolve").arg(&resolver);
    let _applied = loss.arg(first_run(&place, &repository)).run().expect_code(0);
    assert_eq!(repository.text("list.txt"), "first\ntheirs\n");
}

#[test]
fn a_run_with_an_agent_as_its_resolver_lands_what_conflicts_and_says_so_in_an_event() {
    let place = sandbox();
    let repository = repository(&place);
    let resolver = model(&place, "good.toml", MERGES, YIELDS);
    let run = place.run_plan(&repository, &plan()).words("--resolve").arg(&resolver).run();
    let run = run.expect_code(0);
    assert_eq!(repository.text("list.txt"), "first\nours\ntheirs\n", "{run}");
    let events: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let [.., finished, resolved] = events.as_slice() else { panic!("{run}") };
    assert_eq!(finished["type"], "run_finished", "{run}");
    assert_eq!(resolved["type"], "conflicts_resolved", "{run}");
    assert_eq!((&resolved["task"], &resolved["landing"]), (&"theirs".into(), &"landed".into()));
    assert_eq!(resolved["seq"].as_u64(), finished["seq"].as_u64().map(|seq| seq + 1), "{run}");
    assert_eq!(resolved["settled"]["conflicts"][1]["resolver"]["program"], *resolver, "{run}");
}
