//! Whether tree, ledger, captures, session logs and events agree about the demo, and with what was
//! asked.

use protocol::{FailureClass, Landed, Outcome};
use serde_json::Value;

use super::evidence::TaskEvidence;
use super::hearsay;
use super::sample::Sample;
use super::tickets::{Fate, Ticket};

/// Returns everything that is not as it has to be, one sentence each. Empty when all is well.
#[must_use]
pub fn disagreements(sample: &Sample, evidence: &[TaskEvidence]) -> Vec<String> {
    let mut found = Vec::new();
    let nonces: Vec<&str> = sample.tickets().map(|(_, nonce)| nonce).collect();
    for ((ticket, nonce), seen) in sample.tickets().zip(evidence) {
        let mut wrong = |fault: String| found.push(format!("task {}: {fault}", ticket.name));
        if seen.endings != 1 {
            wrong(format!("its end was announced {} times", seen.endings));
        }
        tree(ticket, nonce, seen, &mut wrong);
        ledger(ticket, nonce, seen, &mut wrong);
        capture(ticket, nonce, &nonces, seen, &mut wrong);
        match &seen.session {
            Ok(said) => hearsay::disagreements(ticket, nonce, said, &mut wrong),
            Err(why) => wrong(format!("what was said in its session is lost: {why}")),
        }
    }
    if evidence.len() != nonces.len() {
        found.push(format!("{} tasks were found of {}", evidence.len(), nonces.len()));
    }
    found
}

/// What landed is in the tree, and nothing else is.
fn tree(ticket: &Ticket, nonce: &str, seen: &TaskEvidence, wrong: &mut dyn FnMut(String)) {
    match (ticket.fate.lands(), seen.file.contains(nonce)) {
        (true, false) => wrong(format!("{} has not its number {nonce}", ticket.file)),
        (false, true) => {
            wrong(format!("{} has its number {nonce}, which was not to land", ticket.file));
        }
        (true, true) | (false, false) => {}
    }
}

/// The ledger has the end, the yield and the landing of the task.
fn ledger(ticket: &Ticket, nonce: &str, seen: &TaskEvidence, wrong: &mut dyn FnMut(String)) {
    let Some(row) = &seen.row else { return wrong("the ledger does not know it".to_owned()) };
    match (ticket.fate, row.report.as_ref().map(|report| &report.outcome)) {
        (
            Fate::Lands | Fate::LandsAfterReminder | Fate::ConflictsWith(_),
            Some(Outcome::Done { value }),
        ) => {
            let yielded = value.get("ticket").and_then(Value::as_str);
            if yielded != Some(nonce) {
                wrong(format!("it yielded {value} instead of its number {nonce}"));
            }
        }
        (Fate::GivesUp(why), Some(Outcome::Failed { failure })) => {
            if (failure.class, failure.message.as_str()) != (FailureClass::GaveUp, why) {
                wrong(format!(
                    "it failed as {} and not as gave_up: {}",
                    failure.class, failure.message
                ));
            }
        }
        (_, Some(other)) => {
            wrong(format!("the ledger has an end that it must not have: {other:?}"))
        }
        (_, None) => wrong("the ledger does not know how it ended".to_owned()),
    }
    if row.report.as_ref().and_then(|report| report.usage).is_none_or(|usage| usage.tokens() == 0) {
        wrong("the ledger does not know what its model used".to_owned());
    }
    let landing = match (ticket.fate, &row.landing) {
        (Fate::Lands | Fate::LandsAfterReminder, Some(Landed::Landed { branch: None }))
        | (Fate::GivesUp(_), None) => true,
        (Fate::ConflictsWith(other), Some(Landed::Conflicted { conflicts })) => {
            let named = |with: &protocol::TaskName| with.as_str() == other;
            conflicts.len() == 1
                && conflicts[0].path.to_string() == ticket.file
                && conflicts[0].with.as_ref().is_some_and(named)
        }
        _ => false,
    };
    if !landing {
        wrong(format!("the ledger has a landing that it must not have: {:?}", row.landing));
    }
}

/// The captured work has the number of the task, and of no other.
fn capture(
    ticket: &Ticket,
    nonce: &str,
    nonces: &[&str],
    seen: &TaskEvidence,
    wrong: &mut dyn FnMut(String),
) {
    let patch = match &seen.patch {
        Ok(patch) => patch,
        Err(why) => return wrong(format!("its work is not in the task store: {why}")),
    };
    let adds =
        |nonce: &str| patch.lines().any(|line| line.starts_with('+') && line.contains(nonce));
    if !adds(nonce) {
        wrong(format!("what was captured of it does not add its number {nonce}"));
    }
    if nonces.iter().any(|other| *other != nonce && adds(other)) {
        wrong("what was captured of it adds the number of another task".to_owned());
    }
    if !patch.contains(ticket.file) {
        wrong(format!("what was captured of it does not change {}", ticket.file));
    }
}

#[cfg(test)]
mod tests;
