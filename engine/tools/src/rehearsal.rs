//! The tool `panic`: it panics, so that a scripted model can show what becomes of that.

use std::sync::Arc;

use engine::ports::{ToolAnswer, ToolConcurrency};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::builtin::{Builtin, Errand};
use crate::desk::Desk;
use crate::trouble::Trouble;

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
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Shared;
    const EXAMPLE: &'static str = "{}";

    type Arguments = PanicArguments;

    async fn call(_: PanicArguments, _: Arc<Desk>, _: Errand) -> Result<ToolAnswer, Trouble> {
        panic!("the tool panic was called")
    }
}
