//! The actors that own repositories and workspaces. A task holds a lease; the workspace stays owned
//! here, so that it is captured before it is removed however the task ends.

mod isolator;
mod repository;
mod requests;
mod workspace;

pub(crate) use isolator::{Isolator, IsolatorArguments, IsolatorMessage};
pub(crate) use repository::RepositoryMessage;
pub(crate) use requests::{Freezing, Landing, SettledRun};
pub(crate) use workspace::{CaptureReply, Lease, WorkspaceMessage, Writers};
