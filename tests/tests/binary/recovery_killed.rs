//! The recovery of one interrupted run is killed again and again until it completes.

use test_limit::{Rounds, sample};
use tests::fuzz::Random;
use tests::fuzz::kills::{Interrupted, Series, check_recovery};

use super::sandbox;

#[test]
fn a_recovery_killed_at_each_step_in_turn_and_then_at_random_completes_and_loses_no_work() {
    let done = Rounds::new("recovery_killed", 1, 1).run(1, |seed| {
        let random = &mut Random::new(seed);
        // In quick depth each of the two with one of the series.
        let cells = [
            (Interrupted::AtWork, Series::InTurn),
            (Interrupted::Landing, Series::AtRandom),
            (Interrupted::AtWork, Series::AtRandom),
            (Interrupted::Landing, Series::InTurn),
        ];
        for (interrupted, series) in sample(cells.chunks(2), 1).concat() {
            check_recovery(&sandbox(), interrupted, series, random);
        }
    });
    done.report("R1", 4, "series of killed recoveries");
}
