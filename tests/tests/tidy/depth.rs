//! How deep the tests go is decided in one place, and the slow ones are known.

use super::workspace::{sources, text};

/// The variables that decide it, and the only file that may read them.
const VARIABLES: [&str; 2] = ["\"REGATTA_DEPTH\"", "\"REGATTA_SEED\""];
const READER: &str = "tests/limit/src/depth.rs";

#[test]
fn the_depth_and_the_seed_of_tests_are_read_in_one_place() {
    for variable in VARIABLES {
        let reads = sources().into_iter().filter(|source| source.text.contains(variable));
        let reads = reads.map(|source| source.path.to_string_lossy().into_owned());
        let others: Vec<_> = reads.filter(|path| *path != file!()).collect();
        assert_eq!(others, [READER], "{variable}");
    }
}

#[test]
fn each_slow_test_has_its_reason_and_there_are_fifteen_at_most() {
    let list = text(".ci/slow_tests.txt").expect("there is a list of slow tests");
    let rows: Vec<_> =
        list.lines().filter(|row| !row.is_empty() && !row.starts_with('#')).collect();
    assert!(rows.len() <= 15, "{} slow tests", rows.len());
    for row in rows {
        let (test, reason) = row.split_once(' ').expect("a row is a test and its reason");
        let name = test.rsplit("::").next().unwrap_or(test);
        let named =
            |source: &super::workspace::Source| source.text.contains(&format!("fn {name}("));
        assert!(sources().iter().any(named), "no test is called {test}");
        assert!(reason.split(' ').count() > 2, "{test} has a reason");
    }
}

#[test]
fn each_seed_that_failed_is_a_name_and_a_number() {
    let list = text("tests/seeds.txt").expect("there is a list of seeds");
    for row in list.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let (name, seed) = row.split_once(' ').expect("a row is a name and a seed");
        assert!(seed.parse::<u64>().is_ok(), "{row}");
        let rounds = format!("\"{name}\"");
        assert!(sources().iter().any(|source| source.text.contains(&rounds)), "{row}");
    }
}
