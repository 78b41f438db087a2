//! What a compaction leaves for the next one, in the details of its entry.

use protocol::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The details of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionDetails {
    /// The files that were read and not changed, since the beginning of the session.
    pub read_files: Vec<String>,
    /// The files that were changed, since the beginning of the session.
    pub modified_files: Vec<String>,
    /// What the user asked for in the turn that goes on after the compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What the models used that made the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The calls among the kept messages whose outputs were too large to be kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pruned_calls: Vec<String>,
}

impl CompactionDetails {
    /// Reads the details of an entry. Those of other programs may have any form: what is not known
    /// there is empty.
    #[must_use]
    pub fn read(details: Option<&Value>) -> Self {
        details.and_then(|details| Self::deserialize(details).ok()).unwrap_or_default()
    }
}
