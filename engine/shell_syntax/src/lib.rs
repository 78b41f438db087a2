//! Takes shell scripts apart: simple commands, through the commands that only run another one, and
//! redirections. What the parser does not understand is never skipped: it is an undecidable part.

mod script;
#[cfg(test)]
mod verdicts;
mod word;
mod wrapper;

pub use script::BashSyntax;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
