//! Stand-ins for the outside world, obedient to words in a task's script.

mod accounts;
mod agents;
mod commands;
mod engine;
mod failpoints;
mod gate_store;
mod isolation;
mod ledger;
mod servers;
mod sessions;
mod tools;
mod trace;

pub use self::engine::{FakeClock, TestEngine, run_of, task};
pub use accounts::{AskedAccount, FakeAccounts, yields};
pub use agents::{FakeLogs, FakeModels, HANGING_SUMMARY, agent, is_forced};
pub use commands::FakeCommands;
pub use failpoints::Failpoints;
pub use gate_store::FakeGateStore;
pub use isolation::FakeRepository;
pub use ledger::FakeLedger;
pub use servers::{FakeServers, server};
pub use sessions::{TestSession, input, session, session_tools, silent};
pub use tools::{FakeArtifacts, FakeTools, spec};
pub use trace::{Step, Trace};
