//! Judges yielded values by JSON Schema and says what is wrong so that a person and a model
//! understand it. Nothing outside a schema is ever fetched for it.

mod compile;
mod complaint;

pub use compile::JsonSchemas;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
