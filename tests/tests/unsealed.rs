//! A workspace into which processes may still write is neither captured nor removed.

use engine::ports::OwnerEnd;
use protocol::{FailureClass, Outcome, TaskSpec};
use serde_json::json;
use tests::fakes::{TestEngine, agent, task};

/// Runs a task whose processes end as `end` says, and returns how it failed. Its workspace must be
/// kept as it is, and the next run goes on.
async fn kept(spec: TaskSpec, end: OwnerEnd) -> (FailureClass, String) {
    let mut engine = TestEngine::with_concurrency(1).await;
    engine.commands.end_next_with(end);
    let (mut reports, totals) = engine.run(vec![spec]).await;
    let Outcome::Failed { failure } = reports.remove(0).1.outcome else { panic!("{reports:?}") };
    assert_eq!((totals.failed, totals.landed), (1, 0));
    assert_eq!(engine.repository.captured().len(), 0, "{failure:?}");
    assert_eq!((engine.repository.made(), engine.repository.leaked()), (1, 1));
    assert_eq!(engine.repository.closed(), 0, "no other engine may capture it while we live");
    assert!(engine.models.requests().len() <= 1, "a crashed session is not started again");
    let (_, totals) = engine.run(vec![task("next", "yield")]).await;
    assert_eq!(totals.landed, 1);
    assert_eq!(engine.engine.close().await, None);
    (failure.class, failure.message)
}

#[test(start_paused = true)]
async fn a_task_of_which_processes_are_left_is_not_captured_and_says_where_its_workspace_is() {
    let left = "2 of the processes that it started could not be killed";
    let unknown = "what watches over its processes was killed, and some of them may still run";
    for (end, why) in [(OwnerEnd::Left(2), left), (OwnerEnd::Unknown, unknown)] {
        let (class, message) = kept(task("one", "yield 1"), end).await;
        let place = "its workspace is kept at /workspaces/one/tree";
        assert_eq!(message, format!("{why}, so nothing was captured; {place}"));
        assert_eq!(class, FailureClass::Workspace, "a success is none");
        let (class, message) = kept(task("one", "exit 3"), end).await;
        assert_eq!(class, FailureClass::Command, "it stays what it was");
        assert!(message.contains(why) && message.contains(place), "{message}");
    }
}

#[test(start_paused = true)]
async fn a_crashed_session_of_which_processes_are_left_is_neither_restarted_nor_captured() {
    for end in [OwnerEnd::Left(1), OwnerEnd::Unknown] {
        let (class, message) = kept(agent("one", "crash-once"), end).await;
        assert_eq!(class, FailureClass::Crashed);
        assert!(message.contains("its processes could not be stopped"), "{message}");
        assert!(message.contains("kept at /workspaces/one/tree"), "{message}");
    }
}

#[test(start_paused = true)]
async fn the_workspace_of_a_dead_task_of_which_processes_are_left_is_kept() {
    let mut dead = task("one", "yield 1");
    dead.schema = Some(Box::new(json!({ "required": "panic" })));
    let (class, _) = kept(dead, OwnerEnd::Left(1)).await;
    assert_eq!(class, FailureClass::Crashed);
}
