//! `regatta gc`: removes old captures, logs and outputs.

use std::path::Path;

use protocol::ExitCode;

use super::context::{Out, print_json};
use crate::args::{Form, GcArgs};
use regatta::app_context::AppContext;
use regatta::error::Error;
use regatta::gc::{Collector, Retention, report_text};

/// Removes old work of all repositories, or of `only` one.
///
/// # Errors
/// A task store cannot be read or written, and so nothing of it was removed; or the ledger cannot be
/// read or written.
pub async fn run(
    app: &AppContext,
    args: &GcArgs,
    (only, form): (Option<&Path>, Form),
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let retention = Retention {
        older_than: args.older_than.unwrap_or(app.settings.retention_older_than.value),
        keep_size: args.keep_size.or(app.settings.retention_keep_size.value),
    };
    let report = Collector::of(app, retention, args.execution()).collect(only).await?;
    match form {
        Form::Json => print_json(out, &report)?,
        Form::Text => {
            let text = report_text(&report);
            super::context::say(out, text.trim_end())?;
        }
    }
    match report.error() {
        Some(error) => Err(error.clone()),
        None => Ok(ExitCode::Success),
    }
}
