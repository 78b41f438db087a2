//! The kept output of earlier calls, which models read by the name `artifact://N`, and the results of subagents:
//! files of plain text.

use std::io;
use std::sync::Arc;

use engine::ports::{AGENT_SCHEME, ARTIFACT_SCHEME, Artifacts, ViewFile};
use protocol::quote;

use crate::agent_result;
use crate::artifact_file;
use crate::error::ToolError;

/// Why an artifact cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    /// The name has no number.
    #[error("`{0}` names no artifact; its name is artifact://N, where N is a number")]
    Name(String),
    /// There is no artifact of this number.
    #[error(
        "there is no {0}; results of this session name the artifacts that there are, and short output is in \
         the result only"
    )]
    Missing(String),
    /// The operating system refuses.
    #[error("cannot read {name}")]
    Cannot {
        /// The name.
        name: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl From<ArtifactError> for ToolError {
    fn from(error: ArtifactError) -> Self {
        Self::own(error)
    }
}

/// Opens the artifact, or the result of a subagent, that `name` names; `None` if `name` is a path.
pub(crate) async fn open(
    artifacts: &Arc<dyn Artifacts>,
    name: &str,
) -> Result<Option<Box<dyn ViewFile>>, ToolError> {
    if let Some(agent) = name.trim().strip_prefix(AGENT_SCHEME) {
        return Ok(Some(agent_result::open(artifacts, agent).await?));
    }
    let Some(number) = name.trim().strip_prefix(ARTIFACT_SCHEME) else { return Ok(None) };
    let number = number.parse().map_err(|_no_number| ArtifactError::Name(quote(name)))?;
    let cannot = |source| ArtifactError::Cannot { name: quote(name), source };
    let found = artifacts.find(number).await.map_err(cannot)?;
    let artifact = found.ok_or_else(|| ArtifactError::Missing(quote(name)))?;
    artifact_file::open(artifacts, artifact).await.map(Some).map_err(|error| cannot(error).into())
}
