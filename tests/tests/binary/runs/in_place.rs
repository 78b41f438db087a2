//! `--isolation none`: in the tree itself, one at a time, and said so.

use crate::binary::sandbox;

#[test]
fn without_isolation_tasks_work_in_place_one_at_a_time_without_capture_or_landing() {
    let place = sandbox();
    let repository = place.repository();
    let git = repository.dot_git();
    let script = "pwd -P; echo {{item}} >> log.txt";
    let run = place.run_in(&repository).words("--isolation none --each -").stdin("1\n2\n3\n4\n");
    let finished = run.exec(script).run().expect_code(0);
    assert_eq!(repository.text("log.txt").lines().count(), 4, "{finished}");
    let steps = finished.events().into_iter().filter_map(|event| {
        let kind = event["type"].as_str()?.to_owned();
        ["task_started", "task_finished"].contains(&kind.as_str()).then_some(kind)
    });
    let one_at_a_time = ["task_started", "task_finished"].repeat(4);
    assert_eq!(steps.collect::<Vec<_>>(), one_at_a_time, "{finished}");
    assert_eq!(finished.events()[0]["jobs"], 1, "{finished}");
    assert_eq!(finished.names_in("task_captured"), Vec::<String>::new());
    for event in finished.events_of("task_finished") {
        assert_eq!(event["yield"], repository.root().to_str().unwrap(), "{finished}");
    }
    let told = finished.events_of("degraded");
    assert!(
        told.iter().any(|event| event.to_string().contains("the repository itself")),
        "{finished}"
    );
    let text = place.regatta(repository.root()).words("run --isolation none").exec("true");
    let told = "note: isolation is none: tasks work in the repository itself, and nothing is captured \
                or landed\n";
    assert!(text.run().expect_code(0).stderr.contains(told));
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}
