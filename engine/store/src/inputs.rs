//! The yields of predecessors as files for the processes of a task.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::InputFiles;
use protocol::TaskName;
use serde_json::Value;
use tokio::task::spawn_blocking;

/// A folder with one JSON file per predecessor. Dropping it removes the folder.
#[derive(Debug)]
pub(crate) struct InputFolder {
    folder: PathBuf,
    values: Vec<(TaskName, Value)>,
}

impl InputFolder {
    pub(crate) fn new(folder: &Path, values: Vec<(TaskName, Value)>) -> Self {
        Self { folder: folder.to_owned(), values }
    }

    fn write_all(&self) -> io::Result<()> {
        self.remove()?;
        if let Some(parent) = self.folder.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        DirBuilder::new().mode(0o700).create(&self.folder)?;
        for (task, value) in &self.values {
            let path = self.folder.join(format!("{task}.json"));
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
            let mut json = serde_json::to_vec(value)?;
            json.push(b'\n');
            file.write_all(&json)?;
        }
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Drop for InputFolder {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            let folder = self.folder.display();
            tracing::warn!(%folder, %error, "the yields that a task was given stay");
        }
    }
}

#[async_trait]
impl InputFiles for InputFolder {
    fn folder(&self) -> &Path {
        &self.folder
    }

    async fn write(self: Arc<Self>) -> io::Result<()> {
        // The closure holds the folder: if the caller gives up, it is removed after it was written.
        let written = spawn_blocking(move || self.write_all()).await;
        written.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;

    #[test]
    async fn the_files_are_for_this_user_only_and_go_with_the_last_handle() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("task").join("inputs");
        let values = vec![
            ("a".parse().unwrap(), json!({ "x": "\u{1b}[2J" })),
            ("b.c".parse().unwrap(), Value::Null),
        ];
        let inputs = Arc::new(InputFolder::new(&folder, values));
        for _again in 0..2 {
            Arc::clone(&inputs).write().await.unwrap();
            assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
            let text = fs::read_to_string(folder.join("a.json")).unwrap();
            assert_eq!(text, "{\"x\":\"\\u001b[2J\"}\n");
            assert_eq!(fs::read_to_string(folder.join("b.c.json")).unwrap(), "null\n");
        }
        drop(inputs);
        assert!(!folder.exists());
    }
}
