//! Models, keys, logins and wire APIs.

mod api_pairs;
pub(super) mod apis;
mod certificates;
pub(super) mod directory;
mod keys;
mod logins;
mod model_keys;
mod secrets;
mod streams;
mod switches;
