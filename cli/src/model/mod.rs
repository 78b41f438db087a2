//! Which model does the work of a task, and whether it can.

mod base_url;
mod choice;
mod opening;
mod selection;

pub use base_url::BaseUrl;
pub(crate) use choice::is_scenario;
pub use choice::{ModelChoice, Role};
pub(crate) use opening::{is_rehearsed, reach, routes};
pub use selection::Roles;
pub(crate) use selection::{Named, Selection};
