//! Several runs in one engine.

use std::collections::BTreeMap;

use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::{EventKind, ExitCode, RunName, Totals};
use tests::fakes::{TestEngine, task};

/// Waits for the end of so many runs, and returns what each came to.
async fn ends(engine: &mut TestEngine, runs: usize) -> BTreeMap<RunName, (Totals, ExitCode)> {
    let mut ends = BTreeMap::new();
    while ends.len() < runs {
        let event = engine.next().await;
        if let EventKind::RunFinished { totals, exit_code } = &event.kind {
            let run = event.run().expect("it is of a run").clone();
            ends.insert(run, (totals.clone(), *exit_code));
        }
    }
    ends
}

#[test(flavor = "multi_thread")]
async fn a_run_of_three_tasks_behind_one_of_a_thousand_is_not_starved() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = (0..1000).map(|n| task(&format!("t{n}"), "wait")).collect();
    let large = engine.submit(engine.spec(tasks)).await;
    while engine.commands.running() < 4 {
        engine.next().await;
    }
    let tasks = (0..3).map(|n| task(&format!("s{n}"), "yield")).collect();
    let small = engine.submit(engine.spec(tasks)).await;
    // Ends the four that run. Each of the large run's that follow would wait again.
    engine.commands.release();
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&small.name];
    assert_eq!((totals.landed, *exit_code), (3, ExitCode::Success));
    engine.engine.cancel(large.id, CancelLevel::AtOnce, Interruption::Terminate);
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&large.name];
    assert_eq!((totals.done, totals.cancelled), (4, 996));
    assert_eq!(*exit_code, ExitCode::Terminated);
    assert!(engine.commands.peak() <= 4);
}

#[test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_does_not_concern_the_one_beside_it() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = |prefix: &str| (0..3).map(|n| task(&format!("{prefix}{n}"), "wait")).collect();
    let unwanted = engine.submit(engine.spec(tasks("u"))).await;
    let wanted = engine.submit(engine.spec(tasks("w"))).await;
    while engine.commands.running() < 4 {
        engine.next().await;
    }
    engine.engine.cancel(unwanted.id, CancelLevel::Gently, Interruption::Interrupt);
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&unwanted.name];
    assert_eq!((totals.cancelled, totals.landed), (3, 0));
    assert_eq!(*exit_code, ExitCode::Interrupted);
    while engine.commands.running() < 3 {
        engine.next().await;
    }
    engine.commands.release();
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&wanted.name];
    assert_eq!((totals.done, totals.landed, *exit_code), (3, 3, ExitCode::Success));
    let [landing] = &engine.repository.landings()[..] else { panic!("one run lands") };
    assert_eq!(landing.run, wanted.name);
    assert_eq!((engine.repository.leaked(), engine.repository.closed()), (0, 2));
    assert_eq!(engine.engine.close().await, None);
}
