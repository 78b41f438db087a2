//! The port by which a session has its tool calls run.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{Failure, ToolCall};
use serde_json::Value;

use super::{Access, ToolOutcome};

/// Runs the tool calls of one session.
#[async_trait]
pub trait ToolRunner: Send + Sync {
    /// Brings the tools up to date before a request: waits, for a bounded time, for those that are about to
    /// start.
    ///
    /// # Errors
    /// The session cannot work without a tool that it has not.
    async fn refresh(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns the declarations of the tools that the model has at this moment. Their order changes only with
    /// the tools.
    fn declarations(&self) -> Arc<[ToolDeclaration]>;

    /// Returns how each of `calls` accesses its surroundings, in the same order.
    async fn classify(&self, calls: &[ToolCall]) -> Vec<Access>;

    /// Runs one call. Errors are returned as an outcome for the model.
    async fn call(&self, call: ToolCall) -> ToolOutcome;

    /// Withdraws the calls that have not been allowed to run yet, and returns their ids. They never run.
    fn withdraw_unbegun(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Stops the calls under way, whose futures may have been dropped before, and returns when they
    /// and their processes have ended.
    async fn interrupt(&self);
}

/// The declaration of a tool for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// The name of the tool.
    pub name: String,
    /// The description of the tool.
    pub description: Arc<str>,
    /// The JSON Schema of the arguments.
    pub parameters: Arc<Value>,
}
