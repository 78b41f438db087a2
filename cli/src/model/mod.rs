//! Models: which one works at a task, and whether it can be used.

mod choice;
mod preflight;
mod selection;

pub use choice::BaseUrl;
pub use choice::{ModelChoice, Role};
pub(crate) use choice::{anchor_scenario, is_scenario};
pub(crate) use preflight::{check_models, is_scripted, routes};
pub use selection::Roles;
pub(crate) use selection::{ModelOption, ModelSelection};
