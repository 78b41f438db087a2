//! Providers of models: one folder per wire API, and the offline provider, which plays scenario
//! files. Each makes one attempt at one request; retries are the engine's policy.

mod catalogue;
mod completions;
mod endpoint;
mod http_client;
mod known_providers;
mod offline;
mod preflight;
mod printable;
mod sse;
#[cfg(test)]
mod test_support;
mod usage;

pub use catalogue::{Catalogue, CatalogueConfig, KeyLookup};
pub use known_providers::{
    KnownProvider, SetupHint, Site, key_variables, known_providers, setup_hints,
};
pub use usage::{Price, Rate};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
