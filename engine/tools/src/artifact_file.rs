//! The content of a kept file, as plain text.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{Artifact, Artifacts, FileKind, FileStat, FileVersion, ViewError, ViewFile};

use crate::plain_text::PlainText;

/// How many bytes are read at once.
const CHUNK: u64 = 16 << 10;

/// The bytes of a line that has not ended above which it is returned in parts.
const LONG_LINE: usize = 16 << 10;

/// Opens an artifact.
pub(crate) async fn open(
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
