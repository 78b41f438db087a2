//! Patterns of code, found and rewritten by the grammars of languages.

mod grammars;
mod parse;
mod pattern;

pub use grammars::Grammars;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
