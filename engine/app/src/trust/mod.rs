//! The settings and MCP servers of a project, and whether the user trusts those that are powers.

mod bound_files;
mod changes;
mod powers;
mod project;
mod runners;
mod server_files;

pub use changes::{RevokeError, check_outside_task, revoke, trusted};
pub use powers::{Power, PowerKind, PowerState, TrustedPowers};
pub(crate) use project::settings_of;
pub use project::{LoadedProject, counts_still, project_root, project_settings, settings_to_look};
pub use store::{RepositoryTrust, TrustedPower};
