use protocol::{
    AssistantMessage, CaptureRef, Captured, ChangeSummary, Conflict, ConflictReason, Content,
    Failure, Message, Part, RepoPath, StopReason, TaskReport, TaskState, Timestamp, ToolCall,
    ToolResult, Usage,
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
            renamed: None,
        };
        let (outcome, landing) = match ticket.expected {
            ExpectedEnd::Lands | ExpectedEnd::LandsAfterReminder => {
                (done(nonce), Some(Landed::Landed { branch: None, joined: Vec::new() }))
            }
            ExpectedEnd::ConflictsWith(with) => {
                (done(nonce), Some(Landed::Conflicted { conflicts: vec![conflict(with)] }))
            }
            ExpectedEnd::GivesUp(why) => {
                let failure = Failure::new(FailureClass::GaveUp, why);
                (Outcome::Failed { failure }, None)
            }
        };
        let used = Usage { input: 900, output: 40, ..Usage::ZERO };
        let capture = CaptureRef::of(&"r7k3f".parse().unwrap(), &spec.name, 1);
        let captured = Captured::whole(capture, ChangeSummary::default());
        let report = TaskReport {
            outcome,
            captured: Some(captured.clone()),
            ms: 1,
            setup_ms: None,
            usage: Some(used),
            fallbacks: Vec::new(),
            turns: None,
            reached_limit: None,
            refused_calls: 0,
            timings: None,
        };
        let row = TaskRow {
            id: spec.id,
            name: spec.name.clone(),
            title: spec.title.clone(),
            item: None,
            items: Vec::new(),
            state: TaskState::Done,
            attempt: 1,
            started: Some(Timestamp::from_millisecond(0)),
            finished: Some(Timestamp::from_millisecond(1)),
            report: Some(report),
            usage: Some(used),
            captured: Some(captured),
            discarded: None,
            collected: None,
            landing,
            settled: protocol::Settled::default(),
            unresolved: Vec::new(),
            workspace: None,
            spec,
        };
        let landed = if ticket.expected.lands() { nonce } else { "something else" };
        TaskEvidence {
            row: Some(row),
            patch: Ok(format!("+++ b/{}\n+{nonce}\n", ticket.file)),
            file: landed.to_owned(),
            session: Ok(said(ticket, nonce)),
            endings: 1,
        }
    };
    sample.tickets().enumerate().map(one).collect()
}

/// Returns the session of a task that went well.
fn said(ticket: &Ticket, nonce: &str) -> Vec<Message> {
    let tool = if ticket.before.is_some() && ticket.name != "legacy" { "edit" } else { "write" };
    let result = match ticket.expected {
        ExpectedEnd::GivesUp(why) => json!({ "error": why }),
        _ => json!({ "data": { "ticket": nonce } }),
    };
    let mut said = vec![Message::user("do it", Timestamp::from_millisecond(0))];
    said.extend(turn("a", "read", json!({ "path": "tickets" }), nonce));
    said.extend(turn("b", tool, json!({ "text": nonce }), "edited"));
    if ticket.expected == ExpectedEnd::LandsAfterReminder {
        said.push(reminder());
    }
    said.extend(turn("c", "yield", json!({ "result": result }), "received"));
    said
}

fn reminder() -> Message {
    Message::user("Reminder 1 of 3: no", Timestamp::from_millisecond(0))
}

/// Returns a call and its result.
fn turn(id: &str, tool: &str, arguments: serde_json::Value, result: &str) -> [Message; 2] {
    let (id, tool, at) = (id.to_owned(), tool.to_owned(), Timestamp::from_millisecond(0));
    let call = ToolCall {
        id: id.clone(),
        name: tool.clone(),
        arguments: arguments.as_object().unwrap().clone(),
        malformed: None,
        thought_signature: None,
    };
    let answer = AssistantMessage {
        content: vec![Part::ToolCall(call)],
        api: "offline".to_owned(),
        provider: "offline".to_owned(),
        model: "m".to_owned(),
        usage: Usage::ZERO,
        stop_reason: StopReason::ToolUse,
        error_message: None,
        timestamp: at,
    };
    let result = ToolResult {
        tool_call_id: id,
        tool_name: tool,
        content: vec![Content::text(result)],
        details: None,
        is_error: false,
        pruned_at: None,
        timestamp: at,
    };
    [Message::Assistant(answer), Message::ToolResult(result)]
}

fn session(all: &mut [TaskEvidence], at: usize) -> &mut Vec<Message> {
    all[at].session.as_mut().unwrap()
}

fn done(nonce: &str) -> Outcome {
    Outcome::Done { value: json!({ "file": "x", "ticket": nonce }) }
}

#[test]
fn a_demo_that_went_well_has_no_disagreement() {
    let sample = Sample::temporary().unwrap();
    assert_eq!(disagreements(&sample, &well(&sample)), [""; 0]);
}

#[test]
fn each_thing_that_can_disagree_is_found_and_named() {
    let sample = Sample::temporary().unwrap();
    type Spoil = fn(&mut Vec<TaskEvidence>);
    let spoils: [(Spoil, &str); 16] = [
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
        (
            |all| all[0].row.as_mut().unwrap().report.as_mut().unwrap().usage = None,
            "task auth: the ledger does not know what its model used",
        ),
        (
            |all| all[3].session = Err("gone".into()),
            "task guide: what was said in its session is lost",
        ),
        (|all| drop(session(all, 3).remove(2)), "task guide: its number was not first said by"),
        (|all| drop(session(all, 4).remove(4)), "task log: no call of write wrote its number"),
        (|all| session(all, 1).truncate(5), "task billing: its log does not end with its yield"),
        (|all| session(all, 0).push(reminder()), "task auth: it was reminded 1 times and not 0"),
        (|all| drop(all.pop()), "7 tasks were found of 8"),
    ];
    for (spoil, expected) in spoils {
        let mut evidence = well(&sample);
        spoil(&mut evidence);
        let found = disagreements(&sample, &evidence);
        assert!(found.iter().any(|fault| fault.starts_with(expected)), "{expected}: {found:?}");
    }
}
