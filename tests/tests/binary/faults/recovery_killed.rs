//! The recovery of one interrupted run is killed again and again until it completes.

use test_limit::{Rounds, sample};
use tests::fuzz::Random;
use tests::fuzz::kills::{Interrupted, Series, check_recovery};

use crate::binary::sandbox;

#[test]
fn a_recovery_of_tasks_at_work_killed_at_each_step_in_turn_and_then_at_random_loses_no_work() {
    kill_recoveries("recovery_killed", Interrupted::AtWork, [Series::InTurn, Series::AtRandom]);
}

#[test]
fn a_recovery_of_a_landing_killed_at_each_step_in_turn_and_then_at_random_loses_no_work() {
    kill_recoveries("landing_killed", Interrupted::Landing, [Series::AtRandom, Series::InTurn]);
}

/// Kills recoveries of what was interrupted in both series; in quick depth in one of them.
fn kill_recoveries(name: &'static str, interrupted: Interrupted, series: [Series; 2]) {
    let done = Rounds::new(name, 1, 1).run(1, |seed| {
        let random = &mut Random::new(seed);
        for series in sample(series, 1) {
            check_recovery(&sandbox(), interrupted, series, random);
        }
    });
    done.report("R1", 2, "series of killed recoveries");
}
