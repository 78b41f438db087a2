//! Validates the results of tasks by JSON Schema and JTD, with messages for people and models. Nothing outside
//! of a schema is ever fetched.

mod cache;
mod jtd;
mod validator;
mod violation_message;

pub use cache::CachedSchemas;
pub use jtd::{is_jtd, jtd_to_json_schema, read_schema};
pub use validator::JsonSchemas;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
