//! Files that keep the output of tools whole, where a model reads only a part of it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

/// Opens folders of artifacts.
pub trait ArtifactStore: Send + Sync {
    /// Returns the artifacts in `folder`, which need not exist yet.
    fn open(&self, folder: &Path) -> Arc<dyn Artifacts>;
}

/// The artifacts of one session.
#[async_trait]
pub trait Artifacts: Send + Sync {
    /// Names a new artifact for output of `tool`. No other call gets the same name, and no file
    /// that exists has it. The file is made by who writes it.
    async fn reserve(&self, tool: &str) -> Artifact;

    /// Returns the size of an artifact in bytes.
    async fn size(&self, artifact: &Artifact) -> io::Result<u64>;

    /// Reads `most` bytes from `offset` on, or fewer at the end.
    async fn read(&self, artifact: &Artifact, offset: u64, most: u64) -> io::Result<Vec<u8>>;
}

/// One artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its name in the session's folder.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}
