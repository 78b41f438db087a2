//! Models: which one works at a task, and whether it can be used.

mod choice;
mod preflight;
mod selection;

pub use choice::BaseUrl;
pub(crate) use choice::is_scenario;
pub use choice::{ModelChoice, Role};
pub(crate) use preflight::{check_models, is_scripted, routes};
pub use selection::Roles;
pub(crate) use selection::{ModelOption, ModelSelection};
