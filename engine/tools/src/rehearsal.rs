//! The tool `panic`: it panics, so that a scripted model can show what becomes of that.

use std::sync::Arc;

use engine::ports::{Access, ToolContext, ToolOutcome, Visibility};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::builtin::Builtin;
use crate::error::ToolError;
use crate::session::Session;

/// Panics.
pub(crate) struct Panic;

/// Nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PanicArguments {}

impl Builtin for Panic {
    const NAME: &'static str = "panic";
    const CAPABILITY: &'static str = "F271";
    const DESCRIPTION: &'static str = "Panics.";
    const EXAMPLE: &'static str = "{}";
    const VISIBILITY: Visibility = Visibility::Hidden;

    type Arguments = PanicArguments;

    fn new(_session: &Arc<Session>) -> Self {
        Self
    }

    fn classify(_arguments: &Map<String, Value>) -> Access {
        Access::none()
    }

    async fn run(&self, _: PanicArguments, _: &ToolContext) -> Result<ToolOutcome, ToolError> {
        panic!("the tool panic was called")
    }
}
