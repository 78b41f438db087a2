//! Models: which one works at a task, and whether it can be used.

mod choice;
mod configured_provider;
mod default_model;
mod directory;
mod fallbacks;
mod family;
mod key_command;
mod local_models;
mod obstacle;
mod preflight;
mod renewals;
mod selection;
mod stored_login;
mod user_directory;
mod user_logins;
mod user_models;

pub use choice::BaseUrl;
pub use choice::{ModelChoice, Role};
pub(crate) use choice::{anchor_scenario, is_scenario};
pub(crate) use default_model::{FoundModel, find_model};
pub(crate) use directory::ListedModel;
pub use directory::ModelDirectory;
pub use fallbacks::FallbackChain;
pub(crate) use fallbacks::left_out_fallbacks;
pub(crate) use local_models::LocalSources;
pub(crate) use obstacle::Obstacle;
pub(crate) use preflight::{all_routes, check_model, check_models, routes};
pub use selection::Roles;
pub(crate) use selection::{ModelOption, ModelSelection, PlannedModel};
pub(crate) use stored_login::expiry;
pub use user_models::UserModels;
pub(crate) use user_models::{KeyPlace, price_of_user};
