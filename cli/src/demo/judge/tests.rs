use protocol::{
    CaptureRef, Captured, ChangeSummary, Conflict, ConflictReason, Failure, RepoPath, TaskReport,
    TaskState, Timestamp,
};
use serde_json::json;
use store::TaskRow;

use super::*;

/// Returns what a demo leaves behind when all is well.
fn well(sample: &Sample) -> Vec<TaskEvidence> {
    let run = sample.run();
    let one = |(at, (ticket, nonce)): (usize, (&Ticket, &str))| {
        let spec = run.tasks[at].clone();
        let conflict = |with: &str| Conflict {
            path: RepoPath::new(ticket.file).unwrap(),
            reason: ConflictReason::Content,
            base: None,
            ours: None,
            theirs: None,
            with: Some(with.parse().unwrap()),
        };
        let (outcome, landing) = match ticket.fate {
            Fate::Lands => (done(nonce), Some(Landed::Landed { branch: None })),
            Fate::ConflictsWith(with) => {
                (done(nonce), Some(Landed::Conflicted { conflicts: vec![conflict(with)] }))
            }
            Fate::Fails => {
                let failure = Failure::new(FailureClass::Command, "it ended with code 3");
                (Outcome::Failed { failure }, None)
            }
        };
        let capture = CaptureRef::of(&"r7k3f".parse().unwrap(), &spec.name, 1);
        let captured = Captured { capture, changes: ChangeSummary::default() };
        let report = TaskReport { outcome, captured: Some(captured.clone()), ms: 1, usage: None };
        let row = TaskRow {
            id: spec.id,
            name: spec.name.clone(),
            title: spec.title.clone(),
            state: TaskState::Done,
            attempt: 1,
            started: Some(Timestamp::from_millisecond(0)),
            finished: Some(Timestamp::from_millisecond(1)),
            report: Some(report),
            captured: Some(captured),
            discarded: None,
            landing,
            workspace: None,
            spec,
        };
        let landed = if ticket.fate == Fate::Lands { nonce } else { "something else" };
        TaskEvidence {
            row: Some(row),
            patch: Ok(format!("+++ b/{}\n+{nonce}\n", ticket.file)),
            file: landed.to_owned(),
            endings: 1,
        }
    };
    sample.tickets().enumerate().map(one).collect()
}

fn done(nonce: &str) -> Outcome {
    Outcome::Done { value: json!({ "file": "x", "ticket": nonce }) }
}

#[test]
fn a_demo_that_went_well_has_no_disagreement() {
    let sample = Sample::passing().unwrap();
    assert_eq!(disagreements(&sample, &well(&sample)), [""; 0]);
}

#[test]
fn each_thing_that_can_disagree_is_found_and_named() {
    let sample = Sample::passing().unwrap();
    type Spoil = fn(&mut Vec<TaskEvidence>);
    let spoils: [(Spoil, &str); 10] = [
        (|all| all[0].endings = 2, "task auth: its end was announced 2 times"),
        (|all| all[1].file.clear(), "task billing: src/billing.rs has not its number"),
        (
            |all| all[6].file = all[6].patch.clone().unwrap(),
            "task patience: config/radio.toml has its number",
        ),
        (|all| all[7].row = None, "task legacy: the ledger does not know it"),
        (
            |all| all[2].patch = Err("gone".into()),
            "task search: its work is not in the task store: gone",
        ),
        (
            |all| all[2].patch = all[3].patch.clone(),
            "task search: what was captured of it does not add",
        ),
        (
            |all| all[6].row.as_mut().unwrap().landing = None,
            "task patience: the ledger has a landing",
        ),
        (
            |all| all[0].row.as_mut().unwrap().report = None,
            "task auth: the ledger does not know how",
        ),
        (
            |all| all[0].row.as_mut().unwrap().report.as_mut().unwrap().outcome = done("x"),
            "task auth: it yielded",
        ),
        (|all| drop(all.pop()), "7 tasks were found of 8"),
    ];
    for (spoil, expected) in spoils {
        let mut evidence = well(&sample);
        spoil(&mut evidence);
        let found = disagreements(&sample, &evidence);
        assert!(found.iter().any(|fault| fault.starts_with(expected)), "{expected}: {found:?}");
    }
}
