//! The settings of the user with their origins, and the folders of the program.

mod data_paths;
mod error;
mod key;
mod layer;
mod prices;
mod quantity;
mod settings;
mod value;
mod yaml;

pub use data_paths::{DataPaths, DataPathsError, make_private};
pub use error::{Origin, Setting, SettingsError, UnknownKey};
pub use key::{Key, nearest};
pub use prices::ModelPrice;
pub use quantity::{QuantityError, parse_count, parse_duration, parse_size};
pub use settings::{Flag, Settings, Sources};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
