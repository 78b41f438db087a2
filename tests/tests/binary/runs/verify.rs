//! `--verify`: the merged work is verified before it lands, and what breaks it is kept.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_limit::{by_depth, sample};
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

/// A verification that counts its calls in a file outside.
struct Check {
    calls: PathBuf,
}

impl Check {
    fn of(place: &Sandbox) -> Self {
        Self { calls: place.folder().join("calls") }
    }

    /// Returns the command that notes what is in `parts/`, and then does what `script` says.
    fn command(&self, script: &str) -> String {
        format!("echo $(ls parts 2>/dev/null) >> '{}'; {script}", self.calls.display())
    }

    /// Returns what was there at each call.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.calls).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Returns a plan of tasks that each make a file of their name in `parts/`.
fn parts(names: &[&str]) -> Plan {
    let part = |plan: Plan, name: &&str| {
        plan.task(name, &format!("mkdir -p parts; echo {name} > parts/{name}"))
    };
    names.iter().fold(Plan::default(), part)
}

fn has(name: &str) -> String {
    format!("test -e parts/{name}")
}

fn verified(run: Invocation, command: &str) -> Invocation {
    run.arg("--verify").arg(command)
}

fn unverified(finished: &Finished) -> Vec<(String, Value)> {
    let of = |event: &Value| {
        (event["task"].as_str().expect("it has a task").to_owned(), event["with"].clone())
    };
    finished.events_of("task_unverified").iter().map(of).collect()
}

fn landed_parts(repository: &Repository) -> Vec<String> {
    let Ok(entries) = fs::read_dir(repository.path("parts")) else { return Vec::new() };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn of_many_tasks_two_that_break_it_alone_and_one_of_a_pair_are_kept() {
    // How many there are, those that break it alone, and the pair.
    let (count, alone, pair) =
        by_depth((8, ["t02", "t05"], ["t03", "t07"]), (32, ["t05", "t18"], ["t11", "t27"]));
    let place = sandbox();
    let repository = place.repository().watched();
    let check = Check::of(&place);
    let names: Vec<String> = (1..=count).map(|task| format!("t{task:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let script = check.command(&format!(
        "{} && {{ echo broken alone; exit 3; }}; {} && {{ echo broken alone too; exit 4; }}; \
         {} && {} && {{ echo broken together; exit 5; }}; true",
        has(alone[0]),
        has(alone[1]),
        has(pair[0]),
        has(pair[1]),
    ));
    let finished = verified(place.run_plan(&repository, &parts(&names)), &script).run();
    let finished = finished.expect_code(4);
    let kept = unverified(&finished);
    let wanted = [(alone[0], Value::Null), (alone[1], Value::Null), (pair[1], json!([pair[0]]))];
    assert_eq!(kept, wanted.map(|(name, with)| (name.to_owned(), with)), "{finished}");
    assert_eq!(finished.landed().len(), count - 3, "{finished}");
    let kept = [alone[0], alone[1], pair[1]];
    let there: Vec<_> = names.iter().copied().filter(|name| !kept.contains(name)).collect();
    assert_eq!(landed_parts(&repository), there);
    // Three tasks to blame, at most 2 * log2(count) + 1 verifications for each.
    let calls = check.calls();
    let most = 3 * (2 * count.ilog2() as usize + 1);
    assert!(calls.len() <= most, "{} verifications: {calls:#?}", calls.len());
    assert_eq!(calls.last().map(String::as_str), Some(there.join(" ").as_str()), "the last passes");
    let (started, ended) =
        (finished.events_of("verification_started"), finished.events_of("verification_finished"));
    assert_eq!((started.len(), ended.len()), (calls.len(), calls.len()));
    assert_eq!(started[0]["tasks"].as_array().map(Vec::len), Some(count));
    assert_eq!(
        (&ended[0]["passed"], &ended.last().unwrap()["passed"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(finished.events_of("landing_started")[0]["tasks"], count - 3, "{finished}");
    place.expect_nothing_left(&repository);
    expect_kept_work_shown(&place, &repository, &finished, alone[0], pair);
}

/// Checks what is said about work that was kept, `alone` or the second of a `pair`, and what can be
/// done about it.
fn expect_kept_work_shown(
    place: &Sandbox,
    repository: &Repository,
    finished: &Finished,
    alone: &str,
    [first, second]: [&str; 2],
) {
    let (run, landed) = (finished.run_name(), finished.landed().len());
    let text =
        |words: &str| place.regatta(repository.root()).words(words).run().expect_code(0).stdout;
    let shown = text(&format!("runs show {run}"));
    assert!(shown.contains(&format!("together with {first}: ")), "{shown}");
    assert!(
        shown.contains(&format!("{landed} landed")) && shown.contains("3 unverified"),
        "{shown}"
    );
    assert!(shown.contains("broken together") && shown.contains("/.verify/"), "{shown}");
    assert!(shown.contains(&format!("regatta apply {run}/{alone}")), "{shown}");
    let log = text(&format!("logs {run}/{second}"));
    let together = format!("verification\ntogether with {first}: ");
    assert!(log.contains(&together) && log.contains("broken together"), "{log}");
    let timing = text(&format!("runs show {run} --timing"));
    assert!(timing.lines().any(|line| line.starts_with("verify ")), "{timing}");
    let document = place.regatta(repository.root()).words(&format!("runs show {run} --json")).run();
    let tasks = document.expect_code(0).json()["tasks"].clone();
    let of = |name: &str| {
        let tasks = tasks.as_array().expect("a list");
        tasks.iter().find(|task| task["name"] == name).expect("it is listed")["landing"].clone()
    };
    let of_second = of(second);
    assert_eq!(of_second["landing"], "unverified", "{tasks}");
    assert_eq!((&of_second["cause"], &of_second["with"]), (&json!("work"), &json!([first])));
    let output = of_second["output"].as_str().expect("it names a file").to_owned();
    assert_eq!(fs::read_to_string(output).expect("it is there"), "broken together\n");

    // Nothing that failed lands unless it is named.
    let all = text(&format!("apply {run}"));
    assert!(
        all.contains("nothing of run") && all.contains(&format!("apply {run}/{alone}")),
        "{all}"
    );
    let applied = place.regatta(repository.root()).words(&format!("apply {run}/{alone}")).run();
    let applied = applied.expect_code(0);
    assert!(applied.stderr.contains(&format!("note: {alone} lands unverified: ")), "{applied}");
    assert!(repository.has(format!("parts/{alone}")));
}

#[test]
fn work_that_passes_takes_one_verification_and_lands_in_every_mode() {
    let modes = ["--merge patch", "--merge branch", "--merge stack", "--onto main"];
    let searched = sample(modes, 1);
    for merge in modes {
        let place = sandbox();
        let repository = place.repository();
        let check = Check::of(&place);
        let command = check.command(&format!("{} && {}", has("a"), has("b")));
        let run = place.run_plan(&repository, &parts(&["a", "b"])).words(merge);
        let finished = verified(run, &command).run().expect_code(0);
        assert_eq!(finished.landed(), ["a", "b"], "{merge}: {finished}");
        assert_eq!(check.calls(), ["a b"], "{merge}");
        assert_eq!(finished.events_of("run_started")[0]["verify"], json!([command]));
        place.expect_nothing_left(&repository);
        if !searched.contains(&merge) {
            continue;
        }

        let broken = check.command(&format!("! {}", has("d")));
        let run = place.run_plan(&repository, &parts(&["c", "d", "e"])).words(merge);
        let finished = verified(run, &broken).run().expect_code(4);
        assert_eq!(finished.landed(), ["c", "e"], "{merge}: {finished}");
        assert_eq!(unverified(&finished), [("d".to_owned(), Value::Null)], "{merge}");
        assert_eq!(repository.faults(), "");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn branches_that_conflict_are_verified_apart() {
    let place = sandbox();
    let repository = place.repository();
    let check = Check::of(&place);
    let plan = Plan::default()
        .task("a", "mkdir parts; echo a > parts/same")
        .task("b", "mkdir parts; echo b > parts/same")
        .task("c", "mkdir parts; echo broken > parts/same");
    let command = check.command("! grep -q broken parts/same");
    let run = verified(place.run_plan(&repository, &plan).words("--merge branch"), &command);
    let finished = run.run().expect_code(4);
    assert_eq!(finished.landed(), ["a", "b"], "{finished}");
    assert_eq!(unverified(&finished), [("c".to_owned(), Value::Null)]);
    place.expect_nothing_left(&repository);
}

#[test]
fn work_that_conflicted_only_with_kept_work_is_verified_before_it_lands() {
    let place = sandbox();
    let repository = place.repository().watched();
    let check = Check::of(&place);
    let plan = Plan::default()
        .task("a", "echo broken > word.txt")
        .task("b", "echo fine > word.txt")
        .task("c", "cat word.txt; echo more >> word.txt")
        .after(&["a"]);
    let command = check.command("! grep -q broken word.txt");
    let finished = verified(place.run_plan(&repository, &plan), &command).run().expect_code(4);
    assert_eq!(finished.landed(), ["b"], "{finished}");
    assert_eq!(unverified(&finished), [("a".to_owned(), Value::Null)]);
    // What builds on kept work waits for it.
    assert_eq!(finished.names_in("task_kept"), ["c"], "{finished}");
    assert_eq!(repository.text("word.txt"), "fine\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_start_that_fails_is_told_and_nothing_lands_unless_it_is_asked_for() {
    let place = sandbox();
    let repository = place.repository().watched();
    let (before, git) = (repository.tree(), repository.dot_git());
    let run = || verified(place.run_plan(&repository, &parts(&["a", "b"])), "echo no; false");
    let finished = run().run().expect_code(4);
    assert_eq!(finished.landed(), Vec::<String>::new());
    for event in finished.events_of("task_unverified") {
        assert_eq!(event["cause"], "start", "{finished}");
    }
    assert_eq!((repository.tree(), repository.dot_git()), (before, git));
    let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0).stdout;
    assert!(shown.contains("fails without the work of any task"), "{shown}");
    // All of it can be landed with one command.
    let applied = place.regatta(repository.root()).words("apply --dry-run").run().expect_code(0);
    assert!(applied.stdout.contains("would land"), "{applied}");
    place.expect_nothing_left(&repository);

    let finished = run().words("--verify-anyway").run().expect_code(0);
    assert_eq!(finished.landed(), ["a", "b"], "{finished}");
    let told = finished.events_of("degraded");
    assert!(told.iter().any(|event| event["to"].to_string().contains("unverified")), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_failure_that_does_not_happen_again_and_edits_that_the_landing_meets_are_told_and_all_lands() {
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    repository.write("list.txt", &lines);
    repository.commit("list");
    let check = Check::of(&place);
    // The user edits the file while the work is verified.
    let (once, list) = (place.folder().join("once"), repository.path("list.txt"));
    let command = check.command(&format!(
        "sed -i '1s/.*/mine/' '{}'; test -e '{1}' || {{ touch '{1}'; exit 1; }}",
        list.display(),
        once.display()
    ));
    let plan = parts(&["a", "b"]).task("c", "echo more >> list.txt");
    let finished = verified(place.run_plan(&repository, &plan), &command).run().expect_code(0);
    assert_eq!(finished.landed(), ["a", "b", "c"], "{finished}");
    assert_eq!(check.calls(), ["a b", "a b"]);
    let told = finished.events_of("degraded");
    for why in ["failed once and then passed", "list.txt changed since"] {
        assert!(told.iter().any(|event| event["why"].to_string().contains(why)), "{finished}");
    }
    assert_eq!(repository.text("list.txt"), lines.replacen("line 1\n", "mine\n", 1) + "more\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn each_task_is_verified_before_it_lands_eagerly() {
    let place = sandbox();
    let repository = place.repository().watched();
    let check = Check::of(&place);
    let after =
        |what: &str| format!("until test -e \"$REGATTA_REPO/parts/{what}\"; do sleep 0.02; done");
    let plan = Plan::default()
        .top("jobs = 3")
        .task("a", "mkdir parts; touch parts/a")
        .task("b", &format!("{}; mkdir parts; touch parts/b", after("a")))
        .task("c", &format!("{}; mkdir parts; touch parts/c", after("b")));
    // The third breaks it together with the first, which has landed.
    let command = check.command(&format!("! {{ {} && {}; }}", has("a"), has("c")));
    let run = place.run_plan(&repository, &plan).words("--land eager");
    let finished = verified(run, &command).run().expect_code(4);
    assert_eq!(finished.landed(), ["a", "b"], "{finished}");
    assert_eq!(unverified(&finished)[0], ("c".to_owned(), json!(["a"])), "{finished}");
    assert_eq!(check.calls()[..2], ["a", "a b"]);
    assert_eq!(landed_parts(&repository), ["a", "b"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn the_workspace_is_set_up_and_keeps_what_is_ignored_and_nothing_else() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write(".gitignore", "cache/\n.env\n");
    repository.write("kept.txt", "kept\n");
    repository.commit("ignore");
    repository.write(".env", "secret\n");
    let check = Check::of(&place);
    let seen = place.folder().join("seen");
    let script = format!(
        "cat .env >> '{0}'; echo $(cat made src/run.rs kept.txt loose 2>/dev/null) >> '{0}'; \
         mkdir -p cache; echo x >> cache/x; wc -l < cache/x >> '{0}'; echo loose > loose; \
         echo changed >> src/run.rs; rm kept.txt; echo changed > made; rm -rf parts/b; \
         ln -s '{1}' out; test -e \"$TMPDIR/made\" || echo gone >> '{0}'; ! {2}",
        seen.display(),
        place.folder().display(),
        has("b"),
    );
    // The verification removes what it looks for, so it looks first.
    let script = format!("{}; b=$?; {script}; test $b != 0", has("b"));
    let run = verified(place.run_plan(&repository, &parts(&["a", "b"])), &check.command(&script));
    let run = run.words("--carry .env --setup").arg("echo set up > made; echo x > $TMPDIR/made");
    let finished = run.run().expect_code(4);
    assert_eq!(finished.landed(), ["a"], "{finished}");
    assert_eq!(unverified(&finished), [("b".to_owned(), Value::Null)], "{finished}");
    let seen = fs::read_to_string(seen).unwrap();
    let seen: Vec<_> = seen.lines().collect();
    assert_eq!(seen.len(), 3 * check.calls().len());
    for (call, lines) in seen.chunks(3).enumerate() {
        // The files are as they were, and the cache grows.
        let count = (call + 1).to_string();
        assert_eq!(lines, ["secret", "set up pub fn run() {} kept", &count], "call {call}");
    }
    for path in ["cache", "loose", "made", "out"] {
        assert!(!repository.has(path), "{path} is in the tree");
    }
    assert_eq!(repository.text("src/run.rs"), "pub fn run() {}\n");
    assert_eq!(repository.text("kept.txt"), "kept\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_verification_that_is_cancelled_or_whose_engine_is_killed_lands_nothing_and_keeps_everything() {
    for signal in [Signal::INT, Signal::KILL] {
        let place = sandbox();
        let repository = place.repository().watched();
        let before = repository.tree();
        let ready = place.folder().join("ready");
        let command = format!("touch '{}'; (setsid sleep 300 &) ; sleep 300", ready.display());
        let run = verified(place.run_plan(&repository, &parts(&["a", "b"])), &command).start();
        eventually(Duration::from_secs(60), "it verifies", || ready.exists());
        if signal == Signal::INT {
            run.signal(signal);
            let finished = run.wait().expect_code(130);
            assert_eq!(finished.landed(), Vec::<String>::new(), "{finished}");
        } else {
            let _killed = run.kill();
            place.expect_no_process(Duration::from_secs(60));
            let _recovered =
                place.regatta(repository.root()).words("runs show").run().expect_code(0);
        }
        assert_eq!(repository.tree(), before, "{signal:?}");
        place.expect_nothing_left(&repository);
        let captures = place.home().captures();
        assert_eq!(captures.len(), 2, "{signal:?}: {captures:?}");
        assert!(captures.iter().all(|name| name.ends_with("/a/1") || name.ends_with("/b/1")));
        let applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
        assert_eq!(landed_parts(&repository), ["a", "b"], "{signal:?}: {applied}");
    }
}

#[test]
fn a_retry_verifies_as_the_run_did() {
    let place = sandbox();
    let repository = place.repository().watched();
    let check = Check::of(&place);
    let command = check.command(&format!("! {}", has("b")));
    let run = place.run_plan(&repository, &parts(&["a", "b"]));
    let finished = verified(run, &command).run().expect_code(4);
    let words = format!("runs retry {} --conflicted --json", finished.run_name());
    let again = place.regatta(repository.root()).words(&words).run().expect_code(4);
    assert_eq!(again.events_of("run_started")[0]["verify"], json!([command]));
    assert_eq!(unverified(&again), [("b".to_owned(), Value::Null)], "{again}");
    assert_eq!(again.landed(), Vec::<String>::new());
}
