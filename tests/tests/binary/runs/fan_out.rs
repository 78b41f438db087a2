//! Many tasks: how many at once, in which order, and what a failure means for the rest.

use std::collections::BTreeSet;

use test_limit::by_depth;
use tests::sandbox::{Finished, Plan};

use crate::binary::sandbox;

#[test]
fn many_tasks_at_limit_eight_peak_at_exactly_eight() {
    let tasks = by_depth(40, 200);
    let place = sandbox();
    let repository = place.repository();
    let outside = place.folder().join("outside");
    std::fs::create_dir_all(outside.join("present")).unwrap();
    // Each makes a file, waits until eight were there at once, and takes the count. So none of the
    // first eight ends before a ninth could have been started.
    let script = format!(
        "cd {}
         : > present/$REGATTA_TASK
         until [ -e eight ]; do sleep 0.02; set -- present/*; [ $# -lt 8 ] || : > eight; done
         set -- present/*; echo $# >> counts
         rm present/$REGATTA_TASK",
        outside.display()
    );
    let items: Vec<_> = (1..=tasks).map(|number| number.to_string()).collect();
    let run = place.run_in(&repository).words("--each - --jobs 8 --limit wall=60s");
    let finished = run.exec(&script).stdin(items.join("\n")).run().expect_code(0);

    let counts = std::fs::read_to_string(outside.join("counts")).unwrap();
    let counts: Vec<u32> = counts.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(counts.len(), tasks);
    assert_eq!(counts.iter().max(), Some(&8), "never more than eight at once");
    assert!(outside.join("eight").exists(), "eight at once were reached");
    assert_eq!(most_at_work(&finished), 8, "{finished}");
    let ends = finished.names_in("task_finished");
    assert_eq!(ends.len(), tasks);
    assert_eq!(ends.iter().collect::<BTreeSet<_>>().len(), tasks, "each task ends once");
    place.expect_nothing_left(&repository);
}

/// Returns how many tasks had been started at once whose work was not done.
fn most_at_work(finished: &Finished) -> usize {
    let (mut now, mut most) = (BTreeSet::new(), 0);
    for event in finished.events() {
        let task = event["task"].to_string();
        match (event["type"].as_str(), event["phase"].as_str()) {
            (Some("task_started"), _) => drop(now.insert(task)),
            (Some("task_progress"), Some("capturing")) => drop(now.remove(&task)),
            (Some("task_finished"), _) => drop(now.remove(&task)),
            (_, _) => {}
        }
        most = most.max(now.len());
    }
    most
}

#[test]
fn the_first_failure_cancels_the_rest_when_asked_to() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("good", "echo good > good.txt")
        .task("bad", "exit 9")
        .task("never", "echo never > never.txt")
        .task("ever", "echo ever > ever.txt")
        .task("first", "true")
        .with("priority = 5");
    let run = place.run_plan(&repository, &plan).words("--jobs 1 --fail-fast");
    let finished = run.run().expect_code(3);
    let started = finished.events_of("task_started");
    let order: Vec<_> = started.iter().map(|event| event["task"].as_str().unwrap()).collect();
    assert_eq!(order, ["first", "good", "bad"], "by priority, else as declared: {finished}");
    let ended = finished.names_in("task_finished");
    assert_eq!(ended, ["bad", "ever", "first", "good", "never"], "{finished}");
    for task in ["never", "ever"] {
        assert_eq!(finished.task(task)["outcome"], "cancelled", "{finished}");
    }
    assert_eq!(finished.landed(), ["good"], "what succeeded has landed: {finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn events_are_numbered_without_gaps_and_each_task_has_its_course() {
    let place = sandbox();
    let repository = place.repository();
    let finished = place.run_in(&repository).exec("echo x > x").run().expect_code(0);
    let events = finished.events();
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    let course: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .filter(|kind| !matches!(*kind, "task_progress" | "degraded"))
        .collect();
    let expected = [
        "run_started",
        "task_queued",
        "task_started",
        "workspace_ready",
        "task_yielded",
        "task_captured",
        "task_finished",
        "landing_started",
        "task_landed",
        "run_finished",
    ];
    assert_eq!(course, expected, "{finished}");
    let last = events.last().unwrap();
    assert_eq!(
        (&last["exit_code"], &last["landed"], &last["done"]),
        (&0.into(), &1.into(), &1.into())
    );
}
