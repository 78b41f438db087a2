//! The tool `resolve`: applies or discards the action that another tool has left pending.

use async_trait::async_trait;
use protocol::ToolCall;
use serde_json::{Map, Value, json};

use crate::ports::{
    Access, AccessClass, Concurrency, Found, PendingSlot, Tool, ToolContext, ToolOutcome,
    ToolOutput, ToolSpec, Visibility, WorkspaceView,
};

/// The name of the tool.
const NAME: &str = "resolve";

/// What is answered where no action is pending.
const NONE: &str = "No pending action to resolve. Nothing to apply or discard.";

/// The tool `resolve`. A session has it if one of its tools leaves actions pending.
pub(super) struct Resolve {
    spec: ToolSpec,
    pending: PendingSlot,
}

impl Resolve {
    /// Returns the tool that resolves the action in `pending`.
    pub(super) fn new(pending: PendingSlot) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["apply", "discard"],
                    "description": "Whether the pending action is done.",
                },
                "reason": { "type": "string", "description": "Why, in a few words." },
            },
            "required": ["action"],
            "additionalProperties": false,
        });
        let description = "Applies or discards what the call before has shown and left pending. It is done \
            only if the files are as they were.";
        let spec = ToolSpec {
            name: NAME.to_owned(),
            description: description.into(),
            parameters: parameters.into(),
            checked: None,
            example: r#"{"action":"discard","reason":"It changes too much."}"#.to_owned(),
            visibility: Visibility::Declared,
        };
        Self { spec, pending }
    }
}

fn applies(arguments: &Map<String, Value>) -> bool {
    arguments.get("action").is_some_and(|action| action == "apply")
}

#[async_trait]
impl Tool for Resolve {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn classify(&self, arguments: &Map<String, Value>) -> Access {
        let pending = self.pending.get().filter(|_| applies(arguments));
        let class = match pending {
            Some(action) => AccessClass::Write(action.paths()),
            None => AccessClass::Read(Vec::new()),
        };
        // It is about the calls before it.
        Access { class, concurrency: Concurrency::Exclusive }
    }

    async fn find(&self, view: &dyn WorkspaceView, path: &str) -> Option<Found> {
        view.find(path.as_ref()).await.ok()
    }

    async fn preview(
        &self,
        arguments: &Map<String, Value>,
        _view: &dyn WorkspaceView,
    ) -> Option<String> {
        self.pending.get().filter(|_| applies(arguments))?.diff()
    }

    async fn execute(&self, call: ToolCall, context: &ToolContext) -> ToolOutcome {
        let Some(action) = self.pending.take() else {
            return ToolOutcome::Failed(ToolOutput::text(NONE));
        };
        match applies(&call.arguments) {
            true => action.apply(context).await,
            false => {
                let text =
                    format!("Discarded what {} has left. Nothing was changed.", action.tool());
                ToolOutcome::Output(ToolOutput::text(text))
            }
        }
    }
}
