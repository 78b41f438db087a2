//! From what was typed, planned and set to what a run is asked.

mod check;
mod defaults;
mod limits;
mod listing;
mod pass_env;
mod request;
mod spec;

pub use defaults::Defaults;
pub use listing::{Listing, listing};
pub use request::Request;
#[cfg(test)]
pub(crate) use spec::sample;
pub use spec::{Ground, resolve};
