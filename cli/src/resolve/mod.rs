//! Resolves the command line, the plan and the settings to the specification of a run.

mod check;
mod dry_run;
mod retry;
mod run_request;
mod run_settings;
mod run_spec;
mod verification;

pub use dry_run::{Listing, listing};
pub use retry::retried;
pub use run_request::{RunRequest, refuse_inside_task};
pub use run_settings::Defaults;
#[cfg(test)]
pub(crate) use run_spec::sample;
pub use run_spec::{ResolveInputs, ResolvedRun, resolve};

pub use regatta::workspace_needs::NeedsSettings;
