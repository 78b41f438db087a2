//! The events of a run as lines of JSON, whose length has a limit.

use protocol::Event;
use serde_json::{Map, Value};

use super::printable::printable_json;

/// The longest line, in bytes, without its line break.
const LONGEST: usize = 1_000_000;

/// How many bytes of a long text are left in it, and the fewest that are tried.
const KEPT: usize = 64 << 10;
const FEWEST: usize = 64;

/// Returns an event as one line of JSON, without its line break. In a line that would be too long, long
/// texts are cut, and so are long lists and objects that a model has written; each says where all of it
/// is.
pub(super) fn event_line(event: &Event) -> serde_json::Result<String> {
    let line = printable_json(serde_json::to_string(event)?);
    if line.len() <= LONGEST {
        return Ok(line);
    }
    let whole = serde_json::to_value(event)?;
    let place = place_of(&whole);
    let cut_to = |kept: usize| {
        let cut = Cut { texts: kept.max(FEWEST), elements: kept / 16, place: &place };
        printable_json(cut.value(&whole, Author::Engine).to_string())
    };
    let sizes = std::iter::successors(Some(KEPT), |kept| Some(kept / 4));
    let mut lines = sizes.take_while(|kept| *kept >= FEWEST).map(cut_to);
    // Lists in lists are many elements, however few each has: in the end, none is left.
    Ok(lines.find(|line| line.len() <= LONGEST).unwrap_or_else(|| cut_to(0)))
}

/// Who has written a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Author {
    /// Programs read all elements of its lists.
    Engine,
    Model,
}

/// Returns what prints the whole of an event's fields.
fn place_of(event: &Value) -> String {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    match (text("run"), text("task"), event.get("event")) {
        (Some(run), Some(task), Some(_)) => format!("regatta logs {run}/{task} --json"),
        (Some(run), ..) => format!("regatta results {run} --json"),
        (None, ..) => "the log of the session".to_owned(),
    }
}

/// What is left of an event: only that is copied.
struct Cut<'a> {
    /// The longest text, in bytes.
    texts: usize,
    /// The most elements of a list or an object of a model.
    elements: usize,
    place: &'a str,
}

impl Cut<'_> {
    fn value(&self, value: &Value, author: Author) -> Value {
        match value {
            Value::String(text) => Value::from(self.text(text)),
            Value::Array(values) => {
                let most = self.most(values.len(), author);
                let cut = values.iter().take(most).map(|value| self.value(value, author));
                let left_out = values.len() - most;
                let mark = (left_out > 0).then(|| Value::from(self.mark(values.len(), "elements")));
                cut.chain(mark).collect()
            }
            Value::Object(fields) => Value::Object(self.fields(fields, author)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn fields(&self, fields: &Map<String, Value>, author: Author) -> Map<String, Value> {
        let most = self.most(fields.len(), author);
        let mut cut: Map<_, _> = fields
            .iter()
            .take(most)
            .map(|(key, value)| {
                let is_of_model =
                    matches!(key.as_str(), "yield" | "args" | "arguments" | "details");
                let key = match author {
                    Author::Engine => key.clone(),
                    Author::Model => self.text(key),
                };
                let author = if is_of_model { Author::Model } else { author };
                (key, self.value(value, author))
            })
            .collect();
        if most < fields.len() {
            cut.insert("…".to_owned(), Value::from(self.mark(fields.len(), "keys")));
        }
        cut
    }

    /// Returns how many of `all` elements are left.
    fn most(&self, all: usize, author: Author) -> usize {
        match author {
            Author::Engine => all,
            Author::Model => all.min(self.elements),
        }
    }

    fn text(&self, text: &str) -> String {
        if text.len() <= self.texts {
            return text.to_owned();
        }
        let kept = &text[..text.floor_char_boundary(self.texts)];
        format!("{kept}{}", self.mark(text.len(), "bytes"))
    }

    /// Returns what stands for the rest of something that has `all` of `what`.
    fn mark(&self, all: usize, what: &str) -> String {
        format!("… [cut: {all} {what}, in {}]", self.place)
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

    /// Checks the line of a call with these arguments, which are too long for it.
    fn expect_cut(arguments: &Value) {
        let line = event_line(&event(arguments)).unwrap();
        assert!(line.len() <= LONGEST && line.len() > 200, "{}", line.len());
        let read: Event = serde_json::from_str(&line).expect("it is an event of its kind");
        assert_eq!(read.seq, 7);
        assert!(line.contains("regatta logs r7k3f/t1 --json]"), "it says where the rest is");
    }

    #[test]
    fn a_line_has_at_most_a_megabyte_and_says_where_the_rest_is() {
        let short = event(&json!({ "path": "a", "content": "é".repeat(400_000) }));
        assert_eq!(event_line(&short).unwrap(), serde_json::to_string(&short).unwrap());
        expect_cut(&json!({ "path": "a", "content": "é".repeat(600_000) }));
        expect_cut(&json!({ "texts": vec!["x".repeat(60_000); 20] }));
        expect_cut(&json!({ "controls": "\u{9b}".repeat(180_000) }));
        expect_cut(&json!({ "k".repeat(1_100_000): 1 }));
    }

    #[test]
    fn a_line_with_many_elements_is_cut_too() {
        expect_cut(&json!({ "numbers": vec![1; 550_000] }));
        let keys = (0..20_000).map(|key| (format!("key {key} {}", "y".repeat(40)), json!(1)));
        expect_cut(&Value::Object(keys.collect()));
        // Four in each of four, and so on.
        expect_cut(&(0..7).fold(json!("x".repeat(64)), |list, _| json!({ "list": vec![list; 4] })));
    }
}
