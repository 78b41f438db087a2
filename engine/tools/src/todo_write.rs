//! The tool `todo_write`: the list of what the model has to do, which the user sees above the input.

use std::sync::Arc;

use engine::ports::{Access, Concurrency, SessionPurpose, ToolContext, ToolOutcome, ToolOutput};
use protocol::{TODO_DETAILS, TODO_TOOL, Todo, TodoStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Session, rename};
use crate::error::ToolError;

/// The tool `todo_write`. The list is in the log only, as the result of the last call.
pub(crate) struct TodoWrite;

/// What is to be done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoArguments {
    /// The whole list, in the order in which it is done. It replaces the one before; an empty one ends it.
    #[schemars(length(max = 100))]
    todos: Vec<Todo>,
}

/// Other names of the parts of an item.
const CONTENT: &[&str] = &["step", "task", "title", "text", "description"];
const STATUS: &[&str] = &["state"];

impl Builtin for TodoWrite {
    const NAME: &'static str = TODO_TOOL;
    const DESCRIPTION: &'static str = "Writes the list of what you have to do, which the user sees. Use it \
        for work of several steps, and write it again when a step begins or ends: one step is in_progress, \
        and one is completed only when nothing of it is left.";
    const EXAMPLE: &'static str = r#"{"todos":[{"content":"Find the cause","status":"completed"},{"content":"Write a test","status":"in_progress"}]}"#;

    const PURPOSE: Option<SessionPurpose> = Some(SessionPurpose::Conversation);

    type Arguments = TodoArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "todos", &["plan", "items", "list", "tasks"]);
        // What other agents have with a list.
        arguments.retain(|name, _| name == "todos");
        let items = arguments.get_mut("todos").and_then(Value::as_array_mut).into_iter().flatten();
        for item in items {
            if let Value::String(content) = item {
                *item = json!({ "content": content });
            }
            let Some(item) = item.as_object_mut() else { continue };
            rename(item, "content", CONTENT);
            rename(item, "status", STATUS);
            item.retain(|name, _| name == "content" || name == "status");
            let status = item.entry("status").or_insert_with(|| json!("pending"));
            let meant = match status.as_str() {
                Some("done" | "complete" | "finished") => "completed",
                Some("in-progress" | "active" | "doing" | "started") => "in_progress",
                Some("todo" | "open" | "not_started") => "pending",
                _ => continue,
            };
            *status = json!(meant);
        }
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        Todo::list_of(&Value::Object(arguments.clone())).map(|todos| summary(&todos))
    }

    fn new(_session: &Arc<Session>) -> Self {
        Self
    }

    fn classify(_arguments: &Map<String, Value>) -> Access {
        // Of two lists in one answer the last one counts.
        Access { concurrency: Concurrency::Exclusive, ..Access::none() }
    }

    async fn run(
        &self,
        TodoArguments { todos }: TodoArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let output = ToolOutput::text(format!("The list is written: {}", summary(&todos)));
        Ok(ToolOutcome::Output(output.with_details(json!({ TODO_DETAILS: todos }))))
    }
}

/// Returns how far a list is, and what is being done.
fn summary(todos: &[Todo]) -> String {
    let is = |status| move |todo: &&Todo| todo.status == status;
    let done = todos.iter().filter(is(TodoStatus::Completed)).count();
    let now: Vec<_> = todos.iter().filter(is(TodoStatus::InProgress)).collect();
    let now: Vec<_> = now.iter().map(|todo| todo.content.as_str()).collect();
    match (todos.is_empty(), now.is_empty()) {
        (true, _) => "nothing to do".to_owned(),
        (false, true) => format!("{done} of {} done", todos.len()),
        (false, false) => format!("{done} of {} done; now: {}", todos.len(), now.join(", ")),
    }
}
