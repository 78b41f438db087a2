//! What drives the built binary: cli/Cargo.toml registers this file, so that cargo builds the
//! binary first and says where it is.

#[macro_use]
extern crate test_limit;

mod binary {
    mod agents;
    mod faults;
    mod landing;
    mod models;
    mod nested;
    mod programs;
    mod runs;
    mod sessions;
    mod settling;
    mod terminal;
    mod undo;
    mod workspaces;

    use tests::sandbox::Sandbox;

    /// Makes a place of a test's own for the binary that was just built.
    fn sandbox() -> Sandbox {
        Sandbox::new(env!("CARGO_BIN_EXE_regatta"))
    }

    /// The same on a disk, for what a file system in memory may do in another way.
    fn sandbox_on_disk() -> Sandbox {
        Sandbox::on_disk(env!("CARGO_BIN_EXE_regatta"))
    }
}
