//! The names of a plan's tasks.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use protocol::{NameError, TaskName};
use serde_spanned::Spanned;

use super::format::TaskTable;
use super::text::PlanText;
use crate::each::{NameAllocator, numbered};
use crate::error::Error;

/// The names of a plan's tasks.
pub(super) struct TaskNames {
    pub(super) in_order: Vec<TaskName>,
    /// The index and the span of each name, by its case-folded form.
    pub(super) known: HashMap<String, (usize, Range<usize>)>,
}

/// Returns the names of tasks: each its `id`, or else one that is made of its work.
///
/// # Errors
/// A name is invalid, or two tasks have the same.
pub(super) fn names(text: PlanText<'_>, tables: &[Spanned<TaskTable>]) -> Result<TaskNames, Error> {
    let given = tables.iter().map(|table| given_name(text, table.get_ref()));
    let given: Vec<_> = given.collect::<Result<_, _>>()?;
    let counted = tables.iter().enumerate();
    let counted = counted.map(|(at, table)| is_counted(table.get_ref()).then(|| numbered(at + 1)));
    let counted: Vec<_> = counted.collect();
    let mut free = NameAllocator::without(given.iter().chain(&counted).flatten());
    let mut names = TaskNames { in_order: Vec::new(), known: HashMap::new() };
    for (at, (table, (given, counted))) in
        tables.iter().zip(given.into_iter().zip(counted)).enumerate()
    {
        let span = table.get_ref().id.as_ref().map_or_else(|| table.span(), Spanned::span);
        let name =
            given.or(counted).unwrap_or_else(|| free.of_words(&naming_text(table.get_ref())));
        if let Some((_, first)) = names.known.insert(name.folded(), (at, span.clone())) {
            let what = format!("a second task is called `{name}`");
            let error = text.error(&span, what).because(format!(
                "the first is in line {}, and case makes no difference",
                text.line(&first)
            ));
            return Err(error.hint(text.syntax.entry("id", &format!("\"{}\"", name.numbered(2)))));
        }
        names.in_order.push(name);
    }
    Ok(names)
}

/// Returns whether a task without an `id` is named by its number: one that has no prompt.
fn is_counted(table: &TaskTable) -> bool {
    table.id.is_none() && table.prompt.is_none() && table.prompt_file.is_none()
}

/// Returns what names a task without an `id`: the words of its prompt, or of the name of its file.
fn naming_text(table: &TaskTable) -> String {
    let file = table.prompt_file.as_ref().map(|file| Path::new(file.get_ref()));
    let stem = file.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    table.prompt.as_ref().map(|prompt| prompt.get_ref().clone()).or(stem).unwrap_or_default()
}

fn given_name(text: PlanText<'_>, table: &TaskTable) -> Result<Option<TaskName>, Error> {
    table.id.as_ref().map(|id| name(text, id)).transpose()
}

fn name(text: PlanText<'_>, id: &Spanned<String>) -> Result<TaskName, Error> {
    id.get_ref().parse().map_err(|error| match error {
        NameError::Task { name, nearest } => text
            .error(&id.span(), format!("`{name}` cannot name a task"))
            .because(
                "a name has letters, digits, `_` and `-`, begins with a letter or digit, and is \
                 no longer than 48; such segments can be joined by single dots",
            )
            .hint(text.syntax.entry("id", &format!("\"{nearest}\""))),
        NameError::Run(_) | NameError::Group(_) => text.error(&id.span(), error.to_string()),
    })
}
