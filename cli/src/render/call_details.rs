//! All about a call that a person is asked about.

use protocol::{Question, ToolCall, quote_within};
use serde_json::Value;

/// All about a call: printable lines, in which what cannot be seen is shown, because a person decides by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallDetails {
    /// The call and why it is asked, and the whole command or the arguments.
    pub lines: Vec<String>,
    /// The diff of the file that it changes, if it is known.
    pub diff: Vec<String>,
}

/// Returns all about the call that a question is about.
#[must_use]
pub fn call_details(question: &Question, call: Option<&ToolCall>) -> CallDetails {
    let printable = |line: &str| quote_within(line, usize::MAX);
    let diff: Vec<_> = question.diff.iter().flat_map(|diff| diff.lines()).map(printable).collect();
    let mut lines: Vec<_> = question.text.lines().map(printable).collect();
    lines.push(printable(&question.reason));
    if diff.is_empty() {
        let request = call.into_iter().flat_map(request_details);
        lines.extend(request.map(|line| printable(&line)));
    }
    CallDetails { lines, diff }
}

/// Returns the whole command of a call, what it changes, or its arguments.
fn request_details(call: &ToolCall) -> Vec<String> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let marked = |mark: &str, text: &str| -> Vec<String> {
        text.lines().map(|line| format!("{mark}{line}")).collect()
    };
    // The others may change what the call does: the folder of a command.
    let others = |shown: &str| -> Vec<String> {
        let others = call.arguments.iter().filter(|(name, _)| *name != shown);
        let line = |(name, value): (&String, &Value)| match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        };
        others.map(line).collect()
    };
    if let Some(command) = text("command") {
        return [others("command"), marked("", command)].concat();
    }
    if let Some(content) = text("content") {
        return [others("content"), marked("+ ", content)].concat();
    }
    if let Some(patch) = text("input") {
        return [others("input"), marked("", patch)].concat();
    }
    // A tool takes other spellings of edits, too: these are shown as they are.
    let edits = call.arguments.get("edits").and_then(Value::as_array);
    let edits = edits.and_then(|edits| edits.iter().map(edit_of).collect::<Option<Vec<_>>>());
    if let Some(edits) = edits {
        let lines = edits.into_iter().flat_map(|(old, new, everywhere)| {
            let everywhere = everywhere.then(|| "everywhere:".to_owned());
            everywhere.into_iter().chain(marked("- ", old)).chain(marked("+ ", new))
        });
        return others("edits").into_iter().chain(lines).collect();
    }
    let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
    marked("", &arguments)
}

/// Returns the old and the new text of an edit, and whether it counts everywhere; `None` if it has anything else.
fn edit_of(edit: &Value) -> Option<(&str, &str, bool)> {
    let members = edit.as_object()?;
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let (old, new) = (text("oldText")?, text("newText")?);
    let everywhere = match members.get("replaceAll") {
        Some(everywhere) => everywhere.as_bool()?,
        None => false,
    };
    let known = 2 + usize::from(members.contains_key("replaceAll"));
    (members.len() == known).then_some((old, new, everywhere))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn details(arguments: &Value) -> String {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = ToolCall::new("1", "edit", arguments);
        request_details(&call).join("\n")
    }

    #[test]
    fn all_of_a_change_is_shown_however_it_is_spelled() {
        let edit = json!({ "oldText": "a", "newText": "b" });
        let shown = details(&json!({ "path": "x", "edits": [edit] }));
        assert_eq!(shown, "path: x\n- a\n+ b");
        let edit = json!({ "oldText": "a", "newText": "b", "replaceAll": true });
        let shown = details(&json!({ "path": "x", "edits": [edit] }));
        assert_eq!(shown, "path: x\neverywhere:\n- a\n+ b");
        for edit in [
            json!({ "old_string": "one", "new_string": "other" }),
            json!({ "oldText": "one", "newText": "other", "replace_all": true }),
            json!({ "oldText": "one", "newText": ["other"] }),
        ] {
            let shown = details(&json!({ "path": "x", "edits": [edit] }));
            for member in edit.as_object().unwrap().keys().map(String::as_str).chain(["other"]) {
                assert!(shown.contains(member), "{member} in {shown}");
            }
        }
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        assert_eq!(details(&json!({ "input": patch })), patch);
    }
}
