//! A test that hangs is named and ends its process, whatever else runs in it.

use std::process::Command;
use std::time::{Duration, Instant};

/// Makes the two tests below hang that only the first one starts.
const HANG: &str = "REGATTA_TEST_HANG";

#[test]
fn a_test_that_hangs_is_named_with_those_that_still_run_and_ends_the_process() {
    let mut tests = Command::new(std::env::current_exe().expect("a test knows where it is"));
    tests.args(["--test-threads=2", "--exact"]);
    tests.args(["time_limit::hangs_where_it_is_asked_to", "time_limit::asks_for_more_and_hangs"]);
    let began = Instant::now();
    let output = tests.env(HANG, "1").env("REGATTA_TEST_LIMIT", "1").output();
    let output = output.expect("tests can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("\nTEST TOO LONG time_limit::hangs_where_it_is_asked_to after 1 s\n"));
    assert!(said.contains("\nstill running: time_limit::asks_for_more_and_hangs for "), "{said}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
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
