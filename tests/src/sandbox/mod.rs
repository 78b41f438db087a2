//! Drives the built binary as a person would: in a home of its own, over repositories made for the
//! purpose, judged from outside by git, the file system, SQLite and the exit code.

mod fingerprint;
mod git_watch;
mod home;
mod invocation;
mod machine;
mod place;
mod plan;
mod processes;
mod repository;
mod running;
mod screen;
mod sources;
mod user;

pub use fingerprint::Fingerprint;
pub use home::{Home, LedgerTask};
pub use invocation::Invocation;
pub use machine::{ClosedPort, LoopDisk, SmallDisk, rustup_home};
pub use place::Sandbox;
pub use plan::Plan;
pub use processes::{Process, Processes};
pub use repository::{Dirt, Repository};
pub use running::{Finished, Running};
pub use screen::Screen;
pub use sources::{copy_of_a_dependency, copy_of_this_source};
pub use test_limit::{eventually, skip};
pub use user::{User, write_program};
