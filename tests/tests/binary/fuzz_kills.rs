//! Random kills of a run and of its recovery, in any nesting.

use tests::fuzz::{Rounds, kills};

use super::sandbox;

#[test]
fn whatever_is_killed_and_however_often_no_work_is_lost_and_every_run_reads_as_what_happened() {
    let rounds = Rounds::from_environment(60);
    rounds.run("fuzz_kills", |random| kills::check(&sandbox(), random));
}
