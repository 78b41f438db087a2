//! The columns of a table: their widths, the header and the text of a row.

use super::listed_rows::ListedRow;
use super::{Table, TableRow};
use crate::render::numbers::{changed_lines, duration, price, tokens};
use crate::render::printable::{cut, fit, one_line, width};
use crate::render::terminal::OutputWidth;

/// The maximum width of the column of labels on a terminal of 80 columns, and on a very wide one.
const NARROW_LABELS: usize = 32;
const WIDE_LABELS: usize = 100;

/// The longest name of a task: it is copied, and is whole where the row has room for it. Notes and usage then
/// have other places.
const NAME: usize = 48;

/// How many columns a wide terminal leaves for notes before the column of labels becomes wider.
const NOTE: usize = 40;

/// The widths of the columns.
pub(super) struct Columns {
    pub(super) task: usize,
    outcome: usize,
    lines: usize,
    usage: Shown,
}

/// Whether there are columns of tokens and cost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Yes,
    No,
}

/// The width of the columns of tokens and cost.
const USAGE: usize = 2 + 6 + 2 + 7;

impl Columns {
    pub(super) fn of(rows: &[ListedRow<'_>], table: &Table) -> Self {
        let widest = |cell: &dyn Fn(&TableRow) -> String, header: &str| {
            rows.iter().map(|listed| width(&cell(listed.row))).max().unwrap_or(0).max(header.len())
        };
        let outcome = widest(&|row| row.outcome.word.clone(), "outcome");
        let lines = widest(&|row| row.changes.map(changed_lines).unwrap_or_default(), "lines");
        let used = table.rows.iter().any(|row| row.usage.is_some());
        let task = rows.iter().map(|listed| width(&listed.label()));
        let task = task.max().unwrap_or(0).max("task".len());
        let task = match table.room {
            OutputWidth::Pipe => task,
            OutputWidth::Columns(columns) => {
                // A count of files may have six digits.
                let least = outcome + lines + 20;
                let others = least + if used { USAGE } else { 0 } + NOTE;
                let name = columns.saturating_sub(least).min(NAME);
                let room = columns.saturating_sub(others).max(name);
                task.min(room.clamp(NARROW_LABELS, WIDE_LABELS))
            }
        };
        let whole = task + outcome + lines + 19 + USAGE;
        let fits = match table.room {
            OutputWidth::Pipe => true,
            OutputWidth::Columns(columns) => whole <= columns,
        };
        Self { task, outcome, lines, usage: if used && fits { Shown::Yes } else { Shown::No } }
    }

    pub(super) fn header(&self) -> String {
        let (task, outcome) = (fit("task", self.task), fit("outcome", self.outcome));
        let usage = if self.usage == Shown::Yes { "  tokens     cost" } else { "" };
        format!("{task}  {outcome}  files  {:>1$}    time{usage}", "lines", self.lines)
    }

    pub(super) fn row(&self, listed: &ListedRow<'_>, label: &str, table: &Table) -> String {
        let row = listed.row;
        let task = fit(label, self.task);
        let word = fit(&row.outcome.word, self.outcome);
        // Those of the first task are not those of all.
        let changes = row.changes.filter(|_| listed.equal == 0);
        let files = changes.map(|changes| changes.files.to_string()).unwrap_or_default();
        let lines = changes.map(changed_lines).unwrap_or_default();
        let indent = " ".repeat(self.lines.saturating_sub(width(&lines)));
        let time = row.ms.filter(|_| listed.equal == 0).map(duration).unwrap_or_default();
        let usage = match (self.usage, row.usage.filter(|_| listed.equal == 0)) {
            (Shown::No, _) => String::new(),
            (Shown::Yes, None) => format!("  {:>6}  {:>7}", "–", "–"),
            (Shown::Yes, Some(usage)) => {
                format!("  {:>6}  {:>7}", tokens(usage.tokens()), price(usage.cost))
            }
        };
        let middle = format!("  {files:>5}  {indent}{lines}  {time:>6}{usage}");
        let used = self.task + 2 + self.outcome + width(&middle) + 3;
        let note = cell_end(&one_line(&row.outcome.note), used, table.room);
        let painted = table.palette.paint(row.outcome.meaning, word.trim_end());
        let rest = " ".repeat(width(&word) - width(word.trim_end()));
        format!("{task}  {painted}{rest}{middle}{note}").trim_end().to_owned()
    }
}

/// The indent of a note on a line of its own.
const INDENT: usize = 6;

/// Returns a note as the end of a row with `used` columns, or as a line of its own if it does not
/// fit.
fn cell_end(note: &str, used: usize, room: OutputWidth) -> String {
    match room {
        OutputWidth::Columns(columns) if used + width(note) > columns => {
            format!("\n{}{}", " ".repeat(INDENT), cut(note, columns.saturating_sub(INDENT)))
        }
        OutputWidth::Columns(_) | OutputWidth::Pipe => {
            format!("   {}", cut(note, room.behind(used)))
        }
    }
}
