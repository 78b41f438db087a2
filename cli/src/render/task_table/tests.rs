//! Tables of runs.

use protocol::Cost;

use super::*;
use crate::render::printable::width;

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
        capture: CapturePresence::There,
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
        let end = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let roomy = text.lines().next().unwrap().ends_with("tokens     cost");
        assert_eq!(roomy, columns >= 64, "{columns}: {text}");
        assert!(end.ends_with("· 54.3k tokens · cost unknown"), "{text}");
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
fn rows_of_discarded_work_are_one_row_whatever_its_size_was() {
    let gone = |at: u64| TableRow {
        changes: Some(ChangeSummary { files: 1, added: at, removed: 0 }),
        usage: Some(Usage { input: at, ..Usage::ZERO }),
        capture: CapturePresence::Gone,
        ..row(&format!("t{at}"), "kept", Meaning::Kept, "its capture was discarded")
    };
    let text = written((0..40).map(gone).collect(), OutputWidth::Pipe);
    let row = text.lines().nth(1).unwrap_or_default();
    assert!(row.starts_with("40 tasks: t0, t1, …  kept ") && !row.contains('+'), "{text}");
    assert!(row.ends_with("its capture was discarded"), "{text}");
    assert!(text.lines().nth(2).unwrap().contains("regatta runs show r1 --all"), "{text}");
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
task                  outcome       files   lines    time
848 tasks: t0, t1, …  cancelled
works                 cancelled         3  +41 −7     31s
a                     failed: auth                    31s   no key
b                     failed: auth                    31s   no key
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
    assert!(listed.starts_with("60 tasks: packag") && listed.contains(", …  "), "{text}");
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
