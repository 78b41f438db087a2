//! The files with the full output of tool calls: `<n>.<tool>.log`, counted from 0.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use engine::ports::{Artifact, ArtifactStore, Artifacts, InputFiles};
use protocol::TaskName;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::inputs::InputFolder;

/// Stores artifacts in folders of the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArtifactFolders;

impl ArtifactStore for ArtifactFolders {
    fn open(&self, folder: &Path) -> Arc<dyn Artifacts> {
        Arc::new(ArtifactFolder(Arc::new(Folder::new(folder.to_owned()))))
    }

    fn inputs(&self, folder: &Path, values: Vec<(TaskName, Value)>) -> Arc<dyn InputFiles> {
        Arc::new(InputFolder::new(folder, values))
    }
}

/// The folder of a session's artifacts.
struct ArtifactFolder(Arc<Folder>);

struct Folder {
    path: PathBuf,
    /// The number of the next file, once it is known.
    next: Mutex<Option<u64>>,
}

#[async_trait]
impl Artifacts for ArtifactFolder {
    async fn reserve(&self, tool: &str) -> Artifact {
        let number = match self.0.take_known() {
            Some(number) => number,
            None => {
                let folder = Arc::clone(&self.0);
                // There is no number only while the runtime shuts down, when no file is written.
                blocking(move || Ok(folder.take())).await.unwrap_or_default()
            }
        };
        let name = format!("{number}.{tool}.log");
        Artifact { path: self.0.path.join(&name), name }
    }

    async fn size(&self, artifact: &Artifact) -> io::Result<u64> {
        let path = artifact.path.clone();
        blocking(move || Ok(fs::metadata(path)?.len())).await
    }

    async fn read(&self, artifact: &Artifact, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let path = artifact.path.clone();
        blocking(move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
        .await
    }
}

impl Folder {
    fn new(path: PathBuf) -> Self {
        Self { path, next: Mutex::new(None) }
    }

    /// Does what [`Self::take`] does if that does not take a look at the folder.
    fn take_known(&self) -> Option<u64> {
        let mut next = self.next.try_lock().ok()?;
        let number = (*next)?;
        *next = Some(number + 1);
        Some(number)
    }

    /// Returns the number of a new file. No other call gets the same one, and no existing file has it.
    fn take(&self) -> u64 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = next.unwrap_or_else(|| self.first());
        *next = Some(number + 1);
        number
    }

    fn first(&self) -> u64 {
        let Ok(entries) = fs::read_dir(&self.path) else { return 0 };
        let names = entries.flatten().map(|entry| entry.file_name());
        let numbers =
            names.filter_map(|name| name.to_str()?.split_once('.')?.0.parse::<u32>().ok());
        numbers.max().map_or(0, |number| u64::from(number) + 1)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn names(folder: &Path) -> Vec<String> {
        let artifacts = ArtifactFolders.open(folder);
        vec![artifacts.reserve("bash").await.name, artifacts.reserve("read").await.name]
    }

    #[test]
    async fn numbers_go_on_after_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(names(folder.path()).await, ["0.bash.log", "1.read.log"]);
        for name in ["7.bash.log", "session.jsonl", "output.log", "x.1", "99999999999.bash.log"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(names(folder.path()).await, ["8.bash.log", "9.read.log"]);
    }

    #[test]
    async fn a_folder_that_is_not_there_begins_at_0() {
        let artifacts = ArtifactFolders.open(Path::new("/nowhere/at/all"));
        let first = artifacts.reserve("bash").await;
        assert_eq!(first.path, Path::new("/nowhere/at/all/0.bash.log"));
        assert!(artifacts.size(&first).await.is_err());
    }

    #[test]
    async fn a_part_of_an_artifact_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = ArtifactFolders.open(folder.path());
        let artifact = artifacts.reserve("bash").await;
        fs::write(&artifact.path, "0123456789").unwrap();
        assert_eq!(artifacts.size(&artifact).await.unwrap(), 10);
        assert_eq!(artifacts.read(&artifact, 3, 4).await.unwrap(), b"3456");
        assert_eq!(artifacts.read(&artifact, 8, 4).await.unwrap(), b"89");
        assert_eq!(artifacts.read(&artifact, 10, 4).await.unwrap(), b"");
    }
}
