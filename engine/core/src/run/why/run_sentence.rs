//! What a run does or came to, in one sentence.

use protocol::{Landed, Outcome};

use super::super::{LandingRecord, RunRecord, RunStatus};
use super::situation::EngineProcess;
use crate::task::{TaskRecord, TaskStatus};
use crate::texts::counted;

/// Returns the rest of a sentence that begins with the name of a run.
#[must_use]
pub fn run_sentence(run: &RunRecord, engine: EngineProcess) -> String {
    let tasks = run.tasks();
    let count = |is_it: &dyn Fn(&TaskRecord) -> bool| tasks.iter().filter(|it| is_it(it)).count();
    let ended = count(&|task| task.report().is_some());
    let working = count(&|task| task.status == TaskStatus::Running);
    match (&run.status, &run.landing) {
        (RunStatus::Withdrawn, _) => "was cancelled before it began".to_owned(),
        (RunStatus::Interrupted, _) => {
            format!("was interrupted, because its engine ended before it; {}", came_to(tasks))
        }
        (RunStatus::Finished { .. }, _) => format!("has ended; {}", came_to(tasks)),
        (RunStatus::Running, LandingRecord::Begun) => "lands the work of its tasks".to_owned(),
        (RunStatus::Running, _) if ended == tasks.len() => {
            format!("has no task left to do; what it waits for, {engine} knows")
        }
        (RunStatus::Running, _) => format!(
            "goes on: of {}, {ended} {} ended, {working} {} and {} {}",
            counted(tasks.len(), "task"),
            if ended == 1 { "has" } else { "have" },
            if working == 1 { "works" } else { "work" },
            tasks.len() - ended - working,
            if tasks.len() - ended - working == 1 { "waits" } else { "wait" },
        ),
    }
}

/// Counts the outcomes of tasks.
fn came_to(tasks: &[TaskRecord]) -> String {
    let (mut done, mut landed, mut failed, mut cancelled, mut interrupted) = (0, 0, 0, 0, 0);
    for task in tasks {
        match task.report().map(|report| &report.outcome) {
            Some(Outcome::Done { .. }) => done += 1,
            Some(Outcome::Failed { .. }) => failed += 1,
            Some(Outcome::Cancelled) => cancelled += 1,
            None => interrupted += 1,
        }
        landed += u64::from(matches!(task.landed, Some(Landed::Landed { .. })));
    }
    let counts = [
        (done, "done"),
        (failed, "failed"),
        (cancelled, "cancelled"),
        (interrupted, "interrupted"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0_u64);
    let counts: Vec<_> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let landed = match landed {
        0 => "no work has landed".to_owned(),
        1 => "the work of 1 task has landed".to_owned(),
        _ => format!("the work of {landed} tasks has landed"),
    };
    format!("{}: {}; {landed}", counted(tasks.len(), "task"), counts.join(", "))
}

#[cfg(test)]
mod tests {
    use protocol::{ExitCode, LedgerEntry, TaskReport, Totals};

    use super::*;
    use crate::run::test_support::{captured, done, id, run, started};

    #[test]
    fn a_run_says_how_far_it_is_and_what_it_came_to() {
        let mut run = run(&["one", "two", "three"]);
        let says = |run: &RunRecord| run_sentence(run, EngineProcess(Some(42)));
        let first = started(&run, 0);
        run.apply(&first);
        assert_eq!(says(&run), "goes on: of 3 tasks, 0 have ended, 1 works and 2 wait");
        let ends = [
            done(Some(captured("one", 1))),
            TaskReport::unstarted(Outcome::Cancelled),
            TaskReport::unstarted(Outcome::Cancelled),
        ];
        for (at, report) in ends.into_iter().enumerate() {
            let task = id(&run, at);
            run.apply(&LedgerEntry::TaskFinished { task, report: Box::new(report) });
        }
        let waits = "has no task left to do; what it waits for, its engine (pid 42) knows";
        assert_eq!(says(&run), waits);
        let mut died = run.clone();
        died.apply(&LedgerEntry::RunInterrupted { run: run.spec.id });
        assert_eq!(
            says(&died),
            "was interrupted, because its engine ended before it; 3 tasks: 1 done, 2 cancelled; \
             no work has landed"
        );
        run.apply(&LedgerEntry::LandingStarted { run: run.spec.id, landing: None });
        assert_eq!(says(&run), "lands the work of its tasks");
        run.apply(&LedgerEntry::RunFinished {
            run: run.spec.id,
            totals: Totals::default(),
            exit_code: ExitCode::Partial,
        });
        let ended = "has ended; 3 tasks: 1 done, 2 cancelled; no work has landed";
        assert_eq!(says(&run), ended);
    }
}
