//! A run that is being opened: it can be cancelled, and then nothing of it stays.

use std::time::Duration;

use actors::{Submission, SubmitError};
use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::{EventKind, LedgerEntry};
use tests::fakes::{TestEngine, task};

/// Waits for `what`, unless nothing goes on any more. The clock is paused.
async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(100), what).await.expect("nobody waits for ever")
}

/// Checks that a run was withdrawn and that nothing else of it is known.
fn expect_nothing_of_it(engine: &TestEngine) {
    let entries = engine.ledger.entries();
    assert!(matches!(entries[..], [LedgerEntry::RunWithdrawn { .. }]), "{entries:?}");
    assert_eq!(engine.repository.closed(), 1, "its claim is given up");
    assert_eq!((engine.repository.made(), engine.commands.ran()), (0, 0));
}

#[test(start_paused = true)]
async fn a_run_that_is_cancelled_while_it_is_opened_is_not_started_and_nothing_of_it_stays() {
    for why in [Interruption::Interrupt, Interruption::Terminate] {
        let mut engine = TestEngine::with_concurrency(1).await;
        engine.repository.failpoints.block_at("freeze");
        let spec = engine.spec(vec![task("one", "yield")]);
        let run = spec.id;
        let cancelled = async {
            engine.repository.failpoints.until_blocked().await;
            engine.engine.controls(run).cancel(CancelLevel::Gently, why);
            engine.engine.controls(run).cancel(CancelLevel::AtOnce, Interruption::Bug);
            engine.repository.failpoints.release();
        };
        let (refused, ()) =
            within(async { tokio::join!(engine.try_submit(spec), cancelled) }).await;
        assert!(matches!(refused, Err(SubmitError::Cancelled(by)) if by == why), "{refused:?}");
        expect_nothing_of_it(&engine);
        let (_, totals) = within(engine.run(vec![task("next", "yield")])).await;
        assert_eq!(totals.landed, 1, "others are not touched");
        assert_eq!(within(engine.engine.close()).await, None);
    }
}

#[test(start_paused = true)]
async fn a_run_that_is_cancelled_as_soon_as_it_is_submitted_is_not_started() {
    let engine = TestEngine::with_concurrency(1).await;
    let spec = engine.spec(vec![task("one", "yield")]);
    let run = spec.id;
    let repository = engine.repository.clone();
    let submitted = engine.engine.run(Submission::new(spec, repository));
    engine.engine.controls(run).cancel(CancelLevel::Gently, Interruption::Interrupt);
    let refused = within(submitted).await;
    assert!(matches!(refused, Err(SubmitError::Cancelled(_))), "{refused:?}");
    expect_nothing_of_it(&engine);
    assert_eq!(within(engine.engine.close()).await, None);
}

#[test(start_paused = true)]
async fn a_run_that_is_being_opened_when_the_house_closes_leaves_nothing() {
    let engine = TestEngine::with_concurrency(1).await;
    engine.repository.failpoints.block_at("freeze");
    let (ledger, repository) = (engine.ledger.clone(), engine.repository.clone());
    let submission = engine.try_submit(engine.spec(vec![task("one", "yield")]));
    tokio::select! {
        biased;
        refused = submission => panic!("{refused:?}"),
        () = within(repository.failpoints.until_blocked()) => {}
    }
    repository.failpoints.release();
    assert_eq!(within(engine.engine.close()).await, None);
    let entries = ledger.entries();
    assert!(matches!(entries[..], [LedgerEntry::RunWithdrawn { .. }]), "{entries:?}");
    assert_eq!((repository.closed(), repository.made()), (1, 0));
}

#[test(start_paused = true)]
async fn a_run_whose_tasks_have_set_ups_of_their_own_says_that_the_verification_has_none() {
    let own = |setup: &[&str]| {
        let mut task = task("one", "yield");
        let setup: Vec<_> = setup.iter().map(|script| (*script).to_owned()).collect();
        task.needs.setup = Some(setup).filter(|setup| !setup.is_empty());
        task
    };
    for (tasks, of_run, verify, expected) in [
        (vec![own(&["a"]), own(&["b"])], vec![], vec!["true"], true),
        (vec![own(&["a"]), own(&[])], vec![], vec!["true"], false),
        (vec![own(&["a"])], vec!["yield"], vec!["true"], false),
        (vec![own(&["a"])], vec![], vec![], false),
    ] {
        let mut engine = TestEngine::with_concurrency(1).await;
        let mut spec = engine.spec(tasks);
        for (at, task) in spec.tasks.iter_mut().enumerate() {
            task.name = format!("task-{at}").parse().unwrap();
        }
        spec.needs.setup = of_run.into_iter().map(str::to_owned).collect();
        spec.verify.commands = verify.into_iter().map(str::to_owned).collect();
        engine.submit(spec).await;
        // The notices of a run come before its tasks.
        let mut told = Vec::new();
        let queued = engine.find(|event| match event {
            EventKind::Degraded { why, .. } => {
                told.push(why.clone());
                None
            }
            EventKind::TaskQueued { .. } => Some(()),
            _ => None,
        });
        within(queued).await;
        let why = "each task has a set-up of its own, and the run has none".to_owned();
        assert_eq!(told, expected.then_some(why).into_iter().collect::<Vec<_>>());
    }
}
