//! A run that is being opened: it can be cancelled, and then nothing of it stays.

use std::time::Duration;

use actors::{Cancelling, Submission, SubmitError};
use engine::verdict::Interruption;
use protocol::LedgerEntry;
use tests::fakes::{TestHouse, task};

/// Waits for `what`, unless nothing goes on any more. The clock is paused.
async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(100), what).await.expect("nobody waits for ever")
}

/// Checks that a run was withdrawn and that nothing else of it is known.
fn expect_nothing_of_it(house: &TestHouse) {
    let entries = house.ledger.entries();
    assert!(matches!(entries[..], [LedgerEntry::RunWithdrawn { .. }]), "{entries:?}");
    assert_eq!(house.repository.closed(), 1, "its claim is given up");
    assert_eq!((house.repository.made(), house.commands.ran()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_while_it_is_opened_is_not_started_and_nothing_of_it_stays() {
    for why in [Interruption::Interrupt, Interruption::Terminate] {
        let mut house = TestHouse::with_concurrency(1).await;
        house.repository.failpoints.block_at("freeze");
        let spec = house.spec(vec![task("one", "yield")]);
        let run = spec.id;
        let cancelled = async {
            house.repository.failpoints.until_blocked().await;
            house.house.cancel(run, Cancelling::Gently, why);
            house.house.cancel(run, Cancelling::AtOnce, Interruption::Bug);
            house.repository.failpoints.release();
        };
        let (refused, ()) = within(async { tokio::join!(house.try_submit(spec), cancelled) }).await;
        assert!(matches!(refused, Err(SubmitError::Cancelled(by)) if by == why), "{refused:?}");
        expect_nothing_of_it(&house);
        let (_, totals) = within(house.run(vec![task("next", "yield")])).await;
        assert_eq!(totals.landed, 1, "others are not touched");
        assert_eq!(within(house.house.close()).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_as_soon_as_it_is_submitted_is_not_started() {
    let house = TestHouse::with_concurrency(1).await;
    let spec = house.spec(vec![task("one", "yield")]);
    let run = spec.id;
    let repository = house.repository.clone();
    let news = std::sync::Arc::new(|_| {});
    let submitted = house.house.submit(Submission { spec, repository, news });
    house.house.cancel(run, Cancelling::Gently, Interruption::Interrupt);
    let refused = within(submitted).await;
    assert!(matches!(refused, Err(SubmitError::Cancelled(_))), "{refused:?}");
    expect_nothing_of_it(&house);
    assert_eq!(within(house.house.close()).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_being_opened_when_the_house_closes_leaves_nothing() {
    let house = TestHouse::with_concurrency(1).await;
    house.repository.failpoints.block_at("freeze");
    let (ledger, repository) = (house.ledger.clone(), house.repository.clone());
    let submission = house.try_submit(house.spec(vec![task("one", "yield")]));
    tokio::select! {
        biased;
        refused = submission => panic!("{refused:?}"),
        () = within(repository.failpoints.until_blocked()) => {}
    }
    repository.failpoints.release();
    assert_eq!(within(house.house.close()).await, None);
    let entries = ledger.entries();
    assert!(matches!(entries[..], [LedgerEntry::RunWithdrawn { .. }]), "{entries:?}");
    assert_eq!((repository.closed(), repository.made()), (1, 0));
}
