//! The settings of the user and of a project with their origins, and the folders of the program.

mod agent_models;
pub mod agents;
mod alert;
mod data_paths;
mod default_settings;
mod error;
mod fallback_chains;
mod instructions;
mod key;
mod key_store;
mod layer;
pub mod mcp;
mod mistake;
mod models_file;
mod narrower;
mod nearest;
mod prices;
mod project;
mod project_mark;
mod quantity;
mod raw_json;
mod replaced_file;
mod secret;
mod settings;
mod value;
pub mod yaml;

pub use agent_models::AgentModels;
pub use alert::Alert;
pub use data_paths::{DataPaths, DataPathsError, make_private};
pub use default_settings::DEFAULT_SETTINGS;
pub use error::{Origin, Setting, SettingsError, UnknownKey};
pub use fallback_chains::{FallbackChains, RevertPolicy};
pub use instructions::{TextError, read_context_file, text_or_file};
pub use key::Key;
pub use key_store::{
    DEFAULT_KEY, KeyStore, KeyStoreError, LoginLock, LoginTokens, StoredKey, StoredKeys,
    is_key_name,
};
pub use mistake::Mistake;
pub use models_file::{
    ApiName, AuthKind, CompatSwitches, DiscoveryKind, Equivalence, ModelEntry, ModelsFault,
    ModelsFile, OauthEntry, ProviderEntry,
};
pub use nearest::nearest;
pub use prices::ModelPrice;
pub use project::{PROJECT_FILE, ProjectSettings, WithheldPower};
pub use project_mark::ProjectMark;
pub use quantity::{
    QuantityError, parse_age, parse_cost, parse_count, parse_duration, parse_size, parse_store_size,
};
pub use secret::{KeyError, Secret, ValueSource, api_key};
pub use settings::{Flag, LoadedSettings, Settings, Sources};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
