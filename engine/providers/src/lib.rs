//! Where models are had: one folder per wire format, and the offline provider that plays scripts.

mod catalogue;
mod client;
mod completions;
mod estimate;
mod known;
mod nearest;
mod offline;
mod piece;
mod preflight;
mod price;
mod printable;
mod retry;
mod secret;
mod spread;
mod sse;
mod terms;
#[cfg(test)]
mod trial;
mod voice;
mod ways;

pub use catalogue::{Catalogue, CatalogueConfig, KeyLookup};
pub use known::{Known, Site, key_variables, known};
pub use price::{Price, Rate};
pub use terms::{RetryPolicy, Watchdog};
pub use ways::{Way, easiest_ways};
