//! Stand-ins for the outside world, obedient to words in a task's script.

mod commands;
mod house;
mod isolation;
mod ledger;

pub use commands::FakeCommands;
pub use house::{FakeClock, TestHouse, task};
pub use isolation::FakeRepository;
pub use ledger::FakeLedger;
