//! What is known about models: their limits, what they can do and what they cost.
//!
//! The catalogue comes with the program and says where its facts are from. A later one can replace
//! its facts, never an address, a header or a command. What is not known is absent.

mod facts;
mod models_dev;
mod table;
#[cfg(test)]
mod tests;

pub use facts::ModelFacts;
pub use models_dev::{ModelsDevError, Refreshed, parse_models_dev};
pub use table::{FactsError, FactsTable, ProviderFacts};
