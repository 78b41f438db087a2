//! The file with the calls of the last answer of a session that have begun: `calls.log` in the folder of its
//! artifacts. It is not synced: a power cut may take what was written, so that it says nothing after the next
//! boot.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use engine::ports::{CallJournal, CallProgress, ContentDigest, PlannedChange, ViewPath};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

/// The name of the file.
pub(crate) const CALLS: &str = "calls.log";

/// The largest file that is read.
const LARGEST: u64 = 16 << 20;

/// The records of the calls of a session.
pub(crate) struct CallFile {
    path: PathBuf,
    /// The calls of the answer.
    expected: Mutex<BTreeSet<String>>,
}

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Expected {
    boot: String,
    calls: BTreeSet<String>,
}

/// Each other line.
#[derive(Serialize, Deserialize)]
struct Begun {
    call: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
}

#[derive(Serialize, Deserialize)]
struct Change {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

impl CallFile {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { path: folder.join(CALLS), expected: Mutex::default() }
    }

    fn expected(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl CallJournal for CallFile {
    async fn expect(&self, calls: &[String]) {
        let calls: BTreeSet<_> = calls.iter().cloned().collect();
        self.expected().clone_from(&calls);
        let path = self.path.clone();
        let written = blocking(move || replace(&path, calls)).await;
        if let Err(error) = written {
            let path = self.path.display();
            tracing::warn!(%path, %error, "it is not recorded which calls begin");
        }
    }

    async fn begin(&self, call: &str, changes: &[PlannedChange]) -> io::Result<()> {
        if !self.expected().contains(call) {
            return Ok(());
        }
        let begun = Begun { call: call.to_owned(), changes: texts(changes).unwrap_or_default() };
        let path = self.path.clone();
        blocking(move || match append(&path, &begun) {
            // Without the file, nothing is known of any call.
            Err(error) => match fs::remove_file(&path) {
                Err(failed) if failed.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            },
            Ok(()) => Ok(()),
        })
        .await
    }

    async fn progress(&self, call: &str) -> CallProgress {
        let (path, call) = (self.path.clone(), call.to_owned());
        let read = blocking(move || Ok(read(&path, &call))).await;
        read.ok().flatten().unwrap_or(CallProgress::Unknown)
    }

    fn digest(&self, content: &[u8]) -> ContentDigest {
        ContentDigest(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Returns changes as they are written; `None` if a path is not text.
fn texts(changes: &[PlannedChange]) -> Option<Vec<Change>> {
    let digest = |digest: &Option<ContentDigest>| digest.as_ref().map(|digest| digest.0.clone());
    let change = |PlannedChange { path, before, after }: &PlannedChange| {
        let path = path.as_path().to_str()?.to_owned();
        Some(Change { path, before: digest(before), after: digest(after) })
    };
    changes.iter().map(change).collect()
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

fn replace(path: &Path, calls: BTreeSet<String>) -> io::Result<()> {
    let line = line(&Expected { boot: boot()?, calls })?;
    let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            open()?
        }
        opened => opened?,
    };
    file.write_all(&line)
}

fn append(path: &Path, begun: &Begun) -> io::Result<()> {
    let line = line(begun)?;
    match OpenOptions::new().append(true).open(path) {
        // It could not be written before: nothing is known of any call.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => file?.write_all(&line),
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns what a file says of a call; `None` if that is nothing, or cannot be read.
fn read(path: &Path, call: &str) -> Option<CallProgress> {
    let mut text = String::new();
    File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    let expected: Expected = serde_json::from_str(lines.next()?).ok()?;
    if expected.boot != boot().ok()? || !expected.calls.contains(call) {
        return None;
    }
    let mut progress = CallProgress::NotBegun;
    for line in lines {
        let begun: Begun = serde_json::from_str(line).ok()?;
        if begun.call == call {
            let changes = begun.changes.into_iter().map(planned);
            progress = CallProgress::Begun(changes.collect::<Option<_>>()?);
        }
    }
    Some(progress)
}

fn planned(Change { path, before, after }: Change) -> Option<PlannedChange> {
    let path = ViewPath::new(Path::new(&path))?;
    let [before, after] = [before, after].map(|digest| digest.map(ContentDigest));
    Some(PlannedChange { path, before, after })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    async fn a_call_has_begun_or_not_and_nothing_is_known_of_calls_of_another_answer() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("session");
        let journal = CallFile::new(&folder);
        assert_eq!(journal.progress("a").await, CallProgress::Unknown);
        journal.begin("a", &[]).await.unwrap();
        assert_eq!(journal.progress("a").await, CallProgress::Unknown, "it was not expected");
        journal.expect(&ids(&["a", "b"])).await;
        assert_eq!(journal.progress("a").await, CallProgress::NotBegun);
        journal.begin("a", &[]).await.unwrap();
        let planned = vec![PlannedChange {
            path: ViewPath::new(Path::new("x/y")).unwrap(),
            before: None,
            after: Some(journal.digest(b"new")),
        }];
        journal.begin("b", &planned).await.unwrap();
        let again = CallFile::new(&folder);
        assert_eq!(again.progress("a").await, CallProgress::Begun(Vec::new()));
        assert_eq!(again.progress("b").await, CallProgress::Begun(planned));
        assert_eq!(again.progress("c").await, CallProgress::Unknown);
        again.expect(&ids(&["c"])).await;
        assert_eq!(journal.progress("a").await, CallProgress::Unknown);
        assert_eq!(journal.progress("c").await, CallProgress::NotBegun);
    }

    #[test]
    async fn a_file_of_another_boot_or_one_that_is_damaged_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let journal = CallFile::new(folder.path());
        journal.expect(&ids(&["a"])).await;
        let path = folder.path().join(CALLS);
        let good = fs::read_to_string(&path).unwrap();
        let other_boot = good.replace(&boot().unwrap(), "another");
        let leaves =
            "{\"call\":\"a\",\"changes\":[{\"path\":\"../x\",\"before\":null,\"after\":null}]}";
        for bad in [
            String::new(),
            other_boot,
            good[..good.len() / 2].to_owned(),
            format!("{good}{{\"call\":"),
            format!("{good}{leaves}\n"),
        ] {
            fs::write(&path, &bad).unwrap();
            assert_eq!(journal.progress("a").await, CallProgress::Unknown, "{bad}");
        }
        fs::write(&path, &good).unwrap();
        assert_eq!(journal.progress("a").await, CallProgress::NotBegun);
    }
}
