//! What MCP servers offered when they were last used, each in a file of its own.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{Clock, McpCache, McpOffer};
use protocol::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

/// The version of the files. Those of other versions are not read.
const VERSION: u32 = 1;

/// The largest file that is read or written.
const MAX_BYTES: u64 = 16 << 20;

/// How long a file is used, in milliseconds: 30 days.
const MAX_AGE: i64 = 30 * 24 * 60 * 60 * 1_000;

/// Keeps what servers offer in a folder, which may be removed at any time.
pub struct McpCacheFiles {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
}

#[derive(Serialize, Deserialize)]
struct CachedOffer {
    version: u32,
    /// When it was written.
    at: i64,
    offer: McpOffer,
}

impl McpCacheFiles {
    /// Returns the cache in `folder`, which is created when it is needed.
    #[must_use]
    pub fn new(folder: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { folder, clock }
    }

    /// Returns the file of a key, whatever its characters are.
    fn file(&self, key: &str) -> PathBuf {
        let mut name = String::new();
        for byte in Sha256::digest(key.as_bytes()).iter().take(16) {
            let _written = write!(name, "{byte:02x}"); // writing into a string does not fail
        }
        self.folder.join(format!("{name}.json"))
    }
}

#[async_trait]
impl McpCache for McpCacheFiles {
    async fn load(&self, key: &str) -> Option<McpOffer> {
        let (path, now) = (self.file(key), self.clock.now());
        spawn_blocking(move || read(&path, now)).await.ok().flatten()
    }

    async fn store(&self, key: &str, offer: McpOffer) {
        let path = self.file(key);
        let cached = CachedOffer { version: VERSION, at: self.clock.now().as_millisecond(), offer };
        let written = spawn_blocking(move || write(&path, &cached)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "what an MCP server offers cannot be kept");
        }
    }
}

/// Returns what a file holds, if it is neither damaged nor too old. One from the future is too old.
fn read(path: &Path, now: Timestamp) -> Option<McpOffer> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let cached: CachedOffer = serde_json::from_slice(&bytes).ok()?;
    let age = now.as_millisecond().checked_sub(cached.at)?;
    (cached.version == VERSION && (0..=MAX_AGE).contains(&age)).then_some(cached.offer)
}

/// Replaces a file as a whole. It does not have to survive a loss of power.
fn write(path: &Path, cached: &CachedOffer) -> io::Result<()> {
    let bytes = serde_json::to_vec(cached)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = path.with_extension(format!("{}.tmp", process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&temporary)?.write_all(&bytes)?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use engine::ports::McpTool;
    use serde_json::json;

    use super::*;

    struct SetClock(Mutex<i64>);

    impl Clock for SetClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millisecond(*self.0.lock().unwrap())
        }
    }

    #[test]
    async fn an_offer_is_kept_for_thirty_days_and_a_damaged_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock(Mutex::new(1_000)));
        let cache = McpCacheFiles::new(folder.path().join("mcp"), clock.clone());
        let tool = McpTool {
            name: "x".to_owned(),
            title: None,
            description: "Does x.".to_owned(),
            input_schema: json!({ "type": "object" }),
            read_only: true,
            idempotent: false,
        };
        let offer = McpOffer { tools: vec![tool], instructions: Some("Use x.".to_owned()) };
        assert_eq!(cache.load("../a key").await, None);
        cache.store("../a key", offer.clone()).await;
        assert_eq!(cache.load("../a key").await, Some(offer.clone()));
        assert_eq!(cache.load("another").await, None);
        for (now, expected) in
            [(1_000 + MAX_AGE, Some(offer)), (1_001 + MAX_AGE, None), (999, None)]
        {
            *clock.0.lock().unwrap() = now;
            assert_eq!(cache.load("../a key").await, expected, "{now}");
        }
        *clock.0.lock().unwrap() = 1_000;
        fs::write(cache.file("../a key"), b"{\"version\":1,").unwrap();
        assert_eq!(cache.load("../a key").await, None);
    }
}
