//! What people are shown of the result of a call: a line for each subagent.

use protocol::quote_within;
use serde_json::Value;

use super::details::{NOTES, RESULTS};

/// The most characters of a result or an error, and of another part.
const BEGINNING: usize = 100;
const PART: usize = 200;

/// Returns a line for each subagent: how it has ended, what has landed, and the beginning of its result. `None`
/// if none was started, so that the text says why.
pub(super) fn lines(details: &Value) -> Option<Vec<String>> {
    let results = details.get(RESULTS)?.as_array().filter(|results| !results.is_empty())?;
    let widest = |member: &str| {
        results.iter().map(|result| text(result, member).chars().count()).max().unwrap_or_default()
    };
    let (name, status) = (widest("id").min(40), widest("status").min(20));
    let line = |result: &Value| {
        let said = parts(result);
        let mark = match text(result, "status") {
            "completed" => '✓',
            "kept" => '■',
            _failed => '✗',
        };
        let (id, end) = (text(result, "id"), text(result, "status"));
        let (id, end) = (quote_within(id, PART), quote_within(end, PART));
        let line = format!("{mark} {id:name$}  {end:status$}  {said}");
        line.trim_end().to_owned()
    };
    let notes = details.get(NOTES).and_then(Value::as_array).into_iter().flatten();
    let notes = notes.filter_map(Value::as_str);
    let notes = notes.map(|note| format!("note: {}", quote_within(note, PART)));
    Some(results.iter().map(line).chain(notes).collect())
}

/// Returns what a line says beside the name and the status.
fn parts(result: &Value) -> String {
    let command = Some(text(result, "command")).filter(|command| !command.is_empty());
    let said = [text(result, "error"), text(result, "output")];
    let said = said.into_iter().map(first_line).find(|line| !line.is_empty());
    let parts = [changes(result), command.map(|it| quote_within(it, PART)), said];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Returns the size of what a subagent has changed in a copy, and whether it has landed.
fn changes(result: &Value) -> Option<String> {
    let changes = result.get("changes")?;
    let number = |member: &str| changes.get(member).and_then(Value::as_u64).unwrap_or_default();
    let files = match number("files") {
        0 => return None,
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    };
    let landed = if text(result, "status") == "completed" { "landed " } else { "" };
    Some(format!("{landed}{files} +{} −{}", number("added"), number("removed")))
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    quote_within(line.trim(), BEGINNING)
}

fn text<'a>(result: &'a Value, member: &str) -> &'a str {
    result.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_subagent_has_a_line_with_its_end_what_landed_and_the_beginning_of_its_result() {
        let changes = json!({ "files": 2, "added": 3, "removed": 1 });
        let details = json!({ "results": [
            { "id": "1-One", "status": "completed", "changes": changes, "output": "\nwrote it\nall of it" },
            { "id": "2-Longer", "status": "kept", "changes": changes, "command": "regatta apply r1/2-Longer",
              "output": "x".repeat(300) },
            { "id": "3-C", "status": "failed", "changes": null, "error": "no \u{1b}[2J key", "output": "a" },
            { "id": "4-D", "status": "cancelled" },
        ], "notes": ["agent task: works with a/b"] });
        let long = format!("{}…", "x".repeat(BEGINNING));
        let expected = [
            "✓ 1-One     completed  landed 2 files +3 −1 · wrote it".to_owned(),
            format!("■ 2-Longer  kept       2 files +3 −1 · regatta apply r1/2-Longer · {long}"),
            r"✗ 3-C       failed     no \u{1b}[2J key".to_owned(),
            "✗ 4-D       cancelled".to_owned(),
            "note: agent task: works with a/b".to_owned(),
        ];
        assert_eq!(lines(&details).unwrap(), expected);
        for details in [json!({ "results": [] }), json!({}), json!(7), json!({ "results": {} })] {
            assert_eq!(lines(&details), None, "{details}");
        }
        assert_eq!(lines(&json!({ "results": [7] })).unwrap(), ["✗"]);
    }
}
