//! What models have used for a message.

use serde::Deserialize as _;

use crate::{Message, TASK_TOOL, ToolResult, Usage};

impl ToolResult {
    /// Returns what the subagents of the call have used, if it had some.
    #[must_use]
    pub fn usage_of_subagents(&self) -> Option<Usage> {
        let usage = self.details.as_ref().filter(|_| self.tool_name == TASK_TOOL)?.get("usage")?;
        Usage::deserialize(usage).ok()
    }
}

impl Message {
    /// Returns what models have used for the message: for an answer, or for the subagents of a call.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::User(_) => None,
            Self::Assistant(answer) => Some(answer.usage),
            Self::ToolResult(result) => result.usage_of_subagents(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Timestamp;

    #[test]
    fn the_result_of_a_call_counts_what_its_subagents_have_used() {
        let used = Usage { input: 7, output: 2, ..Usage::ZERO };
        let result = |tool: &str, details: Option<Value>| {
            Message::ToolResult(ToolResult {
                tool_call_id: "1".to_owned(),
                tool_name: tool.to_owned(),
                content: Vec::new(),
                details,
                is_error: false,
                pruned_at: None,
                timestamp: Timestamp::from_millisecond(0),
            })
        };
        let details = || Some(json!({ "usage": used }));
        assert_eq!(result("task", details()).usage(), Some(used));
        for other in [
            result("bash", details()),
            result("task", None),
            result("task", Some(json!({ "usage": "much" }))),
            Message::user("Do it.", Timestamp::from_millisecond(0)),
        ] {
            assert_eq!(other.usage(), None, "{other:?}");
        }
    }
}
