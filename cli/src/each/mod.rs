//! `--each`: one task per item, whatever the items are called.

mod draft;
mod item;
mod names;
mod shell;
mod source;
mod template;

pub(crate) use draft::{Draft, Fanout, drafts};
pub(crate) use item::{Naming, one_line};
pub(crate) use source::{Input, Source, Tracked};
pub(crate) use template::refuse_placeholders;
