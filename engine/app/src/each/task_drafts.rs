//! Makes a draft of each task from the items of a list or the words of the command line: its name,
//! its title and its work.

use std::num::NonZeroUsize;

use protocol::{Command, Item, TaskName};

use super::items::{ItemKind, first_line_title, item_with_parts, title_of};
use super::prompt_template::PromptTemplate;
use super::script_template::{ItemsPerTask, ScriptTemplate, refuse_placeholders};
use super::task_names::{NameAllocator, numbered};
use crate::error::Error;

/// The most bytes of all items of a task. They are the arguments of a process, which share 2 MiB
/// with its environment.
const MOST_TOGETHER: usize = 1 << 20;

/// A task with a name, a title and work, whose model and limits are not resolved yet.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskDraft {
    /// Its name.
    pub name: TaskName,
    /// Its title.
    pub title: String,
    /// The items that it is for.
    pub items: Vec<String>,
    /// The work of the task.
    pub work: DraftWork,
}

/// The work of a draft.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftWork {
    /// A command.
    Command(Command),
    /// A prompt for a model.
    Prompt(String),
}

/// The work to do with each item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkTemplate {
    /// A command, with placeholders.
    Command(String),
    /// A prompt, with placeholders.
    Prompt(String),
}

/// A template of work, and the items to fill it with.
pub struct FanOut<'a> {
    /// The work.
    pub pattern: &'a WorkTemplate,
    /// The items.
    pub items: Vec<String>,
    /// The kind of the items.
    pub naming: ItemKind,
    /// How many items each task gets. `None` means one.
    pub chunk: Option<NonZeroUsize>,
}

/// Makes a task of each item, or of each chunk of items.
///
/// # Errors
/// A placeholder is unknown, or an item cannot be put safely where its placeholder is.
pub fn drafts(fanout: FanOut<'_>) -> Result<Vec<TaskDraft>, Error> {
    match fanout.chunk {
        None => single(fanout),
        Some(size) => chunked(&fanout, size),
    }
}

fn single(fanout: FanOut<'_>) -> Result<Vec<TaskDraft>, Error> {
    let filler = ParsedTemplate::read(fanout.pattern, ItemsPerTask::One)?;
    let mut names = NameAllocator::default();
    let mut drafts = Vec::with_capacity(fanout.items.len());
    for (at, text) in fanout.items.into_iter().enumerate() {
        let name = match fanout.naming {
            ItemKind::Path => names.of_path(&text),
            ItemKind::Word => names.of_words(&text),
        };
        let title = title_of(&text);
        let item = item_with_parts(text, fanout.naming);
        let items = vec![item.item.clone()];
        let work = filler.single(at + 1, item)?;
        drafts.push(TaskDraft { name, title: work.title().unwrap_or(title), items, work });
    }
    Ok(drafts)
}

fn chunked(fanout: &FanOut<'_>, size: NonZeroUsize) -> Result<Vec<TaskDraft>, Error> {
    let filler = ParsedTemplate::read(fanout.pattern, ItemsPerTask::Chunk)?;
    let mut drafts = Vec::new();
    for (at, items) in fanout.items.chunks(size.get()).enumerate() {
        let title = match items {
            [one] => title_of(one),
            [first, others @ ..] => format!("{} and {} more", title_of(first), others.len()),
            [] => String::new(),
        };
        let items: Vec<_> =
            items.iter().map(|item| item_with_parts(item.clone(), fanout.naming)).collect();
        let texts = items.iter().map(|item| item.item.clone()).collect();
        let work = filler.chunk(at + 1, items)?;
        drafts.push(TaskDraft {
            name: numbered(at + 1),
            title: work.title().unwrap_or(title),
            items: texts,
            work,
        });
    }
    Ok(drafts)
}

/// Returns a command with another script, for the same items.
///
/// # Errors
/// A placeholder is unknown or has no value, or an item cannot be put safely where it is.
pub fn with_script(command: &Command, script: &str, number: usize) -> Result<Command, Error> {
    let (portion, items) = match (&command.item, command.arguments.as_slice()) {
        (Some(item), _) => (ItemsPerTask::One, vec![Item::clone(item)]),
        (None, []) => {
            refuse_placeholders(script, "regatta run --each SPEC --exec CMD")?;
            return Ok(Command { script: script.to_owned(), ..command.clone() });
        }
        (None, items) => {
            let items = items.iter().cloned();
            let items = items.map(|item| item_with_parts(item, ItemKind::Word));
            (ItemsPerTask::Chunk, items.collect())
        }
    };
    let template = ScriptTemplate::read(script, portion)?;
    match portion {
        ItemsPerTask::One => items
            .into_iter()
            .next()
            .map_or_else(|| Ok(command.clone()), |item| single_command(&template, number, item)),
        ItemsPerTask::Chunk => chunk_command(&template, number, items),
    }
}

fn single_command(template: &ScriptTemplate, number: usize, item: Item) -> Result<Command, Error> {
    let script = template.fill(number, Some(&item))?;
    let arguments = if template.takes_items() { vec![item.item.clone()] } else { Vec::new() };
    Ok(Command { script, item: Some(Box::new(item)), arguments })
}

fn chunk_command(
    template: &ScriptTemplate,
    number: usize,
    items: Vec<Item>,
) -> Result<Command, Error> {
    let together: usize = items.iter().map(|item| item.item.len() + size_of::<usize>() + 1).sum();
    if together > MOST_TOGETHER {
        let count = items.len();
        return Err(Error::usage(format!("the names of {count} items are too long together"))
            .because(format!("they have {together} bytes, and a command takes {MOST_TOGETHER}"))
            .hint("a smaller --chunk"));
    }
    let script = template.fill(number, None)?;
    let arguments = items.into_iter().map(|item| item.item).collect();
    Ok(Command { script, item: None, arguments })
}

impl DraftWork {
    /// Returns the title of a prompt, or `None` for a command, whose title is made from its items.
    fn title(&self) -> Option<String> {
        match self {
            Self::Command(_) => None,
            Self::Prompt(prompt) => Some(first_line_title(prompt)),
        }
    }
}

/// A parsed template.
enum ParsedTemplate {
    Script(ScriptTemplate),
    Prompt(PromptTemplate),
}

impl ParsedTemplate {
    fn read(pattern: &WorkTemplate, portion: ItemsPerTask) -> Result<Self, Error> {
        match pattern {
            WorkTemplate::Command(script) => {
                ScriptTemplate::read(script, portion).map(Self::Script)
            }
            WorkTemplate::Prompt(prompt) => PromptTemplate::read(prompt, portion).map(Self::Prompt),
        }
    }

    fn single(&self, number: usize, item: Item) -> Result<DraftWork, Error> {
        match self {
            Self::Prompt(prompt) => Ok(DraftWork::Prompt(prompt.fill(number, &[item]))),
            Self::Script(script) => single_command(script, number, item).map(DraftWork::Command),
        }
    }

    fn chunk(&self, number: usize, items: Vec<Item>) -> Result<DraftWork, Error> {
        match self {
            Self::Prompt(prompt) => Ok(DraftWork::Prompt(prompt.fill(number, &items))),
            Self::Script(script) => chunk_command(script, number, items).map(DraftWork::Command),
        }
    }
}

#[cfg(test)]
mod tests;
