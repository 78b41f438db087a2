//! The settings of a project, and whether the user trusts those that are powers.

mod bound_files;
mod powers;
mod project;
mod runners;

pub use powers::{Power, PowerState, TrustedPowers};
pub use project::{LoadedProject, load_settings, project_root};
