//! The scenario of the demo: what its scripted models answer, one script per ticket.
//!
//! No script contains the number of its ticket. A model that knows the number has read the ticket
//! with its tool, and a file that contains the number was changed by the model's tool.

use serde_json::{Map, Value, json};

use super::tickets::{Change, ExpectedEnd, TICKETS, Ticket};

/// How long a model waits before each answer: enough to see the tasks run side by side.
const DELAY: &str = "120ms";

/// How long a model takes for each chunk of an answer.
const CHUNK_INTERVAL: &str = "15ms";

/// Returns the prompt of a task.
#[must_use]
pub(super) fn prompt(ticket: &Ticket) -> String {
    format!(
        "{}.\n\nThe ticket is tickets/{}.md. It names the file to change, and its number has to \
         stand beside the change. Check that it does.",
        ticket.title, ticket.name
    )
}

/// Returns the JSON Schema of each task's yield.
#[must_use]
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["file", "ticket"],
        "properties": {
            "file": { "type": "string" },
            "ticket": { "type": "string", "pattern": "^[0-9a-f]+$" },
        },
        "additionalProperties": false,
    })
}

/// Returns the scenario as the file that the offline provider reads.
///
/// # Panics
/// Never, because the scenario contains only values that TOML can represent.
#[must_use]
pub(super) fn scenario() -> String {
    let scripts: Vec<_> = TICKETS.iter().map(script).collect();
    let whole = json!({ "version": 1, "scenario": scripts });
    toml::to_string(&whole).expect("a scenario without nulls can be written as TOML")
}

fn script(ticket: &Ticket) -> Value {
    let when = format!(r"tickets/{}\.md", ticket.name);
    json!({ "when": when, "turn": turns(ticket) })
}

fn turns(ticket: &Ticket) -> Vec<Value> {
    let page = format!("tickets/{}.md", ticket.name);
    let mut looks = vec![call("read", json!({ "path": page }))];
    if ticket.before.is_some() {
        looks.push(call("read", json!({ "path": ticket.file })));
    }
    let look = json!({ "text": "I look at the ticket first.", "calls": looks });
    let edit = json!({
        "thinking": ticket.thought,
        "remember": { "ticket": r"ticket: ([0-9a-f]+)" },
        "calls": [edit(ticket)],
    });
    let check = format!("grep -n '{{{{ticket}}}}' {}", ticket.file);
    let check =
        json!({ "text": "Is it there?", "calls": [call("bash", json!({ "command": check }))] });
    let mut turns = vec![look, edit, check];
    turns.extend(
        ends(ticket)
            .into_iter()
            .map(|result| json!({ "calls": [call("yield", json!({ "result": result }))] })),
    );
    turns.into_iter().map(paced).collect()
}

fn edit(ticket: &Ticket) -> Value {
    match ticket.change {
        Change::Replace { old, new } => {
            let edits = json!([{ "oldText": old, "newText": new }]);
            call("edit", json!({ "path": ticket.file, "edits": edits }))
        }
        Change::Write(text) => call("write", json!({ "path": ticket.file, "content": text })),
    }
}

/// Returns the yields of the model, in order. The model tries each until one is accepted.
fn ends(ticket: &Ticket) -> Vec<Value> {
    let data = json!({ "data": { "file": ticket.file, "ticket": "{{ticket}}" } });
    match ticket.expected {
        ExpectedEnd::Lands | ExpectedEnd::ConflictsWith(_) => vec![data],
        ExpectedEnd::LandsAfterReminder => {
            vec![json!({ "data": { "ticket": "{{ticket}}" } }), data]
        }
        ExpectedEnd::GivesUp(why) => vec![json!({ "error": why })],
    }
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments })
}

fn paced(turn: Value) -> Value {
    let mut paced = Map::from_iter([
        ("delay".to_owned(), Value::from(DELAY)),
        ("pace".to_owned(), Value::from(CHUNK_INTERVAL)),
    ]);
    paced.extend(turn.as_object().cloned().unwrap_or_default());
    Value::Object(paced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ticket_has_a_script_that_is_found_by_its_prompt() {
        let scenario = scenario();
        for ticket in &TICKETS {
            assert!(prompt(ticket).contains(&format!("tickets/{}.md", ticket.name)));
            assert!(scenario.contains(&format!(r"tickets/{}\.md", ticket.name)), "{scenario}");
        }
        assert_eq!(scenario.matches("[[scenario]]").count(), TICKETS.len());
    }
}
