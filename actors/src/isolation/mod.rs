//! Who owns workspaces. A lease is given to a task and the workspace stays owned here, so that
//! none outlives its task and none goes before it is captured — however the task ends.

mod isolator;
mod repository;
mod workspace;

pub(crate) use isolator::{Isolator, IsolatorArguments, IsolatorMessage};
pub(crate) use repository::{Freezing, Landing, RepositoryMessage, SettledRun};
pub(crate) use workspace::{Lease, WorkspaceMessage, Writers};
