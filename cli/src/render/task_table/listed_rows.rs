//! The rows of a table: which tasks have one, and which share one because they say the same.

use std::collections::HashMap;

use super::{CapturePresence, Table, TableRow, TableRows};
use crate::render::printable::width;
use crate::render::task_label::shorten;
use crate::render::task_outcome::OutcomeLine;
use crate::render::terminal::Meaning;

/// The maximum number of tasks that are all listed. In a larger run, tasks without problems are
/// only counted.
const WHOLE: usize = 50;

/// How many rows that say the same and no more are listed before they become one row with a count.
const EQUAL: usize = 10;

/// A row of the table with the rows after it that say the same.
pub(super) struct ListedRow<'a> {
    pub(super) row: &'a TableRow,
    /// How many these are.
    pub(super) equal: usize,
    /// The first of these.
    second: Option<&'a TableRow>,
}

impl<'a> ListedRow<'a> {
    fn alone(row: &'a TableRow) -> Self {
        Self { row, equal: 0, second: None }
    }

    /// Returns the label of a row for several tasks: how many, and the first ones. At most `room` columns
    /// wide if one of their labels fits.
    fn of_several(&self, room: usize) -> String {
        let count = format!("{} tasks: ", self.equal + 1);
        let names: Vec<_> = [Some(self.row), self.second].into_iter().flatten().collect();
        let names: Vec<String> = names.into_iter().map(|row| row.task.clone()).collect();
        let both = format!("{count}{}{REST}", names.join(", "));
        if width(&both) <= room {
            return both;
        }
        let left = room.saturating_sub(width(&count) + width(REST));
        format!("{count}{}{REST}", shorten(&names[..1], left).concat())
    }

    /// Returns the label, whatever its width.
    pub(super) fn label(&self) -> String {
        if self.equal > 0 { self.of_several(usize::MAX) } else { self.row.task.clone() }
    }
}

/// What stands for the tasks that a label does not name.
const REST: &str = ", …";

/// Returns the labels of the rows, each at most `room` columns wide if the count of tasks fits.
pub(super) fn labels(rows: &[ListedRow<'_>], room: usize) -> Vec<String> {
    let names: Vec<String> = rows.iter().map(|listed| listed.row.task.clone()).collect();
    let alone = shorten(&names, room);
    let label = |(listed, alone): (&ListedRow<'_>, String)| {
        if listed.equal > 0 { listed.of_several(room) } else { alone }
    };
    rows.iter().zip(alone).map(label).collect()
}

pub(super) fn listed_rows(table: &Table) -> Vec<ListedRow<'_>> {
    if table.rows_shown == TableRows::All {
        return table.rows.iter().map(ListedRow::alone).collect();
    }
    if table.rows_shown == TableRows::Folded && table.rows.len() <= WHOLE {
        return folded(table.rows.iter());
    }
    let with = |meaning| table.rows.iter().filter(move |row| row.outcome.meaning == meaning);
    folded(with(Meaning::Bad).chain(with(Meaning::Kept)))
}

/// Returns the rows in their order. Of rows that have the same outcome and note, and no change or usage of which
/// the work is there, the first stands for all if they are more than a few.
fn folded<'a>(rows: impl Iterator<Item = &'a TableRow> + Clone) -> Vec<ListedRow<'a>> {
    let says_more = |row: &TableRow| match row.capture {
        CapturePresence::There => row.changes.is_some_and(|it| it.files > 0) || row.usage.is_some(),
        CapturePresence::Gone => false,
    };
    let mut equal: HashMap<&OutcomeLine, Vec<&TableRow>> = HashMap::new();
    for row in rows.clone().filter(|row| !says_more(row)) {
        equal.entry(&row.outcome).or_default().push(row);
    }
    let mut listed = Vec::new();
    for row in rows {
        match equal.get(&row.outcome).filter(|equal| equal.len() > EQUAL && !says_more(row)) {
            Some(equal) if std::ptr::eq(equal[0], row) => {
                let second = equal.get(1).copied();
                listed.push(ListedRow { row, equal: equal.len() - 1, second });
            }
            // An earlier row stands for this one.
            Some(_) => {}
            None => listed.push(ListedRow::alone(row)),
        }
    }
    listed
}
