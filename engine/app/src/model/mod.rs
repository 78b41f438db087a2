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
pub use choice::{anchor_scenario, is_scenario};
pub use default_model::{FoundModel, FoundModels, find_model};
pub use directory::ListedModel;
pub use directory::ModelDirectory;
pub use fallbacks::FallbackChain;
pub use fallbacks::left_out_fallbacks;
pub use local_models::LocalSources;
pub use obstacle::Obstacle;
pub use preflight::{all_routes, check_listed_models, check_model, check_models, routes};
pub use selection::Roles;
pub use selection::{ModelOption, ModelSelection, PlannedModel};
pub use stored_login::expiry;
pub use user_models::UserModels;
pub use user_models::{KeyPlace, price_of_user};
