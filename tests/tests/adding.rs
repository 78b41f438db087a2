//! Tasks that are added to a run that goes on, and parents that wait for them.

use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use engine::run::{AddTasksError, WaitError};
use protocol::{EventKind, LedgerEntry, Outcome, RunId, TaskId, TaskName, TaskSpec};
use serde_json::json;
use tests::fakes::{TestEngine, task};

/// Starts a run of one task, and waits until its command runs.
async fn begin(engine: &mut TestEngine, parent: TaskSpec) -> (RunId, TaskId) {
    let id = parent.id;
    let run = engine.submit(engine.spec(vec![parent])).await;
    while engine.commands.running() == 0 {
        engine.next().await;
    }
    (run.id, id)
}

/// Waits for the end of the run and returns the names of the tasks in the order of their ends, and
/// of their starts.
async fn ends_and_starts(engine: &mut TestEngine) -> (Vec<String>, Vec<String>) {
    let (mut ends, mut starts) = (Vec::new(), Vec::new());
    engine
        .find(|event| match event {
            EventKind::TaskFinished { task, .. } => {
                ends.push(task.to_string());
                None
            }
            EventKind::TaskStarted { task, .. } => {
                starts.push(format!("{task} after {}", ends.len()));
                None
            }
            EventKind::RunFinished { .. } => Some(()),
            _ => None,
        })
        .await;
    (ends, starts)
}

#[test(flavor = "multi_thread")]
async fn a_parent_that_waits_lends_its_permit_to_its_children_and_goes_on_before_others() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let (run, parent) = begin(&mut engine, task("parent", "wait")).await;
    let children: Vec<_> = ["a", "b", "c"].map(|name| task(name, "yield 1")).into();
    let ids: Vec<_> = children.iter().map(|task| task.id).collect();
    let added = engine.engine.controls(run).add_tasks(Some(parent), children).await;
    assert_eq!(added.as_ref(), Ok(&ids));
    assert_eq!(engine.commands.ran(), 1, "there is one permit, and the parent has it");
    let waiting = engine.engine.controls(run).await_children(parent);
    let mut other = task("other", "yield 2");
    other.priority = -1;
    engine.engine.controls(run).add_tasks(None, vec![other]).await.expect("the run goes on");
    let queued = engine.find(|event| match event {
        EventKind::TaskQueued { task, parent, .. } if task.as_str() == "a" => Some(parent.clone()),
        _ => None,
    });
    assert_eq!(queued.await.as_ref().map(TaskName::as_str), Some("parent"));
    let ended = waiting.await.expect("the parent runs");
    let names: Vec<_> = ended.iter().map(|child| child.task.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let done = |outcome: &Outcome| *outcome == Outcome::Done { value: json!(1) };
    assert!(ended.iter().all(|child| done(&child.report.outcome)), "{ended:?}");
    assert_eq!(engine.commands.running(), 1, "the parent goes on, and the other waits");
    engine.commands.release();
    let (ends, starts) = ends_and_starts(&mut engine).await;
    assert_eq!(ends[..3], ["a", "b", "c"]);
    // The other may start as soon as the work of the parent has ended.
    let last = starts.last().map(String::as_str);
    assert!(matches!(last, Some("other after 3" | "other after 4")), "{starts:?}");
    assert_eq!(engine.commands.peak(), 2, "the parent, and one of the others");
    let [landing] = &engine.repository.landings()[..] else { panic!("one landing") };
    assert_eq!(landing.tasks.len(), 5);
    let record = engine.ledger.run(run).expect("it is in the ledger");
    let parents: Vec<_> = record.tasks().iter().map(|task| task.parent).collect();
    assert_eq!(parents, [None, Some(parent), Some(parent), Some(parent), None]);
    assert_eq!(engine.repository.leaked(), 0);
}

#[test(flavor = "multi_thread")]
async fn tasks_that_are_added_are_queued_admitted_and_landed_like_others() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let (run, _) = begin(&mut engine, task("first", "wait")).await;
    let mut tasks: Vec<_> = (0..6).map(|n| task(&format!("t{n}"), "yield")).collect();
    tasks[5].depends_on = vec!["t0".parse().unwrap(), "first".parse().unwrap()];
    engine.engine.controls(run).add_tasks(None, tasks).await.expect("the run goes on");
    let queued = engine.find(|event| match event {
        EventKind::TaskQueued { task, .. } if task.as_str() == "t5" => Some(()),
        EventKind::TaskStarted { task, .. } if task.as_str() != "first" => {
            panic!("{task} was started before it was queued")
        }
        _ => None,
    });
    queued.await;
    engine.find(|event| matches!(event, EventKind::TaskFinished { .. }).then_some(())).await;
    engine.commands.release();
    let (ends, _) = ends_and_starts(&mut engine).await;
    assert_eq!(ends.len(), 6, "and the one that ended before");
    assert_eq!(engine.commands.peak(), 2);
    assert_eq!(engine.repository.predecessors("t5").unwrap(), ["first", "t0"]);
    assert_eq!(engine.repository.landings()[0].tasks.len(), 7);
    let entries = engine.ledger.entries();
    let added = entries.iter().position(|entry| matches!(entry, LedgerEntry::TasksAdded { .. }));
    let landing = |entry: &LedgerEntry| matches!(entry, LedgerEntry::LandingStarted { .. });
    assert!(added < entries.iter().position(landing), "{entries:?}");
}

#[test(flavor = "multi_thread")]
async fn cancelling_a_run_reaches_added_tasks_and_parents_that_wait() {
    for level in [CancelLevel::Gently, CancelLevel::AtOnce] {
        let mut engine = TestEngine::with_concurrency(1).await;
        let (run, parent) = begin(&mut engine, task("parent", "sleep")).await;
        let children = vec![task("running", "sleep"), task("waiting", "yield")];
        engine
            .engine
            .controls(run)
            .add_tasks(Some(parent), children)
            .await
            .expect("the parent runs");
        let waiting = engine.engine.controls(run).await_children(parent);
        while engine.commands.running() < 2 {
            engine.next().await;
        }
        engine.engine.controls(run).cancel(level, Interruption::Interrupt);
        let (reports, totals) = engine.until_the_end().await;
        assert!(reports.iter().all(|(_, report)| report.outcome == Outcome::Cancelled));
        assert_eq!((totals.cancelled, totals.landed), (3, 0));
        assert!(engine.repository.landings().is_empty());
        assert_eq!((engine.repository.made(), engine.repository.leaked()), (2, 0));
        // The children may have ended before their parent, or it before them.
        match waiting.await {
            Ok(ended) => assert_eq!(ended.len(), 2),
            Err(error) => assert_eq!(error, WaitError::NotRunning),
        }
        let record = engine.ledger.run(run).expect("it is in the ledger");
        assert!(record.tasks().iter().all(|task| task.report().is_some()));
        let (_, totals) = engine.run(vec![task("next", "yield")]).await;
        assert_eq!(totals.landed, 1, "no permit is lost");
    }
}

#[test(flavor = "multi_thread")]
async fn a_task_that_does_not_fit_is_refused_and_costs_the_run_nothing() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let (run, parent) = begin(&mut engine, task("parent", "wait")).await;
    let mut bad = task("bad", "yield");
    bad.schema = Some(Box::new(json!({ "wrong": true })));
    let refused = engine.engine.controls(run).add_tasks(Some(parent), vec![bad]).await;
    assert!(matches!(refused, Err(AddTasksError::Schema { .. })), "{refused:?}");
    let mut crashing = task("crashing", "yield");
    crashing.schema = Some(Box::new(json!({ "panic": true })));
    let refused = engine.engine.controls(run).add_tasks(Some(parent), vec![crashing]).await;
    assert!(matches!(refused, Err(AddTasksError::Crashed(_))), "{refused:?}");
    let refused = engine.engine.controls(run).add_tasks(Some(TaskId::generate()), vec![]).await;
    assert_eq!(refused, Err(AddTasksError::ParentNotRunning));
    let refused = engine.engine.controls(run).add_tasks(None, vec![task("PARENT", "yield")]).await;
    assert!(matches!(refused, Err(AddTasksError::NameTaken(_))), "{refused:?}");
    engine.commands.release();
    let (_, totals) = engine.until_the_end().await;
    assert_eq!((totals.done, totals.landed), (1, 1));
    let over = engine.engine.controls(run).add_tasks(None, vec![task("late", "yield")]).await;
    assert_eq!(over, Err(AddTasksError::Ending));
    assert_eq!(
        engine.engine.controls(run).await_children(parent).await,
        Err(WaitError::NotRunning)
    );
    assert_eq!(engine.ledger.run(run).expect("it is in the ledger").tasks().len(), 1);
}

#[test(flavor = "multi_thread")]
async fn an_added_task_whose_predecessor_failed_is_not_started() {
    let mut engine = TestEngine::with_concurrency(2).await;
    let mut spec = engine.spec(vec![task("bad", "exit 1"), task("open", "wait")]);
    spec.tasks[1].priority = 1;
    let run = engine.submit(spec).await;
    engine.find(|event| matches!(event, EventKind::TaskFinished { .. }).then_some(())).await;
    let mut next = task("next", "yield");
    next.depends_on = vec!["bad".parse().unwrap()];
    engine.engine.controls(run.id).add_tasks(None, vec![next]).await.expect("the run goes on");
    while engine.commands.running() == 0 {
        engine.next().await;
    }
    engine.commands.release();
    let (_, totals) = engine.until_the_end().await;
    assert_eq!((totals.done, totals.failed), (1, 2));
}
