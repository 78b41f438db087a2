//! Tasks, as far as a command line or a list tells them apart.

use std::num::NonZeroUsize;

use protocol::{Command, TaskName};

use super::item::{Naming, Thing, one_line};
use super::names::Names;
use super::template::{Portion, Template};
use crate::error::Error;

/// How many bytes the items of one task may have together: they are the arguments of a process,
/// which share 2 MiB with its environment.
const MOST_TOGETHER: usize = 1 << 20;

/// A task that has a command and a name, and nothing else yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// Its name.
    pub(crate) name: TaskName,
    /// What people read about it.
    pub(crate) title: String,
    /// What it does.
    pub(crate) command: Command,
}

/// One command for many items.
pub(crate) struct Fanout<'a> {
    /// The command, with placeholders.
    pub(crate) script: &'a str,
    /// The items.
    pub(crate) items: Vec<String>,
    /// What they are.
    pub(crate) naming: Naming,
    /// How many of them a task gets, if not one.
    pub(crate) chunk: Option<NonZeroUsize>,
}

/// Makes a task of each item, or of each chunk of items.
///
/// # Errors
/// A placeholder that is none, or a name that cannot be put in where the script wants it.
pub(crate) fn drafts(fanout: Fanout<'_>) -> Result<Vec<Draft>, Error> {
    match fanout.chunk {
        None => single(fanout),
        Some(size) => chunked(&fanout, size),
    }
}

fn single(fanout: Fanout<'_>) -> Result<Vec<Draft>, Error> {
    let template = Template::read(fanout.script, Portion::One)?;
    let mut names = Names::default();
    let mut drafts = Vec::with_capacity(fanout.items.len());
    for (at, text) in fanout.items.into_iter().enumerate() {
        let name = match fanout.naming {
            Naming::Path => names.nearest(&text),
            Naming::Word => numbered(at + 1),
        };
        let title = one_line(&text);
        let item = Thing::of(text, fanout.naming);
        let script = template.fill(at + 1, Some(&item))?;
        let arguments = if template.takes_items() { vec![item.item.clone()] } else { Vec::new() };
        drafts.push(Draft {
            name,
            title,
            command: Command { script, item: Some(item), arguments },
        });
    }
    Ok(drafts)
}

fn chunked(fanout: &Fanout<'_>, size: NonZeroUsize) -> Result<Vec<Draft>, Error> {
    let template = Template::read(fanout.script, Portion::Chunk)?;
    let mut drafts = Vec::new();
    for (at, items) in fanout.items.chunks(size.get()).enumerate() {
        let together: usize = items.iter().map(|item| item.len() + size_of::<usize>() + 3).sum();
        if together > MOST_TOGETHER {
            let count = items.len();
            return Err(Error::usage(format!("the names of {count} items are too long together"))
                .because(format!("they have {together} bytes, and a command takes {MOST_TOGETHER}"))
                .hint("a smaller --chunk"));
        }
        let title = match items {
            [one] => one_line(one),
            [first, others @ ..] => format!("{} and {} more", one_line(first), others.len()),
            [] => String::new(),
        };
        let whole = items.iter().map(|item| Thing::of(item.clone(), fanout.naming).item);
        let (script, arguments) = (template.fill(at + 1, None)?, whole.collect());
        let command = Command { script, item: None, arguments };
        drafts.push(Draft { name: numbered(at + 1), title, command });
    }
    Ok(drafts)
}

/// Returns the name of a task that has none of its own.
fn numbered(number: usize) -> TaskName {
    TaskName::nearest(&format!("t{number}"))
}

#[cfg(test)]
mod tests;
