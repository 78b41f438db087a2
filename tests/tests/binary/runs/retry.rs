//! `regatta runs retry`: tasks of an earlier run, once more.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::model::{Answer, LoopbackModel, marker, steps};
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox, eventually};

use crate::binary::agents::work::run_with;
use crate::binary::sandbox;

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Begins a retry that tells its events.
fn retry(place: &Sandbox, repository: &Repository, words: &str) -> Invocation {
    place.regatta(repository.root()).words("runs retry --json").words(words)
}

/// Returns the specifications of the tasks of a run, as the ledger has them, by name.
fn specs(place: &Sandbox, run: &str) -> Vec<(String, Value)> {
    let query = format!(
        "SELECT task.name, task.spec FROM task JOIN run ON run.number = task.run
         WHERE run.name = '{run}' ORDER BY task.name"
    );
    place.home().ledger(&query, |row| {
        let spec: String = row.get(1)?;
        let mut spec: Value = serde_json::from_str(&spec).expect("a specification is JSON");
        spec["id"].take();
        Ok((row.get(0)?, spec))
    })
}

#[test]
fn after_ctrl_c_the_last_lines_name_the_retry_and_it_does_the_rest() {
    let place = sandbox();
    let repository = place.repository();
    let (mark, go) = (place.folder().join("at-work"), place.folder().join("go"));
    let wait = format!(
        "test \"$(cat first.txt)\" = first && test \"$(cat \"$REGATTA_INPUTS/first.json\")\" = '\"said\"' \
         || exit 9; : > {}; while ! [ -e {} ]; do sleep 0.05; done; echo second > second.txt",
        mark.display(),
        go.display()
    );
    let plan = Plan::default()
        .task("first", "echo first > first.txt; echo said")
        .task("second", &wait)
        .after(&["first"])
        .task("third", "test -f second.txt && echo third > third.txt")
        .after(&["second"]);
    let run = place.regatta(repository.root()).words("run --plan -").stdin(plan.text()).start();
    eventually(Duration::from_secs(60), "the second is at work", || mark.exists());
    run.signal(Signal::INT);
    let finished = run.wait().expect_code(130);
    let run =
        regatta(&place, &repository, "runs --json").json()[0]["name"].as_str().unwrap().to_owned();
    let command = format!("regatta runs retry {run} --cancelled");
    assert!(finished.stdout.contains(&command), "{command} in {finished}");
    let shown = regatta(&place, &repository, "runs show").expect_code(0);
    assert!(shown.stdout.contains(&command), "{command} in {shown}");

    // The first is done, but nothing has landed: the retry says what comes first.
    let words = format!("{run} --cancelled");
    let early = retry(&place, &repository, &words).run();
    early.expect_refusal(&[
        "second",
        "first",
        "has not landed",
        &format!("regatta apply {run}/first"),
    ]);
    let _applied = regatta(&place, &repository, &format!("apply {run}/first")).expect_code(0);

    std::fs::write(&go, "").unwrap();
    let finished = retry(&place, &repository, &words).run().expect_code(0);
    assert_eq!(finished.events()[0]["retry_of"], run.as_str(), "{finished}");
    assert_eq!(finished.names_in("task_queued"), ["second", "third"], "{finished}");
    assert_eq!(finished.landed(), ["second", "third"], "{finished}");
    assert_eq!(repository.text("third.txt"), "third\n");
    assert_ne!(finished.run_name(), run);
    let json = regatta(&place, &repository, "runs show --json").expect_code(0).json();
    assert_eq!(json["run"]["spec"]["retry_of"], run.as_str(), "{json}");
    let shown = regatta(&place, &repository, "runs show").expect_code(0);
    assert!(shown.stdout.contains(&format!("retries {run}")), "{shown}");
    place.expect_nothing_left(&repository);
}

#[test]
fn what_failed_is_done_again_with_the_same_words_limits_and_settings_whatever_became_of_the_plan() {
    let place = sandbox();
    let repository = place.repository();
    let items = "a b.txt\n$(x).txt\n";
    let script = "test -f \"$REGATTA_REPO/../go\" || exit 3; echo {{item}} >> out-{{index}}.txt";
    let run =
        place.run_in(&repository).words("--each - --jobs 1 --limit wall=17m --limit output=5MB");
    let run = run.arg("--setup").arg("echo made > made.txt").stdin(items).exec(script);
    let run = run.run().expect_code(5).run_name();
    std::fs::write(place.folder().join("go"), "").unwrap();
    let finished = retry(&place, &repository, &format!("{run} --failed")).run().expect_code(0);
    let again = finished.run_name();
    assert_eq!(specs(&place, &again), specs(&place, &run), "all but the ids");
    assert_eq!(specs(&place, &run)[0].1["limits"]["wall"], json!({ "secs": 17 * 60, "nanos": 0 }));
    let (first, started) = (&finished.events()[0], finished.events_of("workspace_set_up"));
    assert_eq!((&first["jobs"], started.len()), (&json!(1), 2), "{finished}");
    assert_eq!(first["needs"]["setup"], json!(["echo made > made.txt"]));
    assert_eq!(repository.text("out-1.txt"), "a b.txt\n");
    assert_eq!(repository.text("out-2.txt"), "$(x).txt\n");
    let nothing = retry(&place, &repository, &again).run();
    nothing.expect_refusal(&["nothing", &again, "--all"]);

    // An item names its task here, too.
    let one = place.regatta(repository.root()).words("runs retry --json --dry-run").arg(&again);
    let one = one.arg("a b.txt").run().expect_code(0).json();
    assert_eq!(one["tasks"].as_array().map(Vec::len), Some(1), "{one}");
    let words = format!("{again} --all --jobs 2 --limit wall=2h");
    let all = retry(&place, &repository, &words).run().expect_code(0);
    let changed = specs(&place, &all.run_name());
    assert_eq!(changed.len(), 2);
    assert_eq!(changed[0].1["limits"]["wall"]["secs"], 7200);
    assert_eq!(changed[0].1["limits"]["output"], 5_000_000, "what is not named stays");
    assert_eq!(all.events()[0]["jobs"], 2);
    assert_eq!(repository.text("out-1.txt"), "a b.txt\na b.txt\n", "on the tree as it is now");
}

#[test]
fn tasks_are_chosen_by_their_names_by_how_they_ended_or_by_both() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let plan = Plan::default()
        .task("red", "echo red > colour.txt")
        .task("blue", "cat colour.txt > was.txt; echo blue > colour.txt")
        .task("on-blue", "echo more >> was.txt")
        .after(&["blue"])
        .task("bad", "exit 3")
        .task("after-bad", "true")
        .after(&["bad"])
        .task("good", "true");
    let run = place.run_plan(&repository, &plan).run().expect_code(3).run_name();
    let tasks = |words: &str| {
        let listed = retry(&place, &repository, &format!("--dry-run {run} {words}")).run();
        let listed = listed.expect_code(0).json();
        assert_eq!(listed["retry_of"], run.as_str());
        let names = listed["tasks"].as_array().unwrap().iter();
        names.map(|task| task["task"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tasks(""), ["bad", "after-bad"]);
    assert_eq!(tasks("--failed"), ["bad", "after-bad"]);
    assert_eq!(tasks("--conflicted"), ["blue", "on-blue"]);
    assert_eq!(tasks("--conflicted --failed"), ["blue", "on-blue", "bad", "after-bad"]);
    assert_eq!(tasks("--all").len(), 6);
    assert_eq!(tasks("good bad"), ["bad", "good"], "in their order");
    assert_eq!(tasks("good bad --failed"), ["bad"]);
    let named = retry(&place, &repository, &format!("--dry-run {run}/good bad")).run();
    assert_eq!(named.expect_code(0).json()["tasks"].as_array().map(Vec::len), Some(2));
    let text = regatta(&place, &repository, &format!("runs retry {run} --dry-run")).expect_code(0);
    assert!(
        text.stdout.contains("2 tasks") && text.stdout.contains("nothing was started"),
        "{text}"
    );

    let finished = retry(&place, &repository, "--conflicted").run().expect_code(0);
    assert_eq!(finished.landed(), ["blue", "on-blue"], "{finished}");
    assert_eq!(repository.text("was.txt"), "red\nmore\n", "what the other landed is there now");
    assert_eq!(repository.text("colour.txt"), "blue\n");
}

#[test]
fn a_model_is_asked_the_same_again_or_another_one_is() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.talk("find", steps(vec![Answer::yields(&json!({ "file": "a.txt" }))]));
    let give_up = json!({ "result": { "error": "no" } });
    model.talk("use", steps(vec![Answer::call("yield", &give_up)]));
    let plan = Plan::default()
        .top("context = \"It is a library.\"")
        .agent("find", &format!("Find it. {}", marker("find")))
        .agent("use", &format!("Use {{{{tasks.find.yield.file}}}}. {}", marker("use")))
        .after(&["find"]);
    let run = run_with(&place, &repository, &plan, &model).words("--limit turns=7").run();
    let run = run.expect_code(3).run_name();
    let first = model.asked("use")[0].clone();
    assert!(first.prompt().contains("Use a.txt."), "{}", first.prompt());

    model.talk("use", steps(vec![Answer::call("yield", &give_up)]));
    let again = retry(&place, &repository, &run).run().expect_code(5);
    let second = model.asked("use")[0].clone();
    assert_eq!(second.prompt(), first.prompt(), "the yield of the done one is in it: {again}");
    assert_eq!(second.model(), first.model());
    assert_eq!(specs(&place, &again.run_name())[0].1["limits"]["turns"], 7);

    // A retry of the retry still knows what the first run's task yielded.
    let other = LoopbackModel::start();
    other.talk("use", steps(vec![Answer::yields(&json!("used"))]));
    let words = format!("--model loopback/{} --base-url {}", LoopbackModel::ID, other.base_url());
    let finished = retry(&place, &repository, &words).run().expect_code(0);
    assert_eq!(finished.events()[0]["retry_of"], again.run_name().as_str());
    assert_eq!(other.asked("use")[0].prompt(), first.prompt());
    assert_eq!(finished.task("use")["yield"], "used", "{finished}");

    let family = retry(&place, &repository, &format!("{run} --dry-run --model sonnet"));
    let family = family.env("ANTHROPIC_API_KEY", "canary").run().expect_code(0);
    let meant = "note: `sonnet` is the model anthropic/claude-sonnet-";
    assert!(family.stderr.contains(meant), "{family}");
}

#[test]
fn a_scripted_model_is_found_from_every_folder() {
    let place = sandbox();
    let repository = place.repository();
    let scenario = "version = 1\n\n[[turn]]\ncalls = [{ tool = \"yield\", arguments = { result = \
                    { error = \"no\" } } }]\n";
    repository.write("scenario.toml", scenario);
    let run = place.run_in(&repository).words("--model offline/scenario.toml -- Do").run();
    let run = run.expect_code(5).run_name();
    let elsewhere = place.regatta(&repository.path("src")).words("runs retry --json").run();
    let _asked_again = elsewhere.expect_code(5);
    let earlier = specs(&place, &run)[0].1["work"]["model"].clone();
    assert!(earlier["id"].as_str().unwrap().ends_with("app/scenario.toml"), "{earlier}");
}

#[test]
fn work_on_a_branch_counts_once_it_is_merged() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("one", "echo one > one.txt")
        .task("two", "test \"$(cat one.txt)\" = one && test -e \"$REGATTA_REPO/../go\"; exit $?")
        .after(&["one"]);
    let run = place.run_plan(&repository, &plan).words("--merge branch").run().expect_code(3);
    let run = run.run_name();
    std::fs::write(place.folder().join("go"), "").unwrap();
    let merge = format!("git merge regatta/{run}/one");
    retry(&place, &repository, &run).run().expect_refusal(&["two", "one", "branch", &merge]);
    repository.git(&["merge", "--quiet", &format!("regatta/{run}/one")]);
    let finished = retry(&place, &repository, &run).run().expect_code(0);
    assert_eq!(finished.names_in("task_finished"), ["two"], "{finished}");
}

#[test]
fn no_key_is_in_the_ledger_and_the_retry_gets_it_from_its_own_environment() {
    let place = sandbox();
    let repository = place.repository();
    let right = place.folder().join("right");
    std::fs::write(&right, "canary-2\n").unwrap();
    let script = format!("test \"$OPENAI_API_KEY\" = \"$(cat {})\"", right.display());
    let run = place.run_in(&repository).words("--pass-env OPENAI_API_KEY").exec(&script);
    let run = run.env("OPENAI_API_KEY", "canary-1").run().expect_code(5).run_name();
    let finished = retry(&place, &repository, &run).env("OPENAI_API_KEY", "canary-2").run();
    assert_eq!(finished.events()[0]["pass_env"], json!(["OPENAI_API_KEY"]), "{finished}");
    let _passed = finished.expect_code(0);
    let files = std::fs::read_dir(place.home().data()).unwrap().flatten();
    let ledger: Vec<_> =
        files.filter(|file| file.file_name().to_string_lossy().starts_with("ledger.db")).collect();
    assert!(!ledger.is_empty());
    for file in ledger {
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(!bytes.windows(7).any(|word| word == b"canary-"), "{file:?}");
    }
}
