//! The built-in tools: one file per tool, and the table of them.

mod agent_result;
mod apply_patch;
mod artifact;
mod artifact_file;
mod ask;
mod ast_edit;
mod ast_grep;
mod background;
mod bash;
mod builtin;
mod builtins;
mod change;
mod code_search;
mod display;
mod edit;
mod encoding;
mod error;
mod find;
mod globs;
mod grep;
mod ignore_rules;
mod images;
mod job;
mod judged;
mod ls;
mod nearest;
mod notebook;
mod paths;
mod plain_text;
mod preview;
mod punctuation;
mod read;
mod report_finding;
mod search_place;
mod seen_files;
mod session;
mod task;
mod text_file;
mod todo_write;
mod walk;
mod write;
mod yield_tool;

pub use bash::user_command::{UserCommandEnd, UserShell};
pub use bash::user_shell::UserShells;
pub use builtin::ShownPart;
pub use builtins::Builtins;
pub use images::{ImageSizes, LARGEST_IMAGE, Resized, SmallerImage, fit, image_type};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
