//! What people read of a tool call that failed: the reason, without the advice to the model.

use serde_json::Value;
use tools::{Builtins, ShownPart};

/// How the text of a call begins that was not allowed, whatever its tool is.
const REFUSED: &str = "This call was refused: ";

/// Where the advice begins.
const ADVICE: [&str; 3] = ["; ", ". ", "\nRight arguments"];

/// Returns the reason why a call of `tool` failed. Output is returned whole: it has details, or is that of
/// another program's tool.
pub fn short_error<'a>(tool: &str, text: &'a str, details: Option<&Value>) -> &'a str {
    let is_refused = text.starts_with(REFUSED);
    let is_unknown = text.starts_with("Tool ") && text.contains(" not found.");
    let is_output = details.is_some() || Builtins::shown_part(tool) == ShownPart::End;
    if !is_refused && !is_unknown && (is_output || !Builtins::has(tool)) {
        return text;
    }
    let ends = ADVICE.iter().filter_map(|advice| text.find(advice));
    let reason = ends.min().map_or(text, |end| &text[..end]);
    reason.trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_why_a_call_failed_and_no_advice_to_the_model() {
        for (tool, text, shown) in [
            ("read", "File not found: a.rs. Did you mean b.rs?", "File not found: a.rs"),
            (
                "edit",
                "a.rs was not edited: oldText is not in it; the nearest is line 3: `x`. Read the file again",
                "a.rs was not edited: oldText is not in it",
            ),
            (
                "edit",
                "The arguments of edit are not right:\n- path is missing\nRight arguments are, for instance: {}",
                "The arguments of edit are not right:\n- path is missing",
            ),
            ("Sed", "Tool Sed not found. The tools there are: read", "Tool Sed not found"),
            (
                "bash",
                "This call was refused: the user said no. Nothing was run of `bash` of `make`.",
                "This call was refused: the user said no",
            ),
            (
                "bash",
                "one. two; three\n\nCommand exited with code 1",
                "one. two; three\n\nCommand exited with code 1",
            ),
            ("mine", "it failed. Look here", "it failed. Look here"),
        ] {
            assert_eq!(short_error(tool, text, None), shown, "{tool}");
        }
        assert_eq!(short_error("grep", "a; b", Some(&Value::Null)), "a; b");
    }
}
