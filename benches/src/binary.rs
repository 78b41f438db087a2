//! Finds the binary that a bench drives.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Rounds;

/// Builds the release binary, which takes no time when it is there already, and returns its path.
/// For a trial in the dev profile it is the binary of that.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn release_binary() -> PathBuf {
    built(&[])
}

/// Builds the release binary without its conversation on a terminal, and returns its bytes. It is in
/// the place of the other binary until that is asked for again.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn headless_size() -> u64 {
    let binary = built(&["--no-default-features"]);
    std::fs::metadata(binary).expect("it was built").len()
}

fn built(features: &[&str]) -> PathBuf {
    // A bench lies in TARGET/release/deps, or in TARGET/debug/deps.
    let bench = std::env::current_exe().expect("a bench knows where it is");
    let target = bench.ancestors().nth(3).expect("a bench lies in a target folder");
    let (profile, folder) = match Rounds::asked_for() {
        Rounds::Full | Rounds::Short => ("release", "release"),
        Rounds::Trial => ("dev", "debug"),
    };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo tells a bench about its package would tell build scripts that they are out of date.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text == "CARGO_MANIFEST_DIR" || text.starts_with("CARGO_PKG_") {
            cargo.env_remove(&name);
        }
    }
    let status = cargo
        // Of the whole workspace, as the benches are, so that it takes the same crates.
        .args(["build", "--quiet", "--profile", profile, "--workspace", "--bin", "regatta"])
        .args(features)
        .arg("--target-dir")
        .arg(target)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the release binary can be built");
    target.join(folder).join("regatta")
}
