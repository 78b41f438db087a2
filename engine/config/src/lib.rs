//! What the user has set, where each value comes from, and where things are on disk.

mod error;
mod key;
mod layer;
mod nearest;
mod origin;
mod places;
mod prices;
mod quantity;
mod settings;
mod shown;
mod value;
mod yaml;

pub use error::{SettingsError, UnknownKey};
pub use key::Key;
pub use nearest::nearest;
pub use origin::{Origin, Setting};
pub use places::{Places, PlacesError, make_private};
pub use prices::ModelPrice;
pub use quantity::{QuantityError, parse_count, parse_duration, parse_size};
pub use settings::{Flag, Settings, Sources};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
