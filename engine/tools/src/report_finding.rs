//! The tool `report_finding`: records one finding of a review. What a task yields has its findings.

use std::sync::Arc;

use engine::ports::{Access, ToolContext, ToolOutcome, ToolOutput, Visibility};
use protocol::{FINDING_TOOL, Finding, quote};
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Session, rename};
use crate::display;
use crate::error::ToolError;

/// The tool `report_finding`. A finding is in the log only, as the details of its result.
pub(crate) struct ReportFinding(Arc<Session>);

impl Builtin for ReportFinding {
    const NAME: &'static str = FINDING_TOOL;
    const DESCRIPTION: &'static str = "Reports one thing that is wrong in a file, with its lines. Call it once for \
        each finding, when you are sure that it is one. Findings become part of the result of the task: do not \
        repeat them there.";
    const EXAMPLE: &'static str = r#"{"title":"The index may be out of bounds","body":"`list[0]` panics where the list is empty; use `first`.","priority":"P1","confidence":0.9,"file_path":"src/main.rs","line_start":10,"line_end":12}"#;
    const VISIBILITY: Visibility = Visibility::OnRequest;

    type Arguments = Finding;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "body", &["description", "details", "message"]);
        rename(arguments, "file_path", &["path", "file", "filePath", "filename"]);
        rename(arguments, "line_start", &["line", "lineStart", "start_line"]);
        rename(arguments, "line_end", &["lineEnd", "end_line"]);
        if let (Some(start), false) =
            (arguments.get("line_start").cloned(), arguments.contains_key("line_end"))
        {
            arguments.insert("line_end".to_owned(), start);
        }
        let priority = arguments.get("priority").map(|given| match given {
            Value::String(text) => text.trim_matches(['[', ']', ' ']).to_uppercase(),
            other => other.to_string(),
        });
        if let Some(priority) = priority {
            let is_number = priority.starts_with(|first: char| first.is_ascii_digit());
            let priority = if is_number { format!("P{priority}") } else { priority };
            arguments.insert("priority".to_owned(), json!(priority));
        }
        // Some models write percent.
        if let Some(percent) = arguments.get("confidence").and_then(Value::as_f64)
            && percent > 1.0
            && percent <= 100.0
        {
            arguments.insert("confidence".to_owned(), json!(percent / 100.0));
        }
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        let text = |name| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(format!("{} {}", text("priority"), text("title")))
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    fn classify(_arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn run(
        &self,
        arguments: Finding,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let Finding { line_start, line_end, .. } = arguments;
        if line_end < line_start {
            let wrong = format!("line_end {line_end} is before line_start {line_start}");
            return Err(ToolError::Arguments(wrong));
        }
        // A file that is gone may be what is wrong.
        let found = self.0.paths.find(context.view.as_ref(), &arguments.file_path).await?;
        let file_path = display::path(&found.path());
        let finding = Finding { file_path, ..arguments };
        let Finding { title, priority, confidence, file_path, .. } = &finding;
        let lines = match line_start == line_end {
            true => line_start.to_string(),
            false => format!("{line_start}-{line_end}"),
        };
        let text = format!(
            "Finding recorded: {priority:?} {}\nLocation: {file_path}:{lines}\nConfidence: {:.0}%",
            quote(title),
            confidence * 100.0
        );
        let details = serde_json::to_value(&finding);
        let details = details.map_err(|error| ToolError::Arguments(error.to_string()))?;
        Ok(ToolOutcome::Output(ToolOutput::text(text).with_details(details)))
    }
}
