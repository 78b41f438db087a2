//! Random repositories and random tasks, against a judge that knows the rules of a landing.

use tests::fuzz::{Rounds, landing};

use super::sandbox;

#[test]
fn what_lands_is_what_an_independent_three_way_merge_of_each_path_says() {
    let rounds = Rounds::from_environment(300);
    rounds.run("fuzz_landing", |random| landing::check(&sandbox(), random));
}
