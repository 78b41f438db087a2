//! The events of a run as lines of JSON, whose length has a limit.

use protocol::Event;
use serde_json::Value;

use super::printable::printable_json;

/// The longest line, in bytes, without its line break.
const LONGEST: usize = 1_000_000;

/// How many bytes of a long text are left in it, and the fewest that are tried.
const KEPT: usize = 64 << 10;
const FEWEST: usize = 64;

/// Returns an event as one line of JSON, without its line break. In a line that would be too long, long
/// texts are cut, and so are long lists in what a model has written; each says where all of it is.
pub(super) fn event_line(event: &Event) -> serde_json::Result<String> {
    let line = printable_json(serde_json::to_string(event)?);
    if line.len() <= LONGEST {
        return Ok(line);
    }
    let whole = serde_json::to_value(event)?;
    let place = place_of(&whole);
    let cut_to = |kept: usize| {
        let mut value = whole.clone();
        cut(&mut value, kept, &place, Lists::OfTheEngine);
        printable_json(value.to_string())
    };
    let sizes = std::iter::successors(Some(KEPT), |kept| Some(kept / 2));
    let mut lines = sizes.take_while(|kept| *kept >= FEWEST).map(cut_to);
    Ok(lines.find(|line| line.len() <= LONGEST).unwrap_or_else(|| cut_to(FEWEST)))
}

/// Whose a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lists {
    /// Programs read all of its elements.
    OfTheEngine,
    /// A model has written it.
    OfAModel,
}

/// Returns where the whole of an event's fields is.
fn place_of(event: &Value) -> String {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    match (text("run"), text("task"), event.get("event")) {
        (Some(run), Some(task), Some(_)) => format!("artifacts/{run}/{task}/session.jsonl"),
        (Some(run), ..) => format!("regatta results {run} --json"),
        (None, ..) => "the log of the session".to_owned(),
    }
}

fn cut(value: &mut Value, kept: usize, place: &str, lists: Lists) {
    match value {
        Value::String(text) if text.len() > kept => {
            let all = text.len();
            text.truncate(text.floor_char_boundary(kept));
            text.push_str(&format!("… [cut: {all} bytes, in {place}]"));
        }
        Value::Array(values) => {
            let all = values.len();
            let most = kept / 16;
            if lists == Lists::OfAModel && all > most {
                values.truncate(most);
                values.push(Value::from(format!("… [cut: {all} elements, in {place}]")));
            }
            values.iter_mut().for_each(|value| cut(value, kept, place, lists));
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let is_of_model =
                    matches!(key.as_str(), "yield" | "args" | "arguments" | "details");
                let lists = if is_of_model { Lists::OfAModel } else { lists };
                cut(value, kept, place, lists);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use protocol::{EventKind, EventScope, SessionEvent, Timestamp};
    use serde_json::json;

    use super::*;

    fn event(arguments: &Value) -> Event {
        let args = arguments.as_object().cloned().unwrap_or_default();
        let event = SessionEvent::ToolExecutionStart {
            tool_call_id: "1".to_owned(),
            tool_name: "write".to_owned(),
            args,
        };
        Event {
            seq: 7,
            at: Timestamp::from_millisecond(0),
            scope: Some(EventScope::Run("r7k3f".parse().unwrap())),
            kind: EventKind::SessionEvent { task: Some("t1".parse().unwrap()), event },
        }
    }

    #[test]
    fn a_line_has_at_most_a_megabyte_and_says_where_the_rest_is() {
        let short = event(&json!({ "path": "a", "content": "é".repeat(400_000) }));
        assert_eq!(event_line(&short).unwrap(), serde_json::to_string(&short).unwrap());
        for arguments in [
            json!({ "path": "a", "content": "é".repeat(5_000_000) }),
            json!({ "texts": vec!["x".repeat(60_000); 100] }),
            json!({ "controls": "\u{9b}".repeat(300_000) }),
            json!({ "numbers": vec![1; 3_000_000] }),
        ] {
            let line = event_line(&event(&arguments)).unwrap();
            assert!(line.len() <= LONGEST && line.len() > 1_000, "{}", line.len());
            let read: Event = serde_json::from_str(&line).expect("it is an event of its kind");
            assert_eq!(read.seq, 7);
            assert!(
                line.contains("artifacts/r7k3f/t1/session.jsonl]"),
                "{}",
                &line[line.len() - 200..]
            );
        }
    }
}
