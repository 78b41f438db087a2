//! The table of a run: a line per task, and the totals.
//!
//! It is not laid out by a table library, because its first column is shortened in the middle to what
//! tells tasks apart, its last gets the columns that are left, and on a pipe nothing is cut.

mod columns;
mod listed_rows;

use std::collections::BTreeMap;
use std::io::{self, Write};

use protocol::{ChangeSummary, Usage};

use self::columns::Columns;
use self::listed_rows::{labels, listed_rows};
use super::line_wrap::wrapped;
use super::numbers::{cache_line, count, duration, usage_text};
use super::printable::one_line;
use super::task_outcome::OutcomeLine;
use super::terminal::{Meaning, OutputWidth, Palette};

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// The label of the task; printable.
    pub task: String,
    /// The outcome of the task.
    pub outcome: OutcomeLine,
    /// The size of the task's change, if it is known.
    pub changes: Option<ChangeSummary>,
    /// How long the task took, if it has ended.
    pub ms: Option<u64>,
    /// The usage of the task's model, if it has one.
    pub usage: Option<Usage>,
    /// The models that have answered in place of the task's own: `PROVIDER/ID`.
    pub fallbacks: Vec<String>,
    /// Whether its capture is there.
    pub capture: CapturePresence,
}

/// Whether the capture of a task is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePresence {
    /// It is, or there never was one.
    There,
    /// It was discarded or collected: the size of its change says nothing any more.
    Gone,
}

/// A table and how it is written.
#[derive(Clone, Debug)]
pub struct Table {
    /// The tasks, in the order of their declaration.
    pub rows: Vec<TableRow>,
    /// How long the run took, if it has ended.
    pub ms: Option<u64>,
    /// The maximum length of a line.
    pub room: OutputWidth,
    /// The colours.
    pub palette: Palette,
    /// Which tasks get a line.
    pub rows_shown: TableRows,
    /// The command that lists all tasks, unless no commands are shown.
    pub all: Option<String>,
}

/// Which tasks get a line of a table. The others are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRows {
    /// All tasks.
    All,
    /// All tasks of a small run; in a run of many tasks, those with problems. Rows that say the same and
    /// no more, such as `cancelled` of tasks that have not started, are one row with a count.
    Folded,
    /// The tasks with problems, folded in the same way.
    Problems,
}

/// Writes a table.
///
/// # Errors
/// `out` cannot be written.
pub fn write_table(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    let shown = listed_rows(table);
    let columns = Columns::of(&shown, table);
    if !shown.is_empty() {
        let header = table.palette.paint(Meaning::Heading, &columns.header());
        writeln!(out, "{header}")?;
    }
    for (listed, label) in shown.iter().zip(labels(&shown, columns.task)) {
        writeln!(out, "{}", columns.row(listed, &label, table))?;
    }
    let folded: usize = shown.iter().map(|listed| listed.equal).sum();
    let hidden = table.rows.len() - shown.len() - folded;
    if table.rows_shown == TableRows::Folded && !shown.is_empty() {
        let hidden = (hidden > 0).then(|| format!("and {hidden} more without problems"));
        let all = table.all.as_ref().filter(|_| hidden.is_some() || folded > 0);
        let parts = hidden.into_iter().chain(all.map(|all| format!("all tasks: {all}")));
        let line = parts.collect::<Vec<_>>().join("; ");
        if !line.is_empty() {
            writeln!(out, "{}", wrapped(&line, table.room))?;
        }
    }
    if hidden + folded > 0 {
        // The notes of the tasks that are listed say it there.
        for (model, tasks) in fallback_counts(&table.rows) {
            let line = format!("{} answered by {}", count(tasks, "task"), one_line(model));
            writeln!(out, "{}", wrapped(&line, table.room))?;
        }
    }
    let totals = outcome_counts(&table.rows, table.palette);
    let spent = table.ms.map(|ms| format!("    {}", duration(ms))).unwrap_or_default();
    let usage = table.rows.iter().filter_map(|row| row.usage).reduce(|one, other| one + other);
    let between = if spent.is_empty() { "    " } else { " · " };
    let used = usage.map(|usage| format!("{between}{}", usage_text(usage))).unwrap_or_default();
    writeln!(out, "{}", wrapped(&format!("{totals}{spent}{used}"), table.room))?;
    match usage.and_then(cache_line) {
        Some(line) => writeln!(out, "{}", wrapped(&line, table.room)),
        None => Ok(()),
    }
}

/// Returns the models that have answered in place of others, each with the number of tasks.
fn fallback_counts(rows: &[TableRow]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for model in rows.iter().flat_map(|row| &row.fallbacks) {
        *counts.entry(model.as_str()).or_default() += 1;
    }
    counts
}

/// Returns the count of each outcome: `14 landed · 1 conflict · 1 failed`.
#[must_use]
pub fn outcome_counts(rows: &[TableRow], palette: Palette) -> String {
    let mut counts: Vec<(&str, Meaning, usize)> = Vec::new();
    for row in rows {
        let word = row.outcome.word.split(':').next().unwrap_or_default();
        match counts.iter_mut().find(|(known, ..)| *known == word) {
            Some((.., count)) => *count += 1,
            None => counts.push((word, row.outcome.meaning, 1)),
        }
    }
    counts.sort_by_key(|(_, meaning, _)| match meaning {
        Meaning::Good => 0,
        Meaning::Kept => 2,
        Meaning::Bad => 3,
        Meaning::Neutral | Meaning::Heading | Meaning::Place | Meaning::Aside => 1,
    });
    let parts = counts.into_iter().map(|(word, meaning, count)| {
        let plural = if count > 1 && word == "conflict" { "s" } else { "" };
        palette.paint(meaning, &format!("{count} {word}{plural}"))
    });
    parts.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests;
