//! Has a debug build of the program linked at a fixed address. Else each start moves its 340,000 addresses,
//! which takes longer than `--version`, and the tests start it thousands of times.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|it| it == value);
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bin=regatta=-no-pie");
    }
}
