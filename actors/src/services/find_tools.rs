//! The tool by which a model finds the tools of servers that its requests do not have.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use engine::mcp::{FIND_TOOLS, OfferedTool, matching};
use engine::ports::{Access, Tool, ToolContext, ToolOutcome, ToolOutput, ToolSpec, Visibility};
use protocol::ToolCall;
use serde_json::{Map, Value, json};

/// The maximum number of tools of one answer, and of bytes of it.
const MAX_FOUND: usize = 10;
const MAX_BYTES: usize = 32 << 10;

/// The names of the tools that a model has found, and how often it has found some.
#[derive(Default)]
pub(super) struct FoundTools(Mutex<(BTreeSet<String>, u64)>);

impl FoundTools {
    fn add(&self, names: Vec<String>) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.0.extend(names);
        found.1 += 1;
    }

    pub(super) fn names(&self) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub(super) fn version(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// Finds tools by words, and adds them to the session.
pub(super) struct FindTools {
    spec: ToolSpec,
    deferred: Vec<OfferedTool>,
    found: Arc<FoundTools>,
}

impl FindTools {
    pub(super) fn new(
        deferred: Vec<OfferedTool>,
        servers: &[&str],
        found: Arc<FoundTools>,
    ) -> Self {
        let description = format!(
            "Finds tools that are not listed here, by words of their names and descriptions. There are {} of them, of \
             these MCP servers: {}. The result has their names, descriptions and schemas; you can call them from then \
             on.",
            deferred.len(),
            servers.join(", ")
        );
        let parameters = json!({
            "type": "object",
            "properties": {
                "words": { "type": "string", "description": "Words such as `create issue`." }
            },
            "required": ["words"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: FIND_TOOLS.to_owned(),
            description: description.into(),
            parameters: Arc::new(parameters),
            checked: None,
            example: r#"{"words": "create issue"}"#.to_owned(),
            visibility: Visibility::Declared,
        };
        Self { spec, deferred, found }
    }
}

#[async_trait]
impl Tool for FindTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn classify(&self, _arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn execute(&self, call: ToolCall, _context: &ToolContext) -> ToolOutcome {
        let words = call.arguments.get("words").and_then(Value::as_str).unwrap_or_default();
        let (mut text, mut found) = (String::new(), Vec::new());
        for tool in matching(&self.deferred, words, MAX_FOUND) {
            let OfferedTool { name, description, schema, .. } = tool;
            let entry = format!("## {name}\n{description}\nArguments: {schema}\n\n");
            // The first one is always there: its request has it whole anyway.
            if !found.is_empty() && text.len() + entry.len() > MAX_BYTES {
                break;
            }
            text.push_str(&entry);
            found.push(name.clone());
        }
        if found.is_empty() {
            let text =
                "No tool matches. Try other words, such as what it does or the name of its server.";
            return ToolOutcome::Output(ToolOutput::text(text));
        }
        self.found.add(found);
        ToolOutcome::Output(ToolOutput::text(text.trim_end()))
    }
}
