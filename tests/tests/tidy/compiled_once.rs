//! No crate is compiled twice: the commands of the README want each with the same features.
//!
//! What only tests want of a crate is a dependency of `regatta-tests`, also where it is another
//! crate's tests that use it: cargo gives each crate of the workspace what one of them asks for, but
//! leaves out the dev-dependencies where it runs no tests.

use std::collections::BTreeSet;
use std::process::Command;

use super::workspace::root;

/// The crates that derive macros are made of, which parse our sources with other features.
const TWICE: &[&str] = &["proc-macro2", "quote", "syn"];

/// Returns each crate that dependencies of these kinds lead to, with its features.
fn crates(kinds: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--workspace", "--offline", "--no-dedupe", "--prefix", "none"]);
    cargo.args(["--format", "{p} {f}", "--edges", kinds]);
    let output = cargo.current_dir(root()).output().expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Returns the name and the version of a crate.
fn name(line: &str) -> Option<(&str, &str)> {
    line.split_once(' ').map(|(name, rest)| (name, rest.split(' ').next().unwrap_or_default()))
}

#[test]
fn to_run_and_to_test_takes_each_crate_with_the_same_features() {
    let run = crates("normal,build");
    assert!(run.len() > 100, "{run:?}");
    let names: BTreeSet<_> = run.iter().filter_map(|line| name(line)).collect();
    let both = crates("normal,build,dev");
    let again = both.difference(&run).filter(|line| {
        name(line).is_some_and(|name| names.contains(&name) && !TWICE.contains(&name.0))
    });
    assert_eq!(again.collect::<Vec<_>>(), Vec::<&String>::new());
}
