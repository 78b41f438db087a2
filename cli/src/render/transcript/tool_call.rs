//! A tool call in a transcript: a line for the call, and the first or last lines of its result.

use protocol::{ToolCall, ToolResult};
use serde_json::Value;
use tools::{Builtins, ShownPart};

use super::super::patch::painted;
use super::super::printable::{cut, one_line, width};
use super::super::short_error::short_error;
use super::super::terminal::{Meaning, OutputWidth, Palette};
use super::{Excerpt, excerpt, more};

/// The name of the tool that ends a session.
const YIELD: &str = "yield";

/// The names of arguments that describe a call, the most descriptive first.
const DESCRIPTIVE_ARGUMENTS: [&str; 8] =
    ["command", "path", "file_path", "pattern", "query", "url", "task", "prompt"];

/// The maximum numbers of lines shown: of a change, of an output, and of any other result.
const CHANGE_LINES: usize = 60;
const OUTPUT_LINES: usize = 12;
const OTHER_LINES: usize = 4;

/// The maximum number of lines shown of a yield.
const YIELD_LINES: usize = 200;

/// Returns the lines of a call and of its result, if it has one.
pub(super) fn tool_call_lines(
    call: &ToolCall,
    result: Option<&ToolResult>,
    palette: Palette,
    room: OutputWidth,
) -> Vec<String> {
    let failed = result.is_some_and(|result| result.is_error);
    let name = one_line(&call.name);
    let begin = format!("● {name} ");
    let (about, mut body) = summary(call, room.behind(width(&begin)));
    let line = cut(format!("{begin}{about}").trim_end(), room.behind(0));
    let meaning = if failed { Meaning::Bad } else { Meaning::Neutral };
    let mut lines = vec![palette.paint(meaning, &line)];
    match result {
        None => body.push(palette.paint(Meaning::Aside, "no result yet")),
        // The result of a yield only confirms its receipt. The contract is checked later.
        Some(result) if call.name == YIELD && !result.is_error => {}
        Some(result) => body.extend(result_lines(result, palette, room)),
    }
    lines.extend(body.into_iter().map(|line| format!("    {line}").trim_end().to_owned()));
    lines
}

/// Returns what a call is about, in one printable line of at most so many columns.
pub fn call_summary(call: &ToolCall, columns: usize) -> String {
    cut(&summary(call, columns).0, columns)
}

/// Returns a summary of a call in one line, and the lines below it. The number of the lines that are left out
/// stands within `columns`.
fn summary(call: &ToolCall, columns: usize) -> (String, Vec<String>) {
    if let Some(malformed) = &call.malformed {
        return (one_line(malformed), Vec::new());
    }
    if call.name == YIELD {
        return ("".to_owned(), yield_lines(call));
    }
    // A tool of another program has no title.
    let described =
        || DESCRIPTIVE_ARGUMENTS.iter().find_map(|key| call.arguments.get(*key)?.as_str());
    let description = Builtins::title(call).or_else(|| described().map(str::to_owned));
    let Some(description) = description else {
        let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
        let arguments = if call.arguments.is_empty() { String::new() } else { arguments };
        return (one_line(&arguments), Vec::new());
    };
    let mut all = description.trim().lines();
    let first = one_line(all.next().unwrap_or_default());
    let more = match all.count() {
        0 => return (first, Vec::new()),
        count => format!(" {}", more(count)),
    };
    let first = cut(&first, columns.saturating_sub(width(&more)));
    (format!("{first}{more}"), Vec::new())
}

/// Returns the lines of a yield.
fn yield_lines(call: &ToolCall) -> Vec<String> {
    let given = call.arguments.get("result").and_then(Value::as_object).unwrap_or(&call.arguments);
    let text = match (given.get("data"), given.get("error").and_then(Value::as_str)) {
        (None | Some(Value::Null), Some(why)) => format!("it gives up: {why}"),
        (Some(Value::String(words)), _) => words.clone(),
        (Some(data), _) => serde_json::to_string_pretty(data).unwrap_or_default(),
        (None, None) => serde_json::to_string_pretty(given).unwrap_or_default(),
    };
    excerpt(&text, Excerpt::First(YIELD_LINES))
}

/// Returns the first or last lines of a result.
fn result_lines(result: &ToolResult, palette: Palette, room: OutputWidth) -> Vec<String> {
    let details = result.details.as_ref();
    if let (Some(diff), false) =
        (details.and_then(|details| details.get("diff")).and_then(Value::as_str), result.is_error)
    {
        return painted(&excerpt(diff, Excerpt::First(CHANGE_LINES)), palette);
    }
    let shown = || Builtins::shown_result(&result.tool_name, details?);
    if let (false, Some(lines)) = (result.is_error, shown()) {
        let lines = excerpt(&lines.join("\n"), Excerpt::First(CHANGE_LINES)).into_iter();
        let aside = |line: String| palette.paint(Meaning::Aside, &cut(&line, room.behind(4)));
        return lines.map(aside).collect();
    }
    let part = match Builtins::shown_part(&result.tool_name) {
        ShownPart::End => Excerpt::Last(OUTPUT_LINES),
        ShownPart::Beginning if result.is_error => Excerpt::First(OUTPUT_LINES),
        ShownPart::Beginning => Excerpt::First(OTHER_LINES),
    };
    let meaning = if result.is_error { Meaning::Bad } else { Meaning::Aside };
    let text = result.text();
    let text = match result.is_error {
        true => short_error(&result.tool_name, &text, details),
        false => &text,
    };
    let shown = excerpt(text, part).into_iter();
    shown.map(|line| palette.paint(meaning, &cut(&line, room.behind(4)))).collect()
}
