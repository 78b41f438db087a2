//! `regatta gates`: shows the provider accounts that engines use, and what their requests wait for.

use std::io;
use std::time::Duration;

use config::DataPaths;
use engine::ports::{AccountId, Clock as _};
use engine::request::GateReport;
use jiff::tz::TimeZone;
use protocol::{ExitCode, Timestamp};
use serde::Serialize;
use store::GateFiles;

use super::context::{Output as _, print_json, say};
use crate::args::{Form, Globals, Verbosity};
use crate::process;
use crate::render::{OutputWidth, date_time, one_line, width, wrapped};
use regatta::app_context::SystemClock;
use regatta::error::{Error, ErrorKind};

/// One account, as programs read it.
#[derive(Serialize)]
struct Account<'a> {
    provider: &'a str,
    base_url: Option<&'a str>,
    /// Where the key is from.
    key: Option<&'a str>,
    engines: usize,
    in_use: usize,
    /// `null` if there is no limit.
    allowed: Option<usize>,
    waiting: usize,
    /// `null` if requests do not wait, or the end of the wait is unknown.
    until: Option<Timestamp>,
    why: Option<&'a str>,
}

/// Shows the accounts.
///
/// # Errors
/// What engines share cannot be read.
pub fn run(globals: &Globals) -> Result<ExitCode, Error> {
    let places = DataPaths::of_this_process()?;
    let reports = GateFiles::new(places.gates()).reports();
    let reports = reports.map_err(|error| {
        let what = "cannot read what engines share about accounts";
        Error::new(ErrorKind::Machine, what).because(error.to_string())
    })?;
    let now = SystemClock.now();
    let accounts: Vec<_> = reports.iter().map(|report| account(report, now)).collect();
    match globals.form() {
        Form::Json => {
            let document = serde_json::json!({ "accounts": accounts });
            print_json(&mut io::stdout(), &document)?;
        }
        Form::Text if accounts.is_empty() => {
            if globals.verbosity() != Verbosity::Quiet {
                process::notify("no account was used since the machine was started");
            }
        }
        Form::Text => {
            let room = io::stdout().room();
            say(&mut io::stdout(), table(&reports, &accounts, room).trim_end())?;
        }
    }
    Ok(ExitCode::Success)
}

fn account(report: &GateReport, now: Timestamp) -> Account<'_> {
    let AccountId { provider, base_url, key, .. } = &report.account;
    let until = |wait: Duration| {
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(now.as_millisecond().saturating_add(millis))
    };
    Account {
        provider,
        base_url: base_url.as_deref(),
        key: key.as_deref(),
        engines: report.engines,
        in_use: report.under_way,
        allowed: report.limit,
        waiting: report.waiting,
        until: report.hold.as_ref().and_then(|hold| hold.wait).map(until),
        why: report.hold.as_ref().map(|hold| hold.reason.as_str()),
    }
}

/// Returns the table. Where it is too wide for the terminal, the account and what it waits for have lines of
/// their own.
fn table(reports: &[GateReport], accounts: &[Account<'_>], room: OutputWidth) -> String {
    let zone = TimeZone::system();
    let head = ["account", "engines", "in use", "allowed", "waiting", "until", "why"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(reports.iter().zip(accounts).map(|(report, account)| {
        [
            one_line(&report.account.to_string()),
            account.engines.to_string(),
            account.in_use.to_string(),
            account.allowed.map_or_else(|| "any".to_owned(), |allowed| allowed.to_string()),
            account.waiting.to_string(),
            account.until.map(|until| date_time(until, &zone)).unwrap_or_default(),
            account.why.map(one_line).unwrap_or_default(),
        ]
    }));
    let mut widths = [0; 7];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let all = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
    if let OutputWidth::Columns(columns) = room
        && all > columns
    {
        return wrapped(&narrow_table(&rows), room);
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, widest))| {
            let space = " ".repeat(widest - width(cell));
            if (1..5).contains(&at) { format!("{space}{cell}") } else { format!("{cell}{space}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// Returns the rows as lines of a name each, with what there is to say below it.
fn narrow_table(rows: &[[String; 7]]) -> String {
    let [head, rows @ ..] = rows else { return String::new() };
    let mut text = String::new();
    for row in rows {
        let [account, numbers @ .., until, why] = row;
        let numbers =
            numbers.iter().zip(&head[1..]).map(|(number, name)| format!("{number} {name}"));
        text += &format!("{account}\n  {}\n", numbers.collect::<Vec<_>>().join(" · "));
        if !until.is_empty() {
            text += &format!("  until {until}\n");
        }
        if !why.is_empty() {
            text += &format!("  {why}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_that_are_too_wide_for_the_terminal_have_several_lines() {
        let head = ["account", "engines", "in use", "allowed", "waiting", "until", "why"];
        let row =
            ["openai at http://x", "2", "1", "any", "7", "12:30", "it asked to be left alone"];
        let rows = [head.map(str::to_owned), row.map(str::to_owned)];
        assert_eq!(
            narrow_table(&rows),
            "openai at http://x\n  2 engines · 1 in use · any allowed · 7 waiting\n  until 12:30\n  \
             it asked to be left alone\n"
        );
    }
}
