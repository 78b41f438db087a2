//! The files with the full output of tool calls: `<n>.<tool>.log`, counted from 0; and with the results of
//! subagents: `<name>.md`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use engine::ports::{Artifact, ArtifactStore, Artifacts, CallJournal, InputFiles};
use protocol::TaskName;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::call_journal::CallFile;
use crate::inputs::InputFolder;

/// Stores artifacts in folders of the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArtifactFolders;

impl ArtifactStore for ArtifactFolders {
    fn open(&self, folder: &Path) -> Arc<dyn Artifacts> {
        Arc::new(ArtifactFolder(Folder::open(folder)))
    }

    fn journal(&self, folder: &Path) -> Arc<dyn CallJournal> {
        Arc::new(CallFile::new(folder))
    }

    fn inputs(&self, folder: &Path, values: Vec<(TaskName, Value)>) -> Arc<dyn InputFiles> {
        Arc::new(InputFolder::new(folder, values))
    }
}

/// The folder of a session's artifacts.
struct ArtifactFolder(Arc<Folder>);

/// The folders that are open in this process.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Folder>>> = Mutex::new(BTreeMap::new());

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

    async fn find(&self, number: u64) -> io::Result<Option<Artifact>> {
        let folder = Arc::clone(&self.0);
        blocking(move || folder.find(number)).await
    }

    async fn agent(&self, name: &str) -> io::Result<Option<Artifact>> {
        if !is_agent(name) {
            return Ok(None);
        }
        let name = format!("{name}{AGENT_SUFFIX}");
        let artifact = Artifact { path: self.0.path.join(&name), name };
        blocking(move || match fs::symlink_metadata(&artifact.path) {
            Ok(found) => Ok(found.is_file().then_some(artifact)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    async fn agents(&self) -> io::Result<Vec<String>> {
        let folder = Arc::clone(&self.0);
        blocking(move || folder.agents()).await
    }

    async fn size(&self, artifact: &Artifact) -> io::Result<u64> {
        let path = artifact.path.clone();
        blocking(move || Ok(fs::metadata(path)?.len())).await
    }

    async fn write(&self, artifact: &Artifact, text: String) -> io::Result<()> {
        let (folder, path) = (self.0.path.clone(), artifact.path.clone());
        blocking(move || {
            fs::create_dir_all(folder)?;
            let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            options?.write_all(text.as_bytes())
        })
        .await
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
    /// Returns the folder, which counts on with those who have it open already: the commands of a user and
    /// those of the model are in one folder.
    fn open(path: &Path) -> Arc<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, folder| folder.strong_count() > 0);
        if let Some(folder) = open.get(path).and_then(Weak::upgrade) {
            return folder;
        }
        let folder = Arc::new(Self { path: path.to_owned(), next: Mutex::new(None) });
        open.insert(path.to_owned(), Arc::downgrade(&folder));
        folder
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
        let numbers = names.filter_map(|name| number(name.to_str()?));
        numbers.max().map_or(0, |number| number + 1)
    }

    /// Returns the names of the subagents whose results are there, sorted.
    fn agents(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let agents = names.filter_map(|name| Some(name.strip_suffix(AGENT_SUFFIX)?.to_owned()));
        let mut agents: Vec<_> = agents.filter(|name| is_agent(name)).collect();
        agents.sort();
        Ok(agents)
    }

    fn find(&self, wanted: u64) -> io::Result<Option<Artifact>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string()
                && number(&name) == Some(wanted)
                && name.ends_with(".log")
                && entry.file_type()?.is_file()
            {
                return Ok(Some(Artifact { path: self.path.join(&name), name }));
            }
        }
        Ok(None)
    }
}

/// The end of the name of a file with the result of a subagent.
const AGENT_SUFFIX: &str = ".md";

/// The maximum number of bytes of the name of a subagent: the suffix has to follow it in the name of a file.
const LONGEST_AGENT: usize = 240;

/// Returns whether a text can be the name of a subagent, which begins with a digit: nothing else in the folder
/// has such a name, and none leads out of it.
fn is_agent(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= LONGEST_AGENT
        && name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(is_plain)
}

/// Returns the number at the beginning of a file's name.
fn number(name: &str) -> Option<u64> {
    Some(name.split_once('.')?.0.parse::<u32>().ok()?.into())
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
    async fn whoever_has_a_folder_open_counts_on_with_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = [folder.path(); 2].map(|path| ArtifactFolders.open(path));
        let mut names = Vec::new();
        for artifacts in [&one, &other, &one] {
            names.push(artifacts.reserve("bash").await.name);
        }
        assert_eq!(names, ["0.bash.log", "1.bash.log", "2.bash.log"]);
    }

    #[test]
    async fn a_folder_that_is_not_there_begins_at_0() {
        let artifacts = ArtifactFolders.open(Path::new("/nowhere/at/all"));
        let first = artifacts.reserve("bash").await;
        assert_eq!(first.path, Path::new("/nowhere/at/all/0.bash.log"));
        assert!(artifacts.size(&first).await.is_err());
        assert_eq!(artifacts.find(0).await.unwrap(), None);
    }

    #[test]
    async fn a_part_of_an_artifact_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = ArtifactFolders.open(folder.path());
        let artifact = artifacts.reserve("bash").await;
        fs::write(&artifact.path, "0123456789").unwrap();
        assert_eq!(artifacts.size(&artifact).await.unwrap(), 10);
        assert_eq!(artifacts.find(0).await.unwrap(), Some(artifact.clone()));
        assert_eq!(artifact.uri(), "artifact://0");
        assert_eq!(artifacts.find(1).await.unwrap(), None);
        assert_eq!(artifacts.read(&artifact, 3, 4).await.unwrap(), b"3456");
        assert_eq!(artifacts.read(&artifact, 8, 4).await.unwrap(), b"89");
        assert_eq!(artifacts.read(&artifact, 10, 4).await.unwrap(), b"");
    }

    #[test]
    async fn the_result_of_a_subagent_is_the_file_of_its_name_in_the_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("session");
        let artifacts = ArtifactFolders.open(&folder);
        assert_eq!(artifacts.agents().await.unwrap(), [""; 0]);
        fs::create_dir(&folder).unwrap();
        for name in ["1-A.md", "1-A.2-b_c.md", "context.md", "0.bash.log", "../2-out.md"] {
            fs::write(folder.join(name), "x").unwrap();
        }
        fs::create_dir(folder.join("3-folder.md")).unwrap();
        std::os::unix::fs::symlink("1-A.md", folder.join("4-link.md")).unwrap();
        for name in ["1-A", "1-A.2-b_c"] {
            let path = folder.join(format!("{name}.md"));
            assert_eq!(artifacts.agent(name).await.unwrap().unwrap().path, path, "{name}");
        }
        let long = "1".repeat(300);
        for name in ["", "context", "2", "../2-out", "1-A.md", "3-folder", "4-link", "1/A", &long] {
            assert_eq!(artifacts.agent(name).await.unwrap(), None, "{name}");
        }
        let kept = artifacts.agents().await.unwrap();
        assert_eq!(kept, ["1-A", "1-A.2-b_c", "3-folder", "4-link"]);
    }
}
