//! Random kills of a run and of its recovery, in any nesting.

use test_limit::Rounds;
use tests::fuzz::{Random, kills};

use crate::binary::sandbox;

#[test]
fn whatever_is_killed_and_however_often_no_work_is_lost_and_every_run_reads_as_what_happened() {
    let rounds = Rounds::new("fuzz_kills", 2, 60);
    let done = rounds.run(2, |seed| kills::check(&sandbox(), &mut Random::new(seed)));
    done.report("R1", 1, "runs killed at random");
}
