//! Prints the notifications of a landing that no run shows.

use engine::ports::{HeadMove, LandingNotice, Notice};

use crate::process;
use crate::render::{one_line, rescue_line};

/// Prints a notification to standard error.
pub(super) fn print_notice(notice: LandingNotice) {
    let line = match notice {
        LandingNotice::Waiting => {
            "waits: another engine starts or lands a run in this repository".to_owned()
        }
        LandingNotice::HeadMoved(HeadMove { was, now, .. }) => one_line(&format!(
            "HEAD was moved during the run, from {was} to {now}; the work lands in the current tree"
        )),
        LandingNotice::Degraded(Notice { from, to, why }) => {
            one_line(&format!("{from}: {to} ({why})"))
        }
        LandingNotice::Rescued(rescue) => rescue_line(&rescue),
        LandingNotice::OpenFilesUnknown { path, why } => one_line(&format!(
            "open files cannot be detected, so replaced files are compared twice \
             (cannot get a lease on {path}: {why})"
        )),
        LandingNotice::NoExchange { path } => one_line(&format!(
            "files are not replaced in one step: each old version is moved aside first, and is \
             missing for a moment (the file system of {path} cannot exchange two files)"
        )),
    };
    process::notify(&line);
}
