//! A run that is being opened: it can be cancelled, and then nothing of it stays.

use std::time::Duration;

use actors::{Submission, SubmitError};
use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::LedgerEntry;
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
            engine.engine.cancel(run, CancelLevel::Gently, why);
            engine.engine.cancel(run, CancelLevel::AtOnce, Interruption::Bug);
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
    let notify = std::sync::Arc::new(|_| {});
    let submitted = engine.engine.submit(Submission { spec, repository, notify });
    engine.engine.cancel(run, CancelLevel::Gently, Interruption::Interrupt);
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
