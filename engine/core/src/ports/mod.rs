//! What the engine needs from the outside world.

mod clock;
mod commands;
mod isolation;
mod ledger;
mod schema;
mod withdrawal;

pub use clock::Clock;
pub use commands::{CommandEnd, CommandError, CommandRequest, Commands, EndCause, Stop};
pub use isolation::{
    Baseline, FreezeRequest, Isolation, IsolationError, LandingNews, LandingRequest, LandingTarget,
    LandingTask, Notice, Recovered, RecoveredTask, Repository, RepositoryFacts, Workspace,
    WorkspaceRequest,
};
pub use ledger::{LedgerError, LedgerStore};
pub use schema::{AnyValue, Schema, Schemas};
pub use withdrawal::Withdrawal;
