//! Providers of models: one folder per wire API, and the offline provider that plays scripts. Each
//! makes one attempt at one request; when another is made is the engine's policy.

mod catalogue;
mod client;
mod completions;
mod known;
mod nearest;
mod offline;
mod preflight;
mod price;
mod printable;
mod secret;
mod sse;
#[cfg(test)]
mod test_support;
mod ways;

pub use catalogue::{Catalogue, CatalogueConfig, KeyLookup};
pub use known::{Known, Site, key_variables, known};
pub use price::{Price, Rate};
pub use ways::{Way, easiest_ways};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
