//! The findings that a model has reported during its session, which are part of what it yields.

use protocol::{FINDING_TOOL, Message, SessionEntry, SessionMessage};
use serde_json::Value;

/// The member of a yield that has the findings.
const FIELD: &str = "findings";

/// How many bytes of findings are part of a yield, as JSON: fewer than a yield may have.
const MOST_BYTES: usize = 256 << 10;

/// How many references at the root of a schema are followed.
const HOPS: usize = 8;

/// Returns the finding that an entry of a log reports, if it does.
pub(crate) fn logged_finding(entry: &SessionEntry) -> Option<Value> {
    match entry {
        SessionEntry::Message { message: SessionMessage::Model(message), .. } => finding(message),
        _ => None,
    }
}

/// Returns the finding that a message reports, if it does.
pub(super) fn finding(message: &Message) -> Option<Value> {
    let Message::ToolResult(result) = message else { return None };
    let is_finding = !result.is_error && result.tool_name.eq_ignore_ascii_case(FINDING_TOOL);
    result.details.clone().filter(|_| is_finding)
}

/// Returns `yielded` with the findings, if it is an object without any, and the schema of the task allows it
/// to have them.
pub(super) fn with_findings(
    mut yielded: Value,
    findings: &[Value],
    schema: Option<&Value>,
) -> Value {
    let mut left = MOST_BYTES;
    let fit = findings.iter().take_while(|finding| {
        let bytes = finding.to_string().len();
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    });
    let fit: Vec<_> = fit.cloned().collect();
    if let Some(object) = yielded.as_object_mut()
        && !fit.is_empty()
        && !object.contains_key(FIELD)
        && schema.is_none_or(allows_findings)
    {
        object.insert(FIELD.to_owned(), Value::Array(fit));
    }
    yielded
}

/// Returns whether a schema names the member, or allows members that it does not name.
fn allows_findings(root: &Value) -> bool {
    let mut schema = root;
    for _ in 0..HOPS {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(referred) => schema = referred,
            None => break,
        }
    }
    let forbids = |keyword| schema.get(keyword) == Some(&Value::Bool(false));
    let is_named = schema.get("properties").is_some_and(|named| named.get(FIELD).is_some());
    is_named || !(forbids("additionalProperties") || forbids("unevaluatedProperties"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_are_part_of_an_object_that_has_none_where_the_schema_allows_it() {
        let found = json!([{ "title": "a" }, { "title": "b" }]);
        let with = json!({ "verdict": "ok", "findings": found });
        let plain = json!({ "verdict": "ok" });
        let own = json!({ "findings": [] });
        let strict = json!({ "properties": { "verdict": {} }, "additionalProperties": false });
        let referred = json!({ "$ref": "#/$defs/x", "$defs": { "x": strict } });
        let named = json!({ "properties": { "findings": {} }, "additionalProperties": false });
        let cases = [
            (&plain, None, &with),
            (&plain, Some(json!({ "required": ["verdict"] })), &with),
            (&plain, Some(named), &with),
            (&plain, Some(strict), &plain),
            (&plain, Some(referred), &plain),
            (&own, None, &own),
            (&json!("text"), None, &json!("text")),
        ];
        for (yielded, schema, expected) in cases {
            let findings = found.as_array().unwrap();
            let merged = with_findings(yielded.clone(), findings, schema.as_ref());
            assert_eq!(merged, *expected, "{yielded} {schema:?}");
        }
        assert_eq!(with_findings(plain.clone(), &[], None), plain, "nothing was reported");
    }

    #[test]
    fn findings_never_make_a_yield_too_long() {
        let findings = vec![json!({ "body": "x".repeat(100_000) }); 9];
        let merged = with_findings(json!({}), &findings, None);
        assert_eq!(merged["findings"].as_array().unwrap().len(), 2);
    }
}
