//! Texts for people: what a terminal prints safely, quotes for a shell, numbers with their noun.

mod kept_files;
mod printable;
mod shell_word;
mod size;

pub use engine::texts::counted as count;

pub use kept_files::{kept_workspace_note, left_out_lines, left_out_note, rescue_line};
pub use printable::{escaped, harmless, one_line, printable_json, visible_line, visible_text};
pub use shell_word::{shell_word, shell_words};
pub use size::size_text;
