//! The end of a run that its engine had no room to record.

use protocol::{ExitCode, Failure, FailureClass, LedgerEntry, Outcome, TaskId, TaskReport};

use super::record::{RunRecord, totals};

/// Returns the entries that end a run which its engine could not record to the end, as the engine has ended
/// it: with this exit code, and each task without an end has failed for want of resources, because of
/// `why`. The record has what is known of the run. `ms` returns how long a task has taken, and without a
/// task the run.
#[must_use]
pub fn end_without_room(
    mut record: RunRecord,
    (why, exit_code): (&str, ExitCode),
    ms: &dyn Fn(Option<TaskId>) -> u64,
) -> Vec<LedgerEntry> {
    let open = record.tasks().iter().filter(|task| task.report().is_none());
    let ends = open.map(|task| {
        let message = format!("the run was stopped: {why}");
        let failure = Failure::new(FailureClass::Resources, message);
        let report = TaskReport {
            captured: task.captured.as_deref().cloned(),
            ms: ms(Some(task.spec.id)),
            usage: task.usage.as_deref().copied(),
            ..TaskReport::unstarted(Outcome::Failed { failure })
        };
        LedgerEntry::TaskFinished { task: task.spec.id, report: Box::new(report) }
    });
    let mut entries: Vec<LedgerEntry> = ends.collect();
    for entry in &entries {
        record.apply(entry);
    }
    let totals = totals(&record, ms(None));
    entries.push(LedgerEntry::RunFinished { run: record.spec.id, totals, exit_code });
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::record::RunStatus;
    use crate::run::test_support::{captured, done, id, run, started};

    #[test]
    fn tasks_without_an_end_have_failed_for_want_of_resources_and_what_is_kept_is_counted() {
        let mut record = run(&["done", "works", "queued"]);
        for at in [0, 1] {
            record.apply(&started(&record, at));
        }
        let report = Box::new(done(Some(captured("done", 1))));
        record.apply(&LedgerEntry::TaskFinished { task: id(&record, 0), report });
        let (task, captured) = (id(&record, 1), captured("works", 2));
        record.apply(&LedgerEntry::TaskCaptured { task, attempt: 1, captured: captured.clone() });
        let ms = |task: Option<TaskId>| if task.is_some() { 5 } else { 7 };
        let entries =
            end_without_room(record.clone(), ("the disk was full", ExitCode::Partial), &ms);
        for entry in &entries {
            record.apply(entry);
        }
        for (at, work) in [(1, Some(captured)), (2, None)] {
            let report = record.tasks()[at].report().unwrap();
            let Outcome::Failed { failure } = &report.outcome else { panic!("{report:?}") };
            assert_eq!(failure.class, FailureClass::Resources);
            assert_eq!(failure.message, "the run was stopped: the disk was full");
            assert_eq!((&report.captured, report.ms), (&work, 5));
        }
        let RunStatus::Finished { totals, exit_code } = &record.status else {
            panic!("{record:?}")
        };
        assert_eq!((totals.done, totals.failed, totals.kept, totals.ms), (1, 2, 2, 7));
        assert_eq!(*exit_code, ExitCode::Partial);
    }
}
