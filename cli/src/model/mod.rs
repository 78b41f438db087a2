//! Models: which one works at a task, and whether it can be used.

mod choice;
mod default_model;
mod directory;
mod key_command;
mod preflight;
mod selection;
mod stored_login;
mod user_logins;
mod user_models;

pub use choice::BaseUrl;
pub use choice::{ModelChoice, Role};
pub(crate) use choice::{anchor_scenario, is_scenario};
pub(crate) use default_model::{FoundModel, find_model};
pub(crate) use directory::ListedModel;
pub use directory::ModelDirectory;
pub(crate) use preflight::{check_models, is_scripted, routes};
pub use selection::Roles;
pub(crate) use selection::{ModelOption, ModelSelection};
pub(crate) use stored_login::expiry;
pub use user_models::UserModels;
pub(crate) use user_models::{KeyPlace, price_of_user};
