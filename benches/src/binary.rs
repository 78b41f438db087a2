//! Finds the binary that a bench drives.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Rounds;

/// Builds the binary that a bench measures, which takes no time when it is there already, and returns
/// its path. It has the profile that `REGATTA_BENCH_PROFILE` names, or `release`; for a trial in the
/// dev profile it has that one.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn measured_binary() -> PathBuf {
    // A bench lies in TARGET/release/deps, or in TARGET/debug/deps.
    let bench = std::env::current_exe().expect("a bench knows where it is");
    let target = bench.ancestors().nth(3).expect("a bench lies in a target folder");
    let profile = measured_profile();
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
        .args(["build", "--quiet", "--profile", &profile, "--workspace", "--bin", "regatta"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the binary to measure can be built");
    target.join(if profile == "dev" { "debug" } else { &profile }).join("regatta")
}

/// Returns the profile of the binary that a bench measures.
pub(crate) fn measured_profile() -> String {
    match Rounds::asked_for() {
        Rounds::Full | Rounds::Short => {
            std::env::var("REGATTA_BENCH_PROFILE").unwrap_or_else(|_unset| "release".into())
        }
        Rounds::Trial => "dev".into(),
    }
}
