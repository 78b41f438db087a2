//! What programs read of a call of the tool `task`: how each of its subagents has ended, in bounds.

use std::path::Path;

use engine::ports::{SpawnReport, SubagentReport, SubagentStatus};
use protocol::Usage;
use serde_json::{Value, json};

use super::shares::{beginning, share};

/// The names of the results, of what could not be done as asked, and of how long the call took.
pub(super) const RESULTS: &str = "results";
pub(super) const NOTES: &str = "notes";
pub(super) const DURATION: &str = "totalDurationMs";

/// The bytes of all results together, of one, and of an error.
const OUTPUTS: usize = 64_000;
const OUTPUT: usize = 2_000;
const ERROR: usize = 500;

/// The bytes of all findings together.
const FINDINGS: usize = 128_000;

/// Returns the details of a call, whose subagents have left their results in `artifacts`.
pub(super) fn details(report: &SpawnReport, artifacts: &Path) -> Value {
    let outputs = report.subagents.iter().map(|subagent| subagent.output.len().min(OUTPUT));
    let most = share(outputs, OUTPUTS).min(OUTPUT);
    let path = |subagent: &SubagentReport| artifacts.join(format!("{}.md", subagent.name));
    let mut room = FINDINGS;
    let results = report.subagents.iter().enumerate().map(|(index, subagent)| {
        let findings = subagent.findings.iter().take_while(|finding| {
            let left = room.checked_sub(finding.to_string().len());
            room = left.unwrap_or_default();
            left.is_some()
        });
        let findings: Vec<_> = findings.collect();
        let SubagentReport { name, agent, description, status, output, error, .. } = subagent;
        let shown = beginning(output, most);
        json!({
            "index": index,
            "id": name,
            "agent": agent,
            "description": description,
            "task": subagent.task,
            "status": status.name(),
            "command": command(status),
            "output": shown,
            "truncated": shown.len() < output.len(),
            "outputMeta": { "lineCount": output.lines().count(), "charCount": output.chars().count() },
            "outputPath": path(subagent),
            "error": beginning(error, ERROR),
            "changes": subagent.changes,
            "patch": subagent.patch,
            "refusedCalls": subagent.refused_calls,
            "durationMs": subagent.ms,
            "usage": subagent.usage,
            "findings": findings,
            "findingCount": subagent.findings.len(),
        })
    });
    let usages = report.subagents.iter().filter_map(|subagent| subagent.usage);
    json!({
        RESULTS: results.collect::<Vec<_>>(),
        DURATION: report.ms,
        "usage": usages.sum::<Usage>(),
        "outputPaths": report.subagents.iter().map(path).collect::<Vec<_>>(),
        NOTES: report.notes,
    })
}

/// Returns the command that lands kept work, or shows its conflicts.
fn command(status: &SubagentStatus) -> Option<&str> {
    match status {
        SubagentStatus::Kept { command } | SubagentStatus::MergeFailed { command, .. } => {
            command.as_deref()
        }
        SubagentStatus::Completed | SubagentStatus::Failed | SubagentStatus::Cancelled => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::subagent;

    #[test]
    fn details_have_each_result_within_bounds_and_the_usage_of_all() {
        let usage = |input| Some(Usage { input, ..Usage::ZERO });
        let finding = json!({ "title": "x".repeat(1_000) });
        let one = SubagentReport { usage: usage(3), ..subagent("1-A", "done") };
        let other = SubagentReport {
            usage: usage(4),
            findings: vec![finding; 500],
            status: SubagentStatus::Kept { command: Some("land".to_owned()) },
            ..subagent("2-B", &"line\n".repeat(1_000))
        };
        let report = SpawnReport { subagents: vec![one, other], notes: Vec::new(), ms: 9 };
        let details = details(&report, Path::new("/artifacts"));
        let first = json!({
            "index": 0, "id": "1-A", "agent": "task", "description": null, "task": "r1/1-A",
            "status": "completed", "command": null, "output": "done", "truncated": false,
            "outputMeta": { "lineCount": 1, "charCount": 4 }, "outputPath": "/artifacts/1-A.md", "error": "",
            "changes": null, "patch": null, "refusedCalls": 0, "durationMs": 5, "usage": usage(3), "findings": [], "findingCount": 0,
        });
        assert_eq!(details["results"][0], first);
        let second = &details["results"][1];
        assert_eq!((&second["command"], &second["truncated"]), (&json!("land"), &json!(true)));
        assert_eq!(second["findingCount"], 500);
        assert!(second["findings"].as_array().unwrap().len() > 100);
        assert_eq!(details["usage"]["input"], 7);
        assert_eq!(details["outputPaths"], json!(["/artifacts/1-A.md", "/artifacts/2-B.md"]));
        assert_eq!((&details["totalDurationMs"], &details["notes"]), (&json!(9), &json!([])));
        assert!(details.to_string().len() < FINDINGS + 10_000);
    }
}
