//! The list of what a model has to do, which it writes with the tool `todo_write`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tool that writes the list. Its result has the list in its details.
pub const TODO_TOOL: &str = "todo_write";

/// The member of the details that has the list.
pub const TODO_DETAILS: &str = "todos";

/// One item of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// What is to be done, in a few words.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// It was not begun.
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
}

impl Todo {
    /// Returns the list in the details of a result; `None` if there is none.
    #[must_use]
    pub fn list_of(details: &Value) -> Option<Vec<Self>> {
        serde_json::from_value(details.get(TODO_DETAILS)?.clone()).ok()
    }
}
