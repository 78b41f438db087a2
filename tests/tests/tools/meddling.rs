//! A view of a workspace, and artifacts, in which something happens before a step.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use engine::ports::{
    Artifact, Artifacts, FileStat, Found, Listing, Replace, ViewError, ViewFile, ViewPath,
    WorkspaceView,
};

/// What happens before a file is written, a folder made or something removed. It may fail the step.
pub(crate) type Meddle = Box<dyn FnMut(&ViewPath) -> Result<(), ViewError> + Send>;

/// A view in which something happens before each change.
pub(crate) struct MeddledView {
    view: Arc<dyn WorkspaceView>,
    meddle: Mutex<Meddle>,
}

impl MeddledView {
    pub(crate) fn new(view: Arc<dyn WorkspaceView>, meddle: Meddle) -> Self {
        Self { view, meddle: Mutex::new(meddle) }
    }

    fn meddle(&self, path: &ViewPath) -> Result<(), ViewError> {
        (self.meddle.lock().unwrap())(path)
    }
}

#[async_trait]
impl WorkspaceView for MeddledView {
    fn process_root(&self) -> &Path {
        self.view.process_root()
    }

    async fn find(&self, path: &Path) -> Result<Found, ViewError> {
        self.view.find(path).await
    }

    async fn stat(&self, path: &ViewPath) -> Result<FileStat, ViewError> {
        self.view.stat(path).await
    }

    async fn open(&self, path: &ViewPath) -> Result<Box<dyn ViewFile>, ViewError> {
        self.view.open(path).await
    }

    async fn read_dir(&self, path: &ViewPath, most: usize) -> Result<Listing, ViewError> {
        self.view.read_dir(path, most).await
    }

    async fn make_folders(&self, path: &ViewPath) -> Result<(), ViewError> {
        self.meddle(path)?;
        self.view.make_folders(path).await
    }

    async fn write(
        &self,
        path: &ViewPath,
        bytes: Vec<u8>,
        replace: Replace,
    ) -> Result<(), ViewError> {
        self.meddle(path)?;
        self.view.write(path, bytes, replace).await
    }

    async fn remove(&self, path: &ViewPath) -> Result<(), ViewError> {
        self.meddle(path)?;
        self.view.remove(path).await
    }
}

/// Artifacts whose first question for a size lets something else happen.
pub(crate) struct MeddledArtifacts {
    pub(crate) artifacts: Arc<dyn Artifacts>,
    pub(crate) meddle: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[async_trait]
impl Artifacts for MeddledArtifacts {
    async fn reserve(&self, tool: &str) -> Artifact {
        self.artifacts.reserve(tool).await
    }

    async fn find(&self, number: u64) -> io::Result<Option<Artifact>> {
        self.artifacts.find(number).await
    }

    async fn agent(&self, name: &str) -> io::Result<Option<Artifact>> {
        self.artifacts.agent(name).await
    }

    async fn agents(&self) -> io::Result<Vec<String>> {
        self.artifacts.agents().await
    }

    async fn size(&self, artifact: &Artifact) -> io::Result<u64> {
        let size = self.artifacts.size(artifact).await;
        if let Some(meddle) = { self.meddle.lock().unwrap().take() } {
            meddle();
            // On the one thread of a test, whatever can go on does so.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
        size
    }

    async fn write(&self, artifact: &Artifact, text: String) -> io::Result<()> {
        self.artifacts.write(artifact, text).await
    }

    async fn read(&self, artifact: &Artifact, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        self.artifacts.read(artifact, offset, most).await
    }
}
