//! The built-in tools: one file per tool, and the table of them.

mod arguments;
mod bash;
mod builtin;
mod builtins;
mod declared;
mod edit;
mod error;
mod file_error;
mod limits;
mod path_error;
mod path_hint;
mod paths;
mod plain;
mod read;
mod rehearsal;
mod session;
mod shown;
mod table;
mod write;
mod yielding;

pub use builtins::Builtins;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
