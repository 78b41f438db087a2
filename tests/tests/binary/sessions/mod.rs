//! Sessions in print mode.

mod approvals;
mod bad_input;
mod context_files;
mod isolated;
mod killed;
mod killed_calls;
mod options;
pub(super) mod print;
mod saved;
mod scripts;
mod servers;
