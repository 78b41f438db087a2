//! A test that hangs is named and ends its process, whatever else runs in it. One that is late is
//! judged by what else is late.

use std::process::Command;
use std::time::{Duration, Instant};

use test_limit::{InTime, Tries};

/// Makes the two tests below hang that only the first one starts.
const HANG: &str = "REGATTA_TEST_HANG";

#[test]
fn a_test_that_hangs_is_named_with_those_that_still_run_and_ends_the_process() {
    let mut tests = Command::new(std::env::current_exe().expect("a test knows where it is"));
    tests.args(["--test-threads=2", "--exact"]);
    tests.args(["time_limit::hangs_where_it_is_asked_to", "time_limit::asks_for_more_and_hangs"]);
    let output = tests.env(HANG, "1").env("REGATTA_TEST_LIMIT", "1").output();
    let output = output.expect("tests can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("\nTEST TOO LONG time_limit::hangs_where_it_is_asked_to after "),
        "{said}"
    );
    assert!(said.contains("\nstill running: time_limit::asks_for_more_and_hangs for "), "{said}");
}

#[test]
async fn hangs_where_it_is_asked_to() {
    if std::env::var_os(HANG).is_some() {
        std::future::pending::<()>().await;
    }
}

#[test]
fn asks_for_more_and_hangs() {
    if std::env::var_os(HANG).is_some() {
        test_limit::raise(Duration::from_secs(60), "the other test is to be the first");
        loop {
            std::thread::park();
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_is_late_is_a_failure_unless_the_machine_is_as_late_with_everything() {
    let judge = |took: u64, at_worst: u64| {
        let [took, at_worst] = [took, at_worst].map(Duration::from_millis);
        InTime::of(took, SECOND, at_worst)
    };
    assert_eq!(judge(1000, 10), InTime::Yes);
    assert_eq!(judge(1001, 10), InTime::No);
    assert_eq!(judge(1001, 1001), InTime::LateAsEverything);
    assert_eq!(judge(4001, 4000), InTime::No);
    assert!(test_limit::crowd(20) > Duration::ZERO);
}

#[test]
fn what_is_never_over_is_late() {
    let began = Instant::now();
    assert_eq!(InTime::wait(began, SECOND, || false), InTime::No);
    assert!(began.elapsed() >= SECOND);
    assert_eq!(InTime::wait(Instant::now(), SECOND, || true), InTime::Yes);
}

#[test]
fn a_try_that_was_late_on_a_busy_machine_is_repeated() {
    let mut tries = Tries::new(2, 2);
    for ended in [InTime::Yes, InTime::LateAsEverything, InTime::Yes] {
        assert!(tries.go_on());
        tries.count("some", ended);
    }
    assert!(!tries.go_on());
    assert_eq!(tries.to_string(), "2 in time, 1 late on a busy machine");
}

#[test]
fn no_test_begins_beside_one_that_runs_alone() {
    test_limit::alone("this is what is tested");
    let (sender, begun) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _watched = test_limit::begin("runner::time_limit", "begins_beside_another");
        let _first_has_ended = sender.send(());
    });
    assert!(begun.recv_timeout(Duration::from_millis(300)).is_err());
}
