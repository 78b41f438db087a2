//! The kept output of earlier calls, which models read by the name `artifact://N`, and the results of subagents:
//! files of plain text.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    AGENT_SCHEME, ARTIFACT_SCHEME, Artifact, Artifacts, FileKind, FileStat, FileVersion, ViewError,
    ViewFile,
};
use protocol::quote;

use crate::agent_result;
use crate::error::ToolError;
use crate::plain_text::PlainText;

/// How many bytes are read at once.
const CHUNK: u64 = 16 << 10;

/// The bytes of a line that has not ended above which it is returned in parts.
const LONG_LINE: usize = 16 << 10;

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
    file(artifacts, artifact).await.map(Some).map_err(|error| cannot(error).into())
}

/// Opens an artifact.
pub(crate) async fn file(
    artifacts: &Arc<dyn Artifacts>,
    artifact: Artifact,
) -> io::Result<Box<dyn ViewFile>> {
    let size = artifacts.size(&artifact).await?;
    let artifacts = Arc::clone(artifacts);
    let plain = PlainText::default();
    Ok(Box::new(ArtifactFile { artifacts, artifact, size, offset: 0, plain }))
}

/// An artifact that is read as plain text.
struct ArtifactFile {
    artifacts: Arc<dyn Artifacts>,
    artifact: Artifact,
    /// Its size when it was opened. A command that still runs may write more.
    size: u64,
    offset: u64,
    plain: PlainText,
}

#[async_trait]
impl ViewFile for ArtifactFile {
    fn stat(&self) -> FileStat {
        let version = FileVersion([self.size, 0, 0, 0, 0]);
        FileStat { kind: FileKind::Regular, size: self.size, mode: 0o600, version }
    }

    async fn read(&mut self, _most: usize) -> Result<Vec<u8>, ViewError> {
        loop {
            let most = CHUNK.min(self.size.saturating_sub(self.offset));
            let bytes = self.artifacts.read(&self.artifact, self.offset, most).await;
            let bytes = bytes.map_err(ViewError::Failed)?;
            self.offset += bytes.len() as u64;
            self.plain.push(&bytes);
            let text = match bytes.is_empty() {
                true => self.plain.finish(),
                false => self.plain.take_lines(LONG_LINE),
            };
            // No text is the end of the file, so what has become no text is read on.
            if bytes.is_empty() || !text.is_empty() {
                return Ok(text.into_bytes());
            }
        }
    }
}
