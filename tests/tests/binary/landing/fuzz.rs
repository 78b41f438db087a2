//! Random repositories and random tasks, against a judge that knows the rules of a landing.

use test_limit::Rounds;
use tests::fuzz::{Random, landing};

use crate::binary::sandbox;

#[test]
fn what_lands_is_what_an_independent_three_way_merge_of_each_path_says() {
    let rounds = Rounds::new("fuzz_landing", 8, 300);
    let done = rounds.run(2, |seed| landing::check(&sandbox(), &mut Random::new(seed)));
    done.report("R20", 1, "random landings");
}
