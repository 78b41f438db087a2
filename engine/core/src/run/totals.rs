//! What a run comes to.

use std::collections::BTreeSet;

use protocol::{Captured, Landed, MergeMode, Outcome, Totals};

use super::RunRecord;

/// Adds up what became of the tasks of a run that took `ms` milliseconds.
#[must_use]
pub fn totals(run: &RunRecord, ms: u64) -> Totals {
    let mut totals = Totals { ms, ..Totals::default() };
    let lands = run.spec.merge != MergeMode::None && run.spec.isolation.capabilities().can_capture;
    let mut classes = BTreeSet::new();
    for task in run.tasks() {
        let Some(report) = task.report() else { continue };
        let changed = task.changes().is_some();
        let landed = match task.landed {
            Some(Landed::Landed { .. } | Landed::Unchanged) => true,
            Some(Landed::Conflicted { .. }) => {
                totals.conflicted += 1;
                false
            }
            Some(Landed::Unwritten { .. } | Landed::Waiting { .. }) | None => false,
        };
        // What is in its workspace only lands nowhere.
        let held = task.captured.as_ref().is_some_and(Captured::holds_uncaptured_files);
        totals.kept += usize::from(held || (changed && !landed));
        totals.usage = match (totals.usage, report.usage) {
            (Some(all), Some(one)) => Some(all + one),
            (all, one) => all.or(one),
        };
        match &report.outcome {
            Outcome::Done { .. } => {
                totals.done += 1;
                let in_place = !held && (landed || (lands && !changed));
                totals.landed += usize::from(in_place);
                totals.unlanded += usize::from(held || (lands && !in_place));
            }
            Outcome::Failed { failure } => {
                totals.failed += 1;
                classes.insert(failure.class);
            }
            Outcome::Cancelled => totals.cancelled += 1,
        }
    }
    totals.failures = classes.into_iter().collect();
    totals
}
