//! `regatta runs show --timing`: where the time of a run went.

use serde_json::Value;

use crate::binary::sandbox;

/// Returns a phase of the document of `--timing --json`.
fn phase<'a>(document: &'a Value, name: &str) -> &'a Value {
    let phases = document["phases"].as_array().expect("it has phases");
    let found = phases.iter().find(|phase| phase["phase"] == name);
    found.unwrap_or_else(|| panic!("{name}: {document}"))
}

#[test]
fn the_time_of_a_run_is_shown_by_phase_in_a_table_as_json_and_in_its_log() {
    let place = sandbox();
    let repository = place.repository();
    let call = place.run_in(&repository).words("--each - --jobs 2 --setup true");
    let call = call
        .exec("for i in $(seq 20000); do :; done; echo {{item}} > {{item}}.txt")
        .stdin("1\n2\n3\n4");
    let finished = call.run().expect_code(0);
    let run = finished.run_name();
    let show = || place.regatta(repository.root()).words("runs show --timing");
    let document = show().arg("--json").run().expect_code(0).json();
    assert_eq!(document["run"], *run);
    assert_eq!((document["tasks"].as_u64(), document["measured"].as_u64()), (Some(4), Some(4)));
    let number = |name: &str, what: &str| phase(&document, name)[what].as_f64().unwrap();
    let names = ["waiting", "prepare", "setup", "work", "capture", "discard", "ledger", "launcher"];
    for name in names {
        assert_eq!(phase(&document, name)["count"], 4, "{name}: {document}");
        let (sum, median, most) =
            (number(name, "sum_ms"), number(name, "median_ms"), number(name, "p95_ms"));
        assert!(0.0 < median && median <= most && most <= sum, "{name}: {document}");
    }
    assert_eq!(phase(&document, "landing")["count"], 1, "{document}");
    let sum = |name: &str| number(name, "sum_ms");
    assert!(sum("launcher") <= sum("setup") + sum("work"), "{document}");
    let whole = finished.events_of("run_finished")[0]["ms"].as_f64().unwrap();
    let all: f64 = names[1..7].iter().map(|name| sum(name)).sum();
    // A task is in one phase at a time, and while it is captured others may work.
    assert!(all <= 4.0 * whole + 100.0, "four tasks: {all} ms in {whole} ms");

    let table = show().run().expect_code(0);
    let words: Vec<_> =
        table.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let all = ["phase", "waiting", "prepare", "setup", "work", "capture", "landing", "discard"];
    assert_eq!(words, [&all[..], &["ledger", "launcher"]].concat(), "{table}");
    let one = place.regatta(repository.root()).words("runs show --timing @ 2").run();
    assert!(!one.expect_code(0).stdout.contains("landing"), "the landing is the run's");
    let log = place.home().log(&run);
    for name in names {
        let line = format!("times phase=\"{name}\" count=4 sum=");
        assert!(log.contains(&line), "{line}: {log}");
    }
}

#[test]
fn a_run_that_goes_on_or_was_not_measured_says_so() {
    let place = sandbox();
    let repository = place.repository();
    let show = || place.regatta(repository.root()).words("runs show --timing").run();
    assert!(show().expect_code(1).stderr.contains("no run"), "there is none yet");
    let gate = place.folder().join("gate");
    let script = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
    let mut running = place.run_in(&repository).exec(&script).start();
    running.until("task_started");
    let shown = show().expect_code(0);
    assert!(shown.stdout.contains("is still running; 0 of 1 task ended so far"), "{shown}");
    assert!(shown.stdout.contains("no task has ended yet"), "{shown}");
    std::fs::write(&gate, "").unwrap();
    let run = running.wait().expect_code(0).run_name();
    // As a version that did not measure would have left it.
    place.home().change_ledger("UPDATE task SET report = json_remove(report, '$.timings')");
    let shown = show().expect_code(0);
    assert!(shown.stdout.contains(&format!("run {run} has no times")), "{shown}");
    let refused = place.regatta(repository.root()).words("runs list --timing").run();
    refused.expect_refusal(&["--timing"]);
}
