//! Which model does the work of a task, and whether it can.

mod base_url;
mod choice;
mod selection;

pub use base_url::BaseUrl;
pub use choice::{ModelChoice, Role};
pub use selection::Roles;
pub(crate) use selection::{Named, Selection};
