//! `--each`: one task per item, whatever the items are called.

mod draft;
mod item;
mod names;
mod prompt;
mod shell;
mod source;
mod template;

pub(crate) use draft::{Draft, Drafted, Fanout, Pattern, drafts};
pub(crate) use item::{Naming, first_line, one_line};
pub(crate) use prompt::without_items;
pub(crate) use source::{Input, Source, Tracked};
pub(crate) use template::refuse_placeholders;
