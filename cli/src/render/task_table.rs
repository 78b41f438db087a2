//! The table of a run: a line per task, and the totals.
//!
//! It is not laid out by a table library, because its first column is shortened in the middle to what
//! tells tasks apart, its last gets the columns that are left, and on a pipe nothing is cut.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use protocol::{ChangeSummary, Usage};

use super::numbers::{cache_line, changed_lines, count, duration, price, tokens, usage_text};
use super::printable::{cut, fit, one_line, width};
use super::task_label::shorten;
use super::task_outcome::OutcomeLine;
use super::terminal::{Meaning, OutputWidth, Palette};

/// The maximum number of tasks that are all listed. In a larger run, tasks without problems are
/// only counted.
pub(super) const WHOLE: usize = 50;

/// How many rows that say the same and no more are listed before they become one row with a count.
const EQUAL: usize = 10;

/// The maximum width of the column of labels on a terminal of 80 columns, and on a very wide one.
const NARROW_LABELS: usize = 32;
const WIDE_LABELS: usize = 100;

/// How many columns a wide terminal leaves for notes before the column of labels becomes wider.
const NOTE: usize = 40;

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

/// A row of the table with the number of rows after it that say the same.
struct ListedRow<'a> {
    row: &'a TableRow,
    equal: usize,
}

impl ListedRow<'_> {
    /// Returns what the label of the row says of the other tasks that it stands for.
    fn others(&self) -> String {
        if self.equal > 0 { format!(" and {} more", self.equal) } else { String::new() }
    }
}

/// Returns the labels of the rows, each at most `room` columns wide if the count of other tasks fits.
fn labels(rows: &[ListedRow<'_>], room: usize) -> Vec<String> {
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
        let hidden = (hidden > 0).then(|| format!("and {hidden} more without trouble"));
        let all = table.all.as_ref().filter(|_| hidden.is_some() || folded > 0);
        let parts = hidden.into_iter().chain(all.map(|all| format!("all tasks: {all}")));
        let line = parts.collect::<Vec<_>>().join("; ");
        if !line.is_empty() {
            writeln!(out, "{line}")?;
        }
    }
    if hidden + folded > 0 {
        // The notes of the tasks that are listed say it there.
        for (model, tasks) in fallback_counts(&table.rows) {
            writeln!(out, "{} answered by {}", count(tasks, "task"), one_line(model))?;
        }
    }
    let totals = outcome_counts(&table.rows, table.palette);
    let spent = table.ms.map(|ms| format!("    {}", duration(ms))).unwrap_or_default();
    let usage = table.rows.iter().filter_map(|row| row.usage).reduce(|one, other| one + other);
    let between = if spent.is_empty() { "    " } else { " · " };
    let used = usage.map(|usage| format!("{between}{}", usage_text(usage))).unwrap_or_default();
    writeln!(out, "{totals}{spent}{used}")?;
    match usage.and_then(cache_line) {
        Some(line) => writeln!(out, "{line}"),
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

fn listed_rows(table: &Table) -> Vec<ListedRow<'_>> {
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

/// The widths of the columns.
struct Columns {
    task: usize,
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
    fn of(rows: &[ListedRow<'_>], table: &Table) -> Self {
        let widest = |cell: &dyn Fn(&TableRow) -> String, header: &str| {
            rows.iter().map(|listed| width(&cell(listed.row))).max().unwrap_or(0).max(header.len())
        };
        let outcome = widest(&|row| row.outcome.word.clone(), "outcome");
        let lines = widest(&|row| row.changes.map(changed_lines).unwrap_or_default(), "lines");
        let used = table.rows.iter().any(|row| row.usage.is_some());
        let task = rows.iter().map(|listed| width(&listed.row.task) + width(&listed.others()));
        let task = task.max().unwrap_or(0).max("task".len());
        let task = match table.room {
            OutputWidth::Pipe => task,
            OutputWidth::Columns(columns) => {
                let others = outcome + lines + 19 + if used { USAGE } else { 0 } + NOTE;
                task.min(columns.saturating_sub(others).clamp(NARROW_LABELS, WIDE_LABELS))
            }
        };
        let whole = task + outcome + lines + 19 + USAGE;
        let fits = match table.room {
            OutputWidth::Pipe => true,
            OutputWidth::Columns(columns) => whole <= columns,
        };
        Self { task, outcome, lines, usage: if used && fits { Shown::Yes } else { Shown::No } }
    }

    fn header(&self) -> String {
        let (task, outcome) = (fit("task", self.task), fit("outcome", self.outcome));
        let usage = if self.usage == Shown::Yes { "  tokens     cost" } else { "" };
        format!("{task}  {outcome}  files  {:>1$}    time{usage}", "lines", self.lines)
    }

    fn row(&self, listed: &ListedRow<'_>, label: &str, table: &Table) -> String {
        let row = listed.row;
        let task = fit(label, self.task);
        let word = fit(&row.outcome.word, self.outcome);
        let files = row.changes.map(|changes| changes.files.to_string()).unwrap_or_default();
        let lines = row.changes.map(changed_lines).unwrap_or_default();
        let indent = " ".repeat(self.lines.saturating_sub(width(&lines)));
        let time = row.ms.filter(|_| listed.equal == 0).map(duration).unwrap_or_default();
        let usage = match (self.usage, row.usage) {
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

#[cfg(test)]
mod tests {
    use protocol::Cost;

    use super::*;

    fn row(task: &str, word: &str, meaning: Meaning, note: &str) -> TableRow {
        let mut outcome = OutcomeLine::plain(word, meaning);
        outcome.note = note.to_owned();
        let changes = Some(ChangeSummary { files: 3, added: 41, removed: 7 });
        TableRow {
            task: task.to_owned(),
            outcome,
            changes,
            ms: Some(31_000),
            usage: None,
            fallbacks: Vec::new(),
        }
    }

    fn written(rows: Vec<TableRow>, room: OutputWidth) -> String {
        let mut out = Vec::new();
        let table = Table {
            rows,
            ms: Some(108_000),
            room,
            palette: Palette::Plain,
            rows_shown: TableRows::Folded,
            all: Some("regatta runs show r1 --all".to_owned()),
        };
        write_table(&mut out, &table).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_small_run_has_a_line_per_task() {
        let rows = vec![
            row("auth", "landed", Meaning::Good, ""),
            row("billing", "conflict", Meaning::Kept, "src/config.rs, with auth"),
            row("search", "failed: contract", Meaning::Bad, "no yield"),
        ];
        assert_eq!(
            written(rows, OutputWidth::Pipe),
            "task     outcome           files   lines    time\n\
             auth     landed                3  +41 −7     31s\n\
             billing  conflict              3  +41 −7     31s   src/config.rs, with auth\n\
             search   failed: contract      3  +41 −7     31s   no yield\n\
             1 landed · 1 conflict · 1 failed    1m48s\n"
        );
    }

    fn with_usage() -> Vec<TableRow> {
        let usage = |output, cost: Option<u64>| {
            let cost = cost.map(Cost::from_nanodollars);
            Some(Usage { input: 20_000, output, cost, ..Usage::ZERO })
        };
        let mut rows = vec![
            row("auth", "landed", Meaning::Good, ""),
            row("make", "landed", Meaning::Good, ""),
            row("search", "failed: contract", Meaning::Bad, "no yield after 3 reminders"),
        ];
        rows[0].usage = usage(4_100, Some(51_000_000));
        rows[2].usage = usage(10_200, None);
        rows
    }

    #[test]
    fn where_models_were_asked_there_are_tokens_and_costs() {
        assert_eq!(
            written(with_usage(), OutputWidth::Pipe),
            "\
task    outcome           files   lines    time  tokens     cost
auth    landed                3  +41 −7     31s   24.1k    $0.05
make    landed                3  +41 −7     31s       –        –
search  failed: contract      3  +41 −7     31s   30.2k        ?   no yield after 3 reminders
2 landed · 1 failed    1m48s · 54.3k tokens · cost unknown
"
        );
        let mut rows = with_usage();
        rows.truncate(2);
        let text = written(rows, OutputWidth::Pipe);
        assert!(text.ends_with("2 landed    1m48s · 24.1k tokens · $0.05\n"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_has_no_room_for_tokens_but_for_their_sum() {
        for columns in 24..120 {
            let text = written(with_usage(), OutputWidth::Columns(columns));
            let roomy = text.lines().next().unwrap().ends_with("tokens     cost");
            assert_eq!(roomy, columns >= 64, "{columns}: {text}");
            assert!(text.ends_with("· 54.3k tokens · cost unknown\n"), "{text}");
        }
    }

    #[test]
    fn a_big_run_shows_its_trouble_and_counts_the_rest() {
        let mut rows: Vec<_> =
            (0..998).map(|at| row(&format!("t{at}"), "landed", Meaning::Good, "")).collect();
        rows.insert(5, row("clash", "conflict", Meaning::Kept, ""));
        rows.push(row("broken", "failed: command", Meaning::Bad, ""));
        rows[7].fallbacks = vec!["b/spare".to_owned()];
        let text = written(rows, OutputWidth::Pipe);
        let tasks: Vec<_> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(tasks, ["task", "broken", "clash", "and", "1", "998"]);
        assert!(text.contains("\n1 task answered by b/spare\n"), "{text}");
        assert!(text.ends_with("998 landed · 1 conflict · 1 failed    1m48s\n"), "{text}");
    }

    #[test]
    fn rows_that_say_the_same_and_no_more_are_one_row_with_a_count() {
        let mut rows: Vec<_> = (0..848)
            .map(|at| TableRow {
                changes: None,
                ms: Some(0),
                ..row(&format!("t{at}"), "cancelled", Meaning::Bad, "")
            })
            .collect();
        rows.insert(2, row("works", "cancelled", Meaning::Bad, ""));
        rows.push(TableRow { changes: None, ..row("a", "failed: auth", Meaning::Bad, "no key") });
        rows.push(TableRow { changes: None, ..row("b", "failed: auth", Meaning::Bad, "no key") });
        let text = written(rows.clone(), OutputWidth::Columns(80));
        let expected = "\
task             outcome       files   lines    time
t0 and 847 more  cancelled
works            cancelled         3  +41 −7     31s
a                failed: auth                    31s   no key
b                failed: auth                    31s   no key
all tasks: regatta runs show r1 --all
849 cancelled · 2 failed    1m48s
";
        assert_eq!(text, expected);
        let mut out = Vec::new();
        let table = Table {
            rows,
            ms: None,
            room: OutputWidth::Pipe,
            palette: Palette::Plain,
            rows_shown: TableRows::All,
            all: None,
        };
        write_table(&mut out, &table).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1 + 851 + 1);
    }

    #[test]
    fn a_row_of_several_tasks_keeps_its_count_on_a_narrow_terminal() {
        let long = |at| format!("packages/service-{at}/src/generated/client/index-{at}.ts");
        let rows = (0..60)
            .map(|at| TableRow { changes: None, ..row(&long(at), "cancelled", Meaning::Bad, "") });
        let text = written(rows.collect(), OutputWidth::Columns(80));
        let listed = text.lines().nth(1).unwrap();
        assert!(listed.starts_with("packag") && listed.contains(" and 59 more "), "{text}");
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }

    #[test]
    fn who_asks_for_trouble_only_gets_that_and_the_totals() {
        let rows = vec![row("auth", "landed", Meaning::Good, "")];
        let table = Table {
            rows,
            ms: None,
            room: OutputWidth::Pipe,
            palette: Palette::Plain,
            rows_shown: TableRows::Problems,
            all: None,
        };
        let mut out = Vec::new();
        write_table(&mut out, &table).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "1 landed\n");
    }

    #[test]
    fn a_note_that_does_not_fit_stands_below() {
        let written = written(with_usage(), OutputWidth::Columns(80));
        let lines: Vec<_> = written.lines().skip(3).take(2).collect();
        assert_eq!(
            lines,
            [
                "search  failed: contract      3  +41 −7     31s   30.2k        ?",
                "      no yield after 3 reminders",
            ]
        );
    }

    #[test]
    fn a_row_stays_inside_the_terminal_and_obeys_nobody() {
        let rows = vec![row("auth", "failed: x", Meaning::Bad, &"long\u{1b}[2J words ".repeat(50))];
        let text = written(rows, OutputWidth::Columns(80));
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
