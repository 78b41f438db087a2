//! The rows of a table: which tasks have one, and which share one because they say the same.

use std::collections::HashMap;

use super::{Table, TableRow, TableRows};
use crate::render::printable::width;
use crate::render::task_label::shorten;
use crate::render::task_outcome::OutcomeLine;
use crate::render::terminal::Meaning;

/// The maximum number of tasks that are all listed. In a larger run, tasks without problems are
/// only counted.
pub(in crate::render) const WHOLE: usize = 50;

/// How many rows that say the same and no more are listed before they become one row with a count.
const EQUAL: usize = 10;

/// A row of the table with the number of rows after it that say the same.
pub(super) struct ListedRow<'a> {
    pub(super) row: &'a TableRow,
    pub(super) equal: usize,
}

impl ListedRow<'_> {
    /// Returns what the label of the row says of the other tasks that it stands for.
    pub(super) fn others(&self) -> String {
        if self.equal > 0 { format!(" and {} more", self.equal) } else { String::new() }
    }
}

/// Returns the labels of the rows, each at most `room` columns wide if the count of other tasks fits.
pub(super) fn labels(rows: &[ListedRow<'_>], room: usize) -> Vec<String> {
    let names: Vec<String> = rows.iter().map(|listed| listed.row.task.clone()).collect();
    let widest = rows.iter().map(|listed| width(&listed.others())).max().unwrap_or(0);
    let alone = shorten(&names, room);
    let of_several = shorten(&names, room.saturating_sub(widest));
    let label = |(listed, (alone, of_several)): (&ListedRow<'_>, (String, String))| {
        let name = if listed.equal > 0 { of_several } else { alone };
        format!("{name}{}", listed.others())
    };
    rows.iter().zip(alone.into_iter().zip(of_several)).map(label).collect()
}

pub(super) fn listed_rows(table: &Table) -> Vec<ListedRow<'_>> {
    if table.rows_shown == TableRows::All {
        return table.rows.iter().map(|row| ListedRow { row, equal: 0 }).collect();
    }
    if table.rows_shown == TableRows::Folded && table.rows.len() <= WHOLE {
        return folded(table.rows.iter());
    }
    let with = |meaning| table.rows.iter().filter(move |row| row.outcome.meaning == meaning);
    folded(with(Meaning::Bad).chain(with(Meaning::Kept)))
}

/// Returns the rows in their order. Of rows that have the same outcome and note, and no change or usage,
/// the first stands for all if they are more than a few.
fn folded<'a>(rows: impl Iterator<Item = &'a TableRow> + Clone) -> Vec<ListedRow<'a>> {
    let says_more =
        |row: &TableRow| row.changes.is_some_and(|it| it.files > 0) || row.usage.is_some();
    let mut counts: HashMap<&OutcomeLine, usize> = HashMap::new();
    for row in rows.clone().filter(|row| !says_more(row)) {
        *counts.entry(&row.outcome).or_default() += 1;
    }
    let mut listed = Vec::new();
    for row in rows {
        match counts.get_mut(&row.outcome).filter(|_| !says_more(row)) {
            // An earlier row stands for this one.
            Some(0) => {}
            Some(count) if *count > EQUAL => {
                listed.push(ListedRow { row, equal: *count - 1 });
                *count = 0;
            }
            _ => listed.push(ListedRow { row, equal: 0 }),
        }
    }
    listed
}
