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

use super::context::{print_json, say};
use crate::args::{Form, Globals, Verbosity};
use crate::process;
use crate::render::{date_time, one_line, width};
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
        Form::Text => say(&mut io::stdout(), table(&reports, &accounts).trim_end())?,
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

fn table(reports: &[GateReport], accounts: &[Account<'_>]) -> String {
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
