//! The recovery of one interrupted run is killed again and again until it completes.

use tests::fuzz::Rounds;
use tests::fuzz::kills::{Interrupted, Series, check_recovery};

use super::sandbox;

#[test]
fn a_recovery_killed_at_each_step_in_turn_and_then_at_random_completes_and_loses_no_work() {
    let test = "a_recovery_killed_at_each_step";
    Rounds::from_environment(1).run(test, |random| {
        for interrupted in [Interrupted::AtWork, Interrupted::Landing] {
            for series in [Series::InTurn, Series::AtRandom] {
                check_recovery(&sandbox(), interrupted, series, random);
            }
        }
    });
}
