//! A form of a server as one question with choices.

use protocol::{Question, QuestionChoice, QuestionForm, QuestionId};
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::printable;

/// The most values that one question offers.
const VALUES: usize = 9;

/// The longest text of a question and the longest label, in characters.
const TEXT: usize = 500;
const LABEL: usize = 60;

/// The id of the choice that accepts a form as it is, and of the one that declines.
const ACCEPT: &str = "accept";
const DECLINE: &str = "decline";

/// Returns the answer that declines a form.
pub(crate) fn declined() -> ElicitResult {
    ElicitResult::new(ElicitationAction::Decline)
}

/// A form that one question fills: either every field may be left out or has a default, or one field has no
/// default and a few values.
pub(crate) struct Form {
    text: String,
    reason: String,
    /// The defaults of the fields.
    filled: Map<String, Value>,
    /// The field that is asked for, and each value with its label.
    open: Option<(String, Vec<(Value, String)>)>,
}

impl Form {
    /// Returns the form, unless one question cannot fill it.
    pub(crate) fn new(server: &str, message: &str, schema: &Value) -> Option<Self> {
        let no_fields = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&no_fields);
        let default = |(name, field): (&String, &Value)| {
            field.get("default").map(|value| (name.clone(), value.clone()))
        };
        let filled: Map<_, _> = fields.iter().filter_map(default).collect();
        let required = schema["required"].as_array().into_iter().flatten();
        let mut missing =
            required.filter_map(Value::as_str).filter(|name| !filled.contains_key(*name));
        let open = match (missing.next(), missing.next()) {
            (None, _) => None,
            (Some(name), None) => Some((name.to_owned(), values(fields.get(name)?)?)),
            (Some(_), Some(_)) => return None,
        };
        let text = format!("MCP server `{server}` asks: {}", printable::line(message, TEXT));
        let reason = match &open {
            Some((name, _)) => format!("it wants a value of `{}`", printable::line(name, LABEL)),
            None => "the answer goes to the server".to_owned(),
        };
        Some(Self { text, reason, filled, open })
    }

    pub(crate) fn question(&self) -> Question {
        let choice =
            |id: String, key, label: &str| QuestionChoice { id, key, label: label.to_owned() };
        let mut choices: Vec<_> = match &self.open {
            None => vec![choice(ACCEPT.to_owned(), 'y', "accept")],
            Some((_, values)) => (1..)
                .zip('1'..='9')
                .zip(values)
                .map(|((number, key), (_, label))| choice(i32::to_string(&number), key, label))
                .collect(),
        };
        choices.push(choice(DECLINE.to_owned(), 'n', "decline"));
        Question {
            id: QuestionId::generate(),
            text: self.text.clone(),
            form: QuestionForm::Sentence,
            reason: self.reason.clone(),
            choices,
            default: DECLINE.to_owned(),
            tool_call_id: None,
            deadline_ms: None,
            diff: None,
        }
    }

    /// Returns the answer to the server. `choice` is the id of the choice that a person made.
    pub(crate) fn result(&self, choice: Option<&str>) -> ElicitResult {
        let mut content = self.filled.clone();
        match (choice, &self.open) {
            (Some(ACCEPT), None) => {}
            (Some(number), Some((name, values))) => {
                let index = number.parse().ok().and_then(|number: usize| number.checked_sub(1));
                let Some((value, _)) = index.and_then(|index| values.get(index)) else {
                    return declined();
                };
                content.insert(name.clone(), value.clone());
            }
            (Some(_) | None, _) => return declined(),
        }
        ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
    }
}

/// Returns the values of a field with their labels, if there are only a few.
fn values(field: &Value) -> Option<Vec<(Value, String)>> {
    let label = |value: &Value| match value {
        Value::String(text) => printable::line(text, LABEL),
        other => printable::line(&other.to_string(), LABEL),
    };
    let mut values: Vec<_> = if field["type"] == "boolean" {
        vec![(Value::Bool(true), "yes".to_owned()), (Value::Bool(false), "no".to_owned())]
    } else if let Some(titled) = field["oneOf"].as_array() {
        titled.iter().map(|one| (one["const"].clone(), label(&one["title"]))).collect()
    } else {
        field["enum"].as_array()?.iter().map(|value| (value.clone(), label(value))).collect()
    };
    if let Some(names) = field["enumNames"].as_array() {
        for ((_, shown), name) in values.iter_mut().zip(names) {
            *shown = label(name);
        }
    }
    (1..=VALUES).contains(&values.len()).then_some(values)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_with_defaults_is_accepted_or_declined_as_a_whole() {
        let schema = json!({
            "properties": {"name": {"type": "string", "default": "x"}, "note": {"type": "string"}},
            "required": ["name"],
        });
        let form = Form::new("github", "Go \u{1b}[31mon?\nNow?", &schema).unwrap();
        let question = form.question();
        assert_eq!(question.text, "MCP server `github` asks: Go on? Now?");
        let ids: Vec<_> = question.choices.iter().map(|choice| &choice.id[..]).collect();
        assert_eq!((ids, &question.default[..]), (vec!["accept", "decline"], "decline"));
        let accepted =
            ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "x"}));
        assert_eq!(form.result(Some("accept")), accepted);
        for choice in [None, Some("decline"), Some("1")] {
            assert_eq!(form.result(choice), declined());
        }
    }

    #[test]
    fn one_field_without_a_default_is_chosen_from_its_values() {
        for (field, expected, labels) in [
            (json!({"type": "boolean"}), json!(false), ["yes", "no"]),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("b"), ["a", "b"]),
            (
                json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
                json!("b"),
                ["A", "B"],
            ),
            (
                json!({"oneOf": [{"const": "a", "title": "One"}, {"const": "b", "title": "Two"}]}),
                json!("b"),
                ["One", "Two"],
            ),
        ] {
            let schema = json!({"properties": {"it": field}, "required": ["it"]});
            let form = Form::new("s", "Which?", &schema).unwrap();
            let choices = form.question().choices;
            let shown: Vec<_> = choices.iter().take(2).map(|choice| &choice.label[..]).collect();
            assert_eq!(shown, labels);
            let result = form.result(Some("2"));
            assert_eq!(result.content, Some(json!({"it": expected})));
            for choice in ["0", "3", "accept", "decline"] {
                assert_eq!(form.result(Some(choice)), declined());
            }
        }
    }

    #[test]
    fn a_form_that_one_question_cannot_fill_is_none() {
        let text = json!({"type": "string"});
        for schema in [
            json!({"properties": {"a": text, "b": text}, "required": ["a", "b"]}),
            json!({"properties": {"a": text}, "required": ["a"]}),
            json!({"properties": {}, "required": ["a"]}),
            json!({"properties": {"a": {"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}, "required": ["a"]}),
        ] {
            assert!(Form::new("s", "m", &schema).is_none(), "{schema}");
        }
        assert!(Form::new("s", "m", &json!({})).is_some());
    }
}
