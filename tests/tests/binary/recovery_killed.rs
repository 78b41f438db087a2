//! The recovery of one interrupted run is killed again and again until it completes.

use test_limit::Rounds;
use tests::fuzz::Random;
use tests::fuzz::kills::{Interrupted, Series, check_recovery};

use super::sandbox;

#[test]
fn a_recovery_killed_at_each_step_in_turn_and_then_at_random_completes_and_loses_no_work() {
    let done = Rounds::new("recovery_killed", 1, 1).run(1, |seed| {
        let random = &mut Random::new(seed);
        for interrupted in [Interrupted::AtWork, Interrupted::Landing] {
            for series in [Series::InTurn, Series::AtRandom] {
                check_recovery(&sandbox(), interrupted, series, random);
            }
        }
    });
    done.report("R1", 4, "series of killed recoveries");
}
