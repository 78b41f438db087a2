//! Validates the results of tasks by JSON Schema, with messages for people and models. Nothing outside
//! of a schema is ever fetched.

mod cache;
mod validator;
mod violation_message;

pub use cache::CachedSchemas;
pub use validator::JsonSchemas;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
