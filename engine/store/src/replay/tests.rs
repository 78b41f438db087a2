use engine::run::{RunRecord, RunStatus};
use engine::task::{TaskRecord, TaskStatus};
use protocol::{
    DoneTask, ExitCode, Failure, FailureClass, Landed, LandingReport, LedgerEntry, Outcome, Retry,
    RunName, RunSpec, RunState, TaskLanding, TaskReport, TaskState, Totals, Usage,
};
use serde_json::json;

use crate::TaskRow;
use crate::test_support::{TestLedger, captured, done, run, started};

/// Every kind of entry that a run leaves in the ledger, in an order that happens.
fn entries(asked: &RunSpec, name: &RunName) -> Vec<LedgerEntry> {
    let task = |at: usize| asked.tasks[at].id;
    let work = captured(name, &asked.tasks[0], 1);
    let usage = Usage { input: 60, output: 5, ..Usage::ZERO };
    let failure = Failure::new(FailureClass::Command, "it ended with code 3");
    let session = |at: usize, attempt| LedgerEntry::SessionStarted {
        task: task(at),
        attempt,
        workspace: format!("/w/{at}/{attempt}"),
    };
    let landed = |at: usize, landed| TaskLanding::of(asked.tasks[at].name.clone(), landed);
    let report = LandingReport {
        tasks: vec![
            landed(0, Landed::Landed { branch: None, joined: Vec::new() }),
            landed(1, Landed::Unchanged),
        ],
    };
    vec![
        started(asked, 0),
        session(0, 1),
        LedgerEntry::TaskCaptured { task: task(0), attempt: 1, captured: work.clone() },
        LedgerEntry::TaskFinished { task: task(0), report: Box::new(done(Some(work.clone()))) },
        started(asked, 1),
        session(1, 1),
        LedgerEntry::TaskFinished {
            task: task(1),
            report: Box::new(TaskReport {
                outcome: Outcome::Failed { failure },
                captured: None,
                ms: 3,
                setup_ms: None,
                usage: Some(usage),
                fallbacks: Vec::new(),
                turns: None,
                reached_limit: None,
                refused_calls: 0,
                timings: None,
            }),
        },
        LedgerEntry::TaskDiscarded { task: task(0) },
        LedgerEntry::TaskStarted { run: asked.id, task: task(1), attempt: 2 },
        session(1, 2),
        LedgerEntry::TaskUsed { task: task(1), usage },
        LedgerEntry::TaskStarted { run: asked.id, task: task(3), attempt: 1 },
        LedgerEntry::TaskFinished {
            task: task(3),
            report: Box::new(TaskReport::unstarted(Outcome::Cancelled)),
        },
        LedgerEntry::LandingStarted { run: asked.id, landing: None },
        LedgerEntry::LandingFinished { run: asked.id, landing: None, report },
    ]
}

/// Compares what listings read of a task with what its entries say.
fn expect_same(row: &TaskRow, task: &TaskRecord) {
    assert_eq!((&row.id, &row.spec), (&task.spec.id, &task.spec));
    let state = match &task.status {
        TaskStatus::Queued => TaskState::Queued,
        TaskStatus::Running => TaskState::Running,
        TaskStatus::Interrupted => TaskState::Interrupted,
        TaskStatus::Finished(report) => match report.outcome {
            Outcome::Done { .. } => TaskState::Done,
            Outcome::Failed { .. } => TaskState::Failed,
            Outcome::Cancelled => TaskState::Cancelled,
        },
    };
    assert_eq!((row.state, row.attempt), (state, task.attempt));
    assert_eq!((row.report.as_ref(), row.usage), (task.report(), task.usage.as_deref().copied()));
    assert_eq!(
        (&row.workspace, row.captured.as_ref()),
        (&task.workspace, task.captured.as_deref())
    );
    assert_eq!((row.discarded.is_some(), &row.landing), (task.is_discarded, &task.landed));
}

#[test]
async fn what_is_read_of_a_run_is_the_fold_of_the_entries_that_were_written() {
    let ends: [fn(&RunSpec) -> LedgerEntry; 2] = [
        |asked| LedgerEntry::RunInterrupted { run: asked.id },
        |asked| LedgerEntry::RunFinished {
            run: asked.id,
            totals: Totals { done: 1, ..Totals::default() },
            exit_code: ExitCode::Partial,
        },
    ];
    for end in ends {
        let house = TestLedger::new();
        let mut asked = run(&["a", "b", "c", "d", "e"]);
        asked.pass_env = vec!["TOKEN".to_owned()];
        let value = json!({ "list": [1, "\0\u{1b}[2J"] });
        let done = DoneTask { name: "before".parse().unwrap(), value };
        asked.retry = Some(Retry { run: "r7k3f".parse().unwrap(), done: vec![done] });
        let name = house.open(&asked).await;
        let mut folded = RunRecord::opened(name.clone(), asked.clone());
        let mut entries = entries(&asked, &name);
        entries.push(end(&asked));
        for entry in entries {
            folded.apply(&entry);
            house.append(vec![entry]).await.unwrap();
            assert_eq!(house.reader().record(&name).unwrap().as_ref(), Some(&folded));
            let rows = house.reader().tasks(asked.id).unwrap();
            assert_eq!(rows.len(), folded.tasks().len());
            rows.iter().zip(folded.tasks()).for_each(|(row, task)| expect_same(row, task));
        }
        let row = house.reader().run_by_name(&name).unwrap().unwrap();
        match folded.status {
            RunStatus::Interrupted => assert_eq!(row.state, RunState::Interrupted),
            RunStatus::Finished { totals, exit_code } => {
                assert_eq!((row.totals, row.exit_code), (Some(totals), Some(exit_code)));
            }
            RunStatus::Running | RunStatus::Withdrawn => panic!("it is over"),
        }
        assert_eq!(row.tasks.all, 5);
        assert_eq!(row.spec.retry_of, asked.retry.map(|retry| retry.run));
    }
}
