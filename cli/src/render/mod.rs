//! What people and programs see of a run: one picture fed by events, shown as it grows on standard
//! error and summed up on standard output.

mod bounds;
mod closing;
mod diff;
mod figures;
mod frame;
mod json;
mod left_out;
mod live;
mod paint;
mod picture;
mod plain;
mod rescue;
mod row;
mod safe;
mod screen;
mod show;
mod table;
mod transcript;
mod typing;
mod verdict;
mod view;

pub use bounds::{Room, Size};
pub use closing::{Loose, closing, failed_at_work};
pub use diff::write_patch;
pub use figures::{account, count, elapsed, lines, span, tokens, used, when};
pub use frame::passes;
pub use json::document;
pub use left_out::{kept_workspace, left_out, left_out_lines};
pub use paint::{Meaning, Palette};
pub use picture::{Head, Picture};
pub use rescue::rescue_line;
pub use row::{Doing, Row, Stage, Wait};
pub use safe::{cut, one_line, width};
pub use show::{Renderer, Streams, renderer, table_renderer};
pub use table::{Extent, Table, TableRow, write_table};
pub use transcript::{transcript, visible_line};
pub use typing::{Typing, shell_word};
pub use verdict::{Verdict, again, contested, reason_words, verdict};
pub use view::{Consent, Skill, Surroundings, View, Wishes};
