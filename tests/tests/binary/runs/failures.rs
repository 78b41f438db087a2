//! What is said of a task that failed: why, at each place where it is shown.

use serde_json::json;
use test_limit::by_depth;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::agents::work::{run_one, run_with};
use crate::binary::sandbox;

/// A command that says a lot, its reason, and some advice after it.
const NOISY: &str = "echo out of the command; echo Checking >&2
    printf '\\033[31merror: not logged in\\033[0m\\n\\nhint: log in first\\n}\\n' >&2; exit 1";

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run().expect_code(0)
}

/// Returns the only line of `text` that contains `words`.
fn line<'a>(text: &'a str, words: &str) -> &'a str {
    let found: Vec<_> = text.lines().filter(|line| line.contains(words)).collect();
    assert_eq!(found.len(), 1, "{words} in {text}");
    found[0]
}

#[test]
fn the_reason_of_a_failed_command_is_in_the_table_the_closing_lines_the_events_and_the_log() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("auth", NOISY)
        .task("tests", "echo 3 tests failed; exit 2")
        .task("silent", "exit 3")
        .task("killed", "echo before the end >&2; kill -9 $$")
        .task("missing", "no-such-program");
    let reasons = [
        ("auth", "error: not logged in (code 1)"),
        ("tests", "3 tests failed (code 2)"),
        ("silent", "it ended with code 3"),
        ("killed", "before the end (signal 9)"),
        ("missing", "not found (code 127: the shell did not find a command)"),
    ];
    let events = place.run_plan(&repository, &plan).run().expect_code(5);
    for (task, reason) in reasons {
        let failure = &events.task(task)["failure"];
        let message = failure["message"].as_str().unwrap_or_default();
        assert!(message.ends_with(reason), "{task}: {failure}");
    }
    let run = place.regatta(repository.root()).words("run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(5);
    let name = finished.stderr.split_once(" run ").expect("it has a name").1;
    let name = &name[..name.find(' ').expect("it ends")];
    let shown = regatta(&place, &repository, "runs show").stdout;
    for text in [&finished.stdout, &shown] {
        for (task, reason) in reasons {
            let command = format!("regatta logs {name}/{task} ");
            assert!(line(text, &command).ends_with(reason), "{task}: {text}");
            let row = text.lines().find(|line| line.starts_with(task)).expect("it has a row");
            assert!(row.contains("failed: command") && row.contains(reason), "{row}");
        }
    }
    let log = regatta(&place, &repository, &format!("logs {name}/auth")).stdout;
    for words in ["out of the command\n", "Checking\n", "error: not logged in\n", "hint: log in"] {
        assert!(log.contains(words), "{words} in {log}");
    }
    assert!(log.starts_with("auth · failed: command\n$ echo out"), "{log}");
    assert!(log.ends_with("  error: not logged in (code 1)\n"), "{log}");
}

#[test]
fn the_log_of_a_command_has_its_item_its_script_and_its_arguments() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--each -").stdin("a b.txt\n");
    let _failed = run.exec("cat {{item}}").run().expect_code(5);
    let log = regatta(&place, &repository, "logs @/a").stdout;
    assert!(
        log.starts_with("a-b-txt · failed: command\nitem  a b.txt\n$ cat \"${REGATTA_ITEM}\"\n"),
        "{log}"
    );
    assert!(log.contains("\ncat: 'a b.txt': No such file or directory\n"), "{log}");
    let run = place.run_in(&repository).words("--each - --chunk 2").stdin("it's\nplain\n");
    let _failed = run.exec("cat {{items}}").run().expect_code(5);
    let log = regatta(&place, &repository, "logs").stdout;
    let given = "\nitems  it's  plain\n$ cat \"$@\"\nwith  'it'\\''s' plain\n";
    assert!(log.contains(given), "{log}");
    let document = regatta(&place, &repository, "logs --json").json();
    for key in ["items", "arguments"] {
        assert_eq!(document[0][key], json!(["it's", "plain"]), "{document}");
    }
}

#[test]
fn what_a_failed_command_says_is_bounded_and_moves_no_cursor() {
    let place = sandbox();
    let repository = place.repository();
    let flood = by_depth(1_000_000, 10_000_000);
    let flood =
        format!("yes | head -c {flood} >&2; printf '%0100000d\\033[2J\\007\\n' 7 >&2; exit 1");
    let finished = place.run_in(&repository).exec(&flood).run().expect_code(5);
    let message = finished.task("t1")["failure"]["message"].to_string();
    assert!(message.len() < 300 && message.contains("0000…"), "{message}");
    let run = place.regatta(repository.root()).words("run").exec(&flood).run().expect_code(5);
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{run}");
        assert!(text.lines().all(|line| line.len() < 500), "{run}");
    }
}

#[test]
fn one_task_of_twelve_that_reaches_its_own_limit_ends_the_run_with_3() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let names: Vec<_> = (1..=12).map(|number| format!("t{number}")).collect();
    let plan = names.iter().fold(Plan::default(), |plan, name| plan.agent(name, &marker(name)));
    for name in &names {
        let greedy = name == "t7";
        model.talk(name, move |asked: &Asked| match greedy {
            true => {
                Answer::call("read", &json!({ "path": "README.md", "offset": asked.answers() }))
            }
            false => Answer::yields(&json!("done")),
        });
    }
    let run = run_with(&place, &repository, &plan, &model).words("--limit tokens=2000");
    let finished = run.run().expect_code(3);
    assert_eq!(finished.task("t7")["failure"]["class"], "budget", "{finished}");
}

#[test]
fn a_provider_that_is_asked_again_is_one_plain_line_for_its_task() {
    let place = sandbox();
    let repository = place.repository();
    place.home().configure("retry:\n  maxRetries: 5\n  baseDelayMs: 10\n");
    let model = LoopbackModel::start();
    let mut left = 3;
    let script = move |_: &Asked| {
        if left > 0 {
            left -= 1;
            return Answer::error(503, "overloaded", "too much to do");
        }
        Answer::yields(&json!("done"))
    };
    // Progress is asked for beside the events.
    let run = run_one(&place, &repository, &model, script).words("--progress plain");
    let finished = run.run().expect_code(0);
    let told = line(&finished.stderr, "for its provider");
    assert!(told.contains(" t1 waits ") && told.contains("too much to do"), "{finished}");
    assert_eq!(model.requests(), 4);
}
