//! All about a call that a person is asked about.

use protocol::ToolCall;
use serde_json::Value;

/// Returns the whole command of a call, what it changes, or its arguments.
pub fn request_details(call: &ToolCall) -> Vec<String> {
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
    let edits = call.arguments.get("edits").and_then(Value::as_array);
    if let Some(edits) = edits {
        let part = |edit: &Value, name: &str, mark: &str| {
            edit.get(name)
                .and_then(Value::as_str)
                .map(|text| marked(mark, text))
                .unwrap_or_default()
        };
        let lines = edits
            .iter()
            .flat_map(|edit| [part(edit, "oldText", "- "), part(edit, "newText", "+ ")].concat());
        return others("edits").into_iter().chain(lines).collect();
    }
    let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
    marked("", &arguments)
}
