//! What people and programs see of a run: one picture fed by events, shown as it grows on standard
//! error and summed up on standard output.

mod json;
mod kept_files;
mod live_frame;
mod live_view;
mod next_commands;
mod numbers;
mod patch;
mod printable;
mod progress_lines;
mod renderer;
mod run_view;
mod table;
mod task_outcome;
mod task_row;
mod terminal;
mod transcript;

pub use json::document;
pub use kept_files::rescue_line;
pub use kept_files::{kept_workspace, left_out, left_out_lines};
pub use live_frame::passes;
pub use next_commands::{Loose, closing, failed_at_work};
pub use next_commands::{Typing, shell_word};
pub use numbers::{account, count, elapsed, lines, span, tokens, used, when};
pub use patch::write_patch;
pub use printable::{cut, one_line, width};
pub use renderer::{Renderer, Streams, renderer, table_renderer};
pub use run_view::{Head, Picture};
pub use table::{Extent, Table, TableRow, write_table};
pub use task_outcome::{Verdict, again, contested, reason_words, verdict};
pub use task_row::{Doing, Row, Stage, Wait};
pub use terminal::{Consent, Skill, Surroundings, View, Wishes};
pub use terminal::{Meaning, Palette};
pub use terminal::{Room, Size};
pub use transcript::{transcript, visible_line};
