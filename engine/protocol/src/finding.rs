//! A finding of a review, which a model reports with the tool `report_finding`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The tool that reports a finding. The details of its result are the finding.
pub const FINDING_TOOL: &str = "report_finding";

/// Something that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What is wrong, in one line.
    #[schemars(length(min = 1, max = 200))]
    pub title: String,
    /// Why it is wrong, when it matters, and what to do about it.
    #[schemars(length(max = 4000))]
    pub body: String,
    /// How urgent it is: P0 stops a release, P1 is next, P2 is to be mended some day, P3 is a matter of taste.
    #[schemars(schema_with = "priority_schema")]
    pub priority: FindingPriority,
    /// How sure you are, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// The file.
    pub file_path: String,
    /// The first line.
    #[schemars(range(min = 1))]
    pub line_start: u32,
    /// The last line.
    #[schemars(range(min = 1))]
    pub line_end: u32,
}

/// How urgent a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum FindingPriority {
    /// It stops a release.
    P0,
    /// It is to be mended next.
    P1,
    /// It is to be mended some day.
    P2,
    /// It is a matter of taste.
    P3,
}

/// Returns the schema of a priority, as servers of models take it.
fn priority_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["P0", "P1", "P2", "P3"] })
}
