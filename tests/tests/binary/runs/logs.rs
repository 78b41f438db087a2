//! `regatta logs`, and what is said of the usage of models, on rehearsed agents.

use std::process::Stdio;

use serde_json::{Value, json};
use tests::sandbox::{Finished, Invocation, Repository, Sandbox};

use crate::binary::sandbox;

/// An agent that reads, edits, runs a command, forgets to yield, and yields when it is reminded;
/// one that gives up; and one that waits inside a command.
const SCENARIO: &str = r#"
version = 1

[[scenario]]
when = 'the timeout'
[[scenario.turn]]
thinking = "I have to see it first."
text = "Let me look."
calls = [{ tool = "read", arguments = { path = "config.toml" } }]
usage = { input = 900, output = 40, cache_read = 700 }
[[scenario.turn]]
remember = { old = 'timeout = (\d+)' }
calls = [
  { tool = "edit", arguments = { path = "config.toml", edits = [
    { oldText = "timeout = {{old}}", newText = "timeout = 30" },
  ] } },
  { tool = "bash", arguments = { command = "printf '\\033[2Jseen\\n'" } },
]
usage = { input = 100, output = 10 }
[[scenario.turn]]
text = "That was it."
usage = { input = 100, output = 10 }
[[scenario.turn]]
calls = [{ tool = "yield", arguments = { result = { data = { was = "{{old}}" } } } }]
usage = { input = 100, output = 10 }

[[scenario]]
when = 'the impossible'
[[scenario.turn]]
calls = [{ tool = "yield", arguments = { result = { error = "it cannot be done" } } }]
usage = { input = 50, output = 5 }

[[scenario]]
[[scenario.turn]]
text = "I wait."
calls = [{ tool = "bash", arguments = { command = "while ! test -e go; do sleep 0.05; done" } }]
[[scenario.turn]]
calls = [{ tool = "yield", arguments = { result = { data = "waited" } } }]
"#;

fn stage() -> (Sandbox, Repository) {
    let place = sandbox();
    let repository = place.repository();
    repository.write("config.toml", "timeout = 10\n");
    repository.commit("a timeout");
    let scenario = place.folder().join("scenario.toml");
    std::fs::write(scenario, SCENARIO).expect("a scenario can be written");
    (place, repository)
}

fn agents(place: &Sandbox, repository: &Repository, prompts: &[&str]) -> Invocation {
    let model = format!("offline/{}", place.folder().join("scenario.toml").display());
    let call = place.run_in(repository).arg("--model").arg(model);
    prompts.iter().fold(call, Invocation::arg)
}

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Returns a text in which each time of day is the same.
fn timeless(text: &str) -> String {
    let time = |word: &str| {
        word.len() == 8 && word.split(':').all(|part| part.len() == 2) && word.contains(':')
    };
    let lines = text.lines().map(|line| {
        let (begin, last) = line.rsplit_once("  ").unwrap_or((line, ""));
        if time(last) { format!("{begin}  (time)\n") } else { format!("{line}\n") }
    });
    lines.collect()
}

#[test]
fn what_an_agent_said_did_and_used_is_in_the_log_the_events_the_ledger_and_the_listings() {
    let (place, repository) = stage();
    let run = agents(&place, &repository, &["Set the timeout to 30.", "Do the impossible."]);
    let finished = run.run().expect_code(3);
    expect_usage_everywhere(&place, &repository, &finished);
    let run = finished.run_name();
    let log = regatta(&place, &repository, &format!("logs {run}/t1")).expect_code(0).stdout;
    let (told, end) = timeless(&log).split_once("\nlanded · ").map_or_else(
        || panic!("it landed: {log}"),
        |(told, end)| (told.to_owned(), end.to_owned()),
    );
    let model = place.folder().join("scenario.toml");
    assert_eq!(
        told,
        format!(
            "set-the-timeout-to-30 · landed · offline/{}
prompt  (time)
  Set the timeout to 30.

thinks  (time)
  I have to see it first.

says  (time)
  Let me look.

● read config.toml
         1  timeout = 10
● edit config.toml
    @@ -1 +1 @@
    -timeout = 10
    +timeout = 30
● bash printf '\\033[2Jseen\\n'
    seen

says  (time)
  That was it.

reminder  (time)
  Reminder 1 of 3: it ended without a yield. Go on with the task if it is not done; then call \
`yield` with your result, or with an error if you cannot do it.

● yield
    {{
      \"was\": \"10\"
    }}
",
            model.display()
        )
    );
    let used = "1.9k tokens (1.2k read, 700 read from a cache, 70 written)";
    assert!(end.contains(used), "{end}");

    let whole = regatta(&place, &repository, "logs").expect_code(0).stdout;
    assert!(whole.starts_with(&log), "{whole}");
    assert!(whole.contains("● yield\n    it gives up: it cannot be done\n"), "{whole}");
    let document = regatta(&place, &repository, "logs @ --json").expect_code(0).json();
    assert_eq!(document[0]["task"], "set-the-timeout-to-30");
    let entries = document[0]["entries"].as_array().unwrap();
    let kinds: Vec<_> = entries.iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["session_init", "model_change", "message"]);
    assert_eq!(entries.last().unwrap()["message"]["toolName"], "yield");
}

/// Expects the same usage of the models of `run` in its events, in the ledger and in listings.
fn expect_usage_everywhere(place: &Sandbox, repository: &Repository, run: &Finished) {
    let usage = |event: &Value| {
        let usage = &event["usage"];
        ["input", "output", "cache_read", "cache_write"]
            .map(|kind| usage[kind].as_i64().expect("a number of tokens"))
    };
    let total = usage(&run.events_of("run_finished")[0]);
    assert_eq!(usage(&run.task("set-the-timeout-to-30")), [1200, 70, 700, 0]);
    assert_eq!(usage(&run.task("do-the-impossible")), [50, 5, 0, 0]);
    assert_eq!(total, [1250, 75, 700, 0]);

    let columns = "SELECT input_tokens, output_tokens, cache_read_tokens, cache_write_tokens FROM";
    let rows = |table: &str| {
        place.home().ledger(&format!("{columns} {table}"), |row| {
            Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
        })
    };
    assert_eq!(rows("task ORDER BY position"), [[1200, 70, 700, 0], [50, 5, 0, 0]]);
    assert_eq!(rows("run"), [total]);
    let listed = regatta(place, repository, "runs").expect_code(0).stdout;
    assert!(listed.contains(" · 2.0k tokens · "), "{listed}");
    let shown = regatta(place, repository, "runs show --json").expect_code(0).json();
    assert_eq!(shown["tasks"][1]["report"]["usage"]["input"], json!(50));
    let text = regatta(place, repository, "runs show").expect_code(0).stdout;
    let said =
        format!("failed  regatta logs {}/do-the-impossible  it cannot be done", run.run_name());
    assert!(text.contains("tokens     cost\n") && text.contains(&said), "{text}");
}

#[test]
fn the_log_of_a_task_that_runs_can_be_read() {
    let (place, repository) = stage();
    let call = agents(&place, &repository, &["Wait for it."]);
    let call = call.words("--isolation none --approval-mode yolo");
    let mut running = call.start();
    running.until_event("the command begins", |event| {
        event["event"]["type"] == "tool_execution_start"
    });
    let log = regatta(&place, &repository, "logs t1").expect_code(0).stdout;
    assert!(log.contains("says  ") && log.contains("no result yet\n"), "{log}");
    assert!(log.lines().last().unwrap().starts_with("running · "), "{log}");
    repository.write("go", "");
    let _waited = running.wait().expect_code(0);
}

#[test]
fn a_session_whose_log_cannot_be_written_fails_alone_and_its_work_is_kept() {
    let (place, repository) = stage();
    let prompts = ["Set the timeout to 30.", "Set the timeout to 30."];
    let call = agents(&place, &repository, &prompts).words("--jobs 1");
    // The opening has three entries; then come an answer, a result, and the two of the next turn.
    let ended = call.fault("full@session.append:8").run().expect_code(3);
    let failed = ended.task("set-the-timeout-to-30");
    assert_eq!(failed["failure"]["class"], "resources", "{failed}");
    assert_eq!(failed["changes"]["files"], 1, "{failed}");
    assert_eq!(ended.landed(), ["set-the-timeout-to-30-2"]);
    let log = regatta(&place, &repository, "logs t1").expect_code(0).stdout;
    assert!(log.contains("\nfailed: resources · "), "{log}");
}

#[test]
fn a_reader_that_has_read_enough_ends_every_command_quietly() {
    let (place, repository) = stage();
    let script = "yes 'a long line of output' | head -c 300000";
    let _wrote = place.run_in(&repository).exec(script).run().expect_code(0);
    for words in ["logs", "logs t1", "logs --json", "schema plan"] {
        let mut command = place.regatta(repository.root()).words(words).into_command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""), "{words}");
    }
}
