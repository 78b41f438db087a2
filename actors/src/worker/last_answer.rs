//! What counts as the result of a subagent that has not yielded, not even after its last reminder: what it
//! has said at the end.

use std::sync::{Arc, Mutex, PoisonError};

use engine::agent::YIELD;
use protocol::{Message, SessionEvent};
use serde_json::{Map, Value};

/// The text of the last answer that has one.
#[derive(Clone, Default)]
pub(super) struct LastAnswer(Arc<Mutex<Answered>>);

#[derive(Default)]
struct Answered {
    text: String,
    /// Whether it has called `yield`: then what it has yielded counts, and what was wrong with that.
    has_yielded: bool,
}

impl LastAnswer {
    pub(super) fn note(&self, event: &SessionEvent) {
        if matches!(event, SessionEvent::ToolExecutionStart { tool_name, .. } if tool_name == YIELD)
        {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).has_yielded = true;
        }
        let SessionEvent::MessageEnd { message: Message::Assistant(answer) } = event else {
            return;
        };
        let text = answer.text();
        if !text.trim().is_empty() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).text = text;
        }
    }

    /// Returns the answer as a result: JSON if the whole answer is, else the text. `None` if nothing was said.
    pub(super) fn value(&self) -> Option<Value> {
        let answered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = answered.text.trim();
        (!text.is_empty() && !answered.has_yielded)
            .then(|| result_in(text).unwrap_or_else(|| Value::String(text.to_owned())))
    }
}

/// Returns the JSON that a text is, without the wrapper that a call of `yield` would have around it.
fn result_in(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    Some(unwrapped(value))
}

fn unwrapped(value: Value) -> Value {
    let inner = |fields: &Map<String, Value>| {
        let only = fields.len() == 1;
        fields.get("result").or_else(|| fields.get("data")).filter(|_| only).cloned()
    };
    match value.as_object().and_then(inner) {
        Some(Value::String(text)) => {
            serde_json::from_str(&text).map_or(Value::String(text), unwrapped)
        }
        Some(inner) => unwrapped(inner),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_a_result_as_json_if_all_of_it_is() {
        for (said, result) in [
            ("All is done.\n", json!("All is done.")),
            (r#"{"a": 1}"#, json!({ "a": 1 })),
            (r#"{"result": {"data": {"a": 1}}}"#, json!({ "a": 1 })),
            (r#"{"data": "{\"a\": 1}"}"#, json!({ "a": 1 })),
            (r#"{"data": "no json"}"#, json!("no json")),
            (r#"{"data": 1, "more": 2}"#, json!({ "data": 1, "more": 2 })),
            ("here: {\"a\": 1}", json!("here: {\"a\": 1}")),
        ] {
            let answered = Answered { text: said.to_owned(), has_yielded: false };
            let last = LastAnswer(Arc::new(Mutex::new(answered)));
            assert_eq!(last.value(), Some(result), "{said}");
        }
        assert_eq!(LastAnswer::default().value(), None);
    }
}
