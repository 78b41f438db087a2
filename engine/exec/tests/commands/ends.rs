//! The ways a command ends, and what is left of its group: nothing.

use std::time::{Duration, Instant};

use engine::ports::{CancelLevel, CancelToken, CommandEnd, EndCause};

use crate::harness::{Harness, numbers, runs, until};

/// Starts what no TERM, HUP or lost pipe ends, notes its number, and goes on.
const DEAF: &str = r#"(trap '' TERM HUP INT; exec >/dev/null 2>&1; echo $(exec sh -c 'echo $PPID') >>deaf; while :; do sleep 600; done) &"#;

fn none_runs(harness: &Harness, file: &str) {
    let processes = numbers(&harness.read(file));
    assert!(!processes.is_empty());
    for process in processes {
        assert!(!runs(&process), "{process} still runs");
    }
}

#[test]
async fn a_command_ends_with_its_code_or_its_signal() {
    let harness = Harness::new();
    let ends = [
        ("exit 0", EndCause::Exited(0)),
        ("exit 7", EndCause::Exited(7)),
        ("kill -SEGV $$", EndCause::Signalled(11)),
        ("no-such-command 2>/dev/null", EndCause::Exited(127)),
    ];
    for (script, cause) in ends {
        let end = harness.run(script).await;
        let launch = end.launch;
        assert!(!launch.is_zero(), "{end:?}");
        let (last_line, failure_line, written, dropped) = (None, None, 0, 0);
        let output = None;
        let expected =
            CommandEnd { cause, last_line, failure_line, written, dropped, output, launch };
        assert_eq!(end, expected);
    }
}

#[test]
async fn what_a_command_leaves_in_its_group_ends_with_it() {
    let harness = Harness::new();
    let end = harness
        .run(&format!(
            "{DEAF} {DEAF} while [ $(cat deaf 2>/dev/null | wc -l) -lt 2 ]; do :; done; echo ok"
        ))
        .await;
    assert_eq!(end.cause, EndCause::Exited(0));
    assert_eq!(numbers(&harness.read("deaf")).len(), 2);
    none_runs(&harness, "deaf");
}

#[test]
async fn a_command_that_is_asked_to_stop_may_tidy_up() {
    let harness = Harness::with_grace(Duration::from_secs(15));
    let stop = CancelToken::default();
    let script = "trap 'echo tidied >tidied; exit 0' TERM; : >ready; while :; do sleep 0.01; done";
    let end = harness.run_and(script, &stop, || stop.cancel(CancelLevel::Gently)).await;
    assert_eq!(end.cause, EndCause::Stopped);
    assert_eq!(harness.read("tidied"), "tidied\n");
}

#[test]
async fn the_grace_is_for_the_whole_group() {
    let harness = Harness::with_grace(Duration::from_secs(15));
    let stop = CancelToken::default();
    // The shell dies of TERM at once; its child tidies up when it has been collected.
    let script = "(trap 'while [ -e /proc/$$ ]; do sleep 0.01; done; echo tidied >tidied; exit 0' TERM; : >ready; while :; do sleep 0.01; done); :";
    let began = Instant::now();
    let end = harness.run_and(script, &stop, || stop.cancel(CancelLevel::Gently)).await;
    assert_eq!(end.cause, EndCause::Stopped);
    assert_eq!(harness.read("tidied"), "tidied\n");
    test_limit::took_at_most(
        began.elapsed(),
        Duration::from_secs(10),
        "nobody waits for a grace that none needs",
    );
}

#[test]
async fn a_command_deaf_to_term_is_killed_after_the_grace() {
    let harness = Harness::with_grace(Duration::from_millis(200));
    let stop = CancelToken::default();
    let script = format!(
        "trap '' TERM; {DEAF} echo $$ >>deaf; while [ $(cat deaf | wc -l) -lt 2 ]; do :; done; : >ready; while :; do sleep 600; done"
    );
    let mut asked = Instant::now();
    let end = harness
        .run_and(&script, &stop, || {
            asked = Instant::now();
            stop.cancel(CancelLevel::Gently);
        })
        .await;
    let took = asked.elapsed();
    assert_eq!(end.cause, EndCause::Stopped);
    assert!(took >= Duration::from_millis(200), "{took:?}");
    test_limit::took_at_most(took, Duration::from_secs(15), "the grace is over sooner");
    none_runs(&harness, "deaf");
}

#[test]
async fn a_second_word_ends_the_grace() {
    let harness = Harness::with_grace(Duration::from_secs(60));
    let stop = CancelToken::default();
    let script = format!(
        "{DEAF} echo $$ >>deaf; trap ': >heard; exit' TERM; : >ready; while :; do sleep 0.01; done"
    );
    let end = harness
        .run_and(&script, &stop, || {
            stop.cancel(CancelLevel::Gently);
            let (again, heard) = (stop.clone(), harness.path("heard"));
            tokio::spawn(async move {
                until(move || heard.exists()).await;
                again.cancel(CancelLevel::AtOnce);
            });
        })
        .await;
    assert_eq!(end.cause, EndCause::Stopped);
    none_runs(&harness, "deaf");
}

#[test]
async fn at_once_leaves_no_time_to_tidy_up() {
    let harness = Harness::with_grace(Duration::from_secs(60));
    let stop = CancelToken::default();
    let script = "trap 'echo tidied >tidied; exit 0' TERM; : >ready; while :; do sleep 0.01; done";
    let end = harness.run_and(script, &stop, || stop.cancel(CancelLevel::AtOnce)).await;
    assert_eq!(end.cause, EndCause::Stopped);
    assert!(!harness.path("tidied").exists());
}

#[test]
async fn a_command_that_is_suspended_hears_that_it_should_stop() {
    let harness = Harness::with_grace(Duration::from_secs(15));
    let stop = CancelToken::default();
    let script = r#"trap 'echo tidied >tidied; exit 0' TERM; (until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done; : >ready) & kill -STOP $$; while :; do sleep 0.01; done"#;
    let end = harness.run_and(script, &stop, || stop.cancel(CancelLevel::Gently)).await;
    assert_eq!(end.cause, EndCause::Stopped);
    assert_eq!(harness.read("tidied"), "tidied\n");
}

#[test]
async fn a_command_that_should_stop_before_it_starts_never_starts() {
    let harness = Harness::new();
    for stop in [CancelToken::default(), CancelToken::default()].into_iter().enumerate() {
        let (turn, stop) = stop;
        if turn == 0 {
            stop.cancel(CancelLevel::Gently)
        } else {
            stop.cancel(CancelLevel::AtOnce)
        }
        let end = harness.ask(harness.request("echo started | tee started"), stop).await.unwrap();
        assert_eq!(end.cause, EndCause::Stopped);
        assert_eq!(end.written, 0);
    }
    assert!(!harness.path("started").exists());
}

#[test]
async fn when_the_future_has_been_dropped_nothing_of_the_group_is_left() {
    let harness = Harness::new();
    let script = format!(
        "trap '' TERM; {DEAF} echo $$ >>deaf; while [ $(cat deaf | wc -l) -lt 2 ]; do :; done; : >ready; while :; do sleep 600; done"
    );
    {
        let run = harness.ask(harness.request(&script), CancelToken::default());
        tokio::select! {
            end = run => panic!("it ended: {end:?}"),
            () = harness.appears("ready") => {}
        }
    }
    none_runs(&harness, "deaf");
}

#[test]
async fn a_future_dropped_at_any_moment_leaves_nothing() {
    let harness = Harness::new();
    for tenths in 0..60_u64 {
        let script = format!("echo $$ >>all; {DEAF} echo more; sleep 600");
        let run = harness.ask(harness.request(&script), CancelToken::default());
        let limit = Duration::from_micros(tenths * 100);
        assert!(tokio::time::timeout(limit, run).await.is_err());
        assert_eq!(harness.living(), Vec::<String>::new());
    }
    for file in ["all", "deaf"] {
        if harness.path(file).exists() {
            let left = numbers(&harness.read(file));
            assert!(!left.iter().any(|process| runs(process)), "{left:?}");
        }
    }
}
