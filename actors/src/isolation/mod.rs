//! The actors that own repositories and workspaces. A task holds a lease; the workspace stays owned
//! here, so that it is captured before it is removed however the task ends.

mod isolator;
mod repository;
mod workspace;

pub(crate) use isolator::{Isolator, IsolatorArguments, IsolatorMessage};
pub(crate) use repository::{Freezing, Landing, RepositoryMessage, SettledRun};
pub(crate) use workspace::{Lease, WorkspaceMessage, Writers};
