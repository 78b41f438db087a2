//! How the verification of a task's work has failed, for `regatta logs`.

use std::path::Path;

use protocol::Unverified;
use serde::Serialize;
use store::TaskRow;

use super::context::{CommandContext, Out, say};
use super::logs::{if_exists, output};
use crate::render::{Meaning, one_line, unverified, unverified_text};
use regatta::error::Error;

/// The verification that keeps the work of a task from landing.
#[derive(Debug, Serialize)]
pub(super) struct VerifyLog<'a> {
    #[serde(flatten)]
    unverified: &'a Unverified,
    /// All output of the command that failed. Bytes that are not UTF-8 become `�`.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
}

/// Returns the verification that keeps the work of a task from landing, if one does.
pub(super) fn verify_log(row: &TaskRow) -> Result<Option<VerifyLog<'_>>, Error> {
    let Some(unverified) = unverified(row.landing.as_ref()) else { return Ok(None) };
    let log = match unverified.output.as_deref().map(Path::new) {
        Some(path) => if_exists(std::fs::read(path), path)?,
        None => None,
    };
    let log = log.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Some(VerifyLog { unverified, log }))
}

/// Prints how the verification of a task's work has failed, with all output.
pub(super) fn show_verification(
    context: &CommandContext,
    row: &TaskRow,
    out: Out<'_>,
) -> Result<(), Error> {
    let Some(unverified) = unverified(row.landing.as_ref()) else { return Ok(()) };
    say(out, "")?;
    say(out, &context.view.palette.paint(Meaning::Heading, "verification"))?;
    say(out, &unverified_text(unverified))?;
    let Some(path) = unverified.output.as_deref().map(Path::new) else { return Ok(()) };
    say(out, &one_line(&path.display().to_string()))?;
    output(row, path, out)
}
