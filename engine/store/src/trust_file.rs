//! What the user trusts in each repository: rules that allow calls of tools, and powers of the project's
//! settings. One file for all repositories, which several processes may change.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use group_log::LockedFile;
use protocol::{ApprovalRule, SessionId, quote_within};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the file that this program reads and writes.
const VERSION: u64 = 1;

/// The maximum size of the file, in bytes.
const LARGEST: u64 = 4 << 20;

/// The maximum number of rules of a repository.
const MOST_RULES: usize = 1_000;

/// How long a change waits for another process.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// The file with what the user trusts.
#[derive(Clone, Debug)]
pub struct TrustFile(PathBuf);

/// What the user trusts in one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositoryTrust {
    /// Rules that allow calls of tools, in the order in which they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ApprovalRule>,
    /// The powers of the project's settings, by the key of the setting.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub powers: BTreeMap<String, TrustedPower>,
}

/// A power of a project's settings, as it was when the user trusted it. Any difference ends the trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedPower {
    /// The value of the setting.
    pub value: Value,
    /// The digest of each file of the repository that it runs, by its path from the root.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The tree of HEAD, where it is not known which files it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

impl RepositoryTrust {
    /// Returns whether nothing is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.powers.is_empty()
    }

    /// Adds a rule that is not there yet.
    pub fn add_rule(&mut self, rule: ApprovalRule) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read, locked or written.
    #[error("cannot {verb} {}", .file.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not what this program writes.
    #[error("{} {why}; nothing in it is trusted (remove it to begin anew)", .file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The path of the repository has no place in the file.
    #[error("the path of the repository is not UTF-8: {}", .0.display())]
    Path(PathBuf),
    /// The repository has too many rules.
    #[error(
        "the repository has {MOST_RULES} trusted rules already; remove some: regatta trust --revoke"
    )]
    TooManyRules,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    #[serde(default)]
    repositories: BTreeMap<String, RepositoryTrust>,
}

impl TrustFile {
    /// Returns the file at `path`. Nothing is read or created.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns what is trusted, by the canonical root of each repository.
    ///
    /// # Errors
    /// The file cannot be read, or was not written by this program for this user.
    pub fn all(&self) -> Result<BTreeMap<String, RepositoryTrust>, TrustError> {
        Ok(self.read()?.repositories)
    }

    /// Returns what is trusted in the repository with this canonical root.
    ///
    /// # Errors
    /// As [`TrustFile::all`].
    pub fn of(&self, repository: &Path) -> Result<RepositoryTrust, TrustError> {
        let key = key(repository)?;
        Ok(self.read()?.repositories.remove(key).unwrap_or_default())
    }

    /// Changes what is trusted in the repository with this canonical root. What is stored is durable when
    /// this returns, and no change of another process is lost.
    ///
    /// # Errors
    /// The file cannot be read, locked or written; then it is as before.
    pub fn change<T>(
        &self,
        repository: &Path,
        change: impl FnOnce(&mut RepositoryTrust) -> T,
    ) -> Result<T, TrustError> {
        let key = key(repository)?;
        let _lock = self.lock()?;
        let mut document = self.read()?;
        let trust = document.repositories.entry(key.to_owned()).or_default();
        let changed = change(trust);
        if trust.rules.len() > MOST_RULES {
            return Err(TrustError::TooManyRules);
        }
        document.repositories.retain(|_, trust| !trust.is_empty());
        document.version = VERSION;
        self.replace(&document)?;
        Ok(changed)
    }

    fn read(&self) -> Result<Document, TrustError> {
        let failed = |error| self.io("read", error);
        let meta = match fs::metadata(&self.0) {
            Ok(meta) => meta,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Document::default()),
            Err(error) => return Err(failed(error)),
        };
        if !meta.is_file() {
            return Err(self.refused("is not a file"));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(self.refused("belongs to another user"));
        }
        if meta.mode() & 0o022 != 0 {
            return Err(self.refused("can be written by others"));
        }
        let mut bytes = Vec::new();
        let file = File::open(&self.0).map_err(failed)?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
            return Err(self.refused("is larger than 4 MiB"));
        }
        let malformed = |error: serde_json::Error| {
            let text = quote_within(&error.to_string(), 200);
            self.refused(&format!("is not a file of trust: {text}"))
        };
        let value: Value = serde_json::from_slice(&bytes).map_err(malformed)?;
        match value.get("version").and_then(Value::as_u64) {
            Some(VERSION) => serde_json::from_value(value).map_err(malformed),
            Some(newer) if newer > VERSION => Err(self.refused(&format!(
                "was written by a newer version of regatta (its version is {newer}, not {VERSION})"
            ))),
            _ => Err(self.refused("has no version that is known")),
        }
    }

    fn lock(&self) -> Result<LockedFile, TrustError> {
        let failed = |error| self.io("lock", error);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(self.0.with_extension("json.lock")).map_err(failed)?;
        let until = Instant::now() + PATIENCE;
        let wait = || {
            thread::sleep(PAUSE);
            Instant::now() < until
        };
        LockedFile::lock_while(file, wait).map_err(|error| match error {
            TryLockError::WouldBlock => failed(io::Error::other("another process holds it")),
            TryLockError::Error(error) => failed(error),
        })
    }

    /// Writes a new file, and puts it into the place of the old one.
    fn replace(&self, document: &Document) -> Result<(), TrustError> {
        let new = self.0.with_extension(format!("json.{}.new", SessionId::generate()));
        let replaced = write(&new, document).and_then(|()| {
            fs::rename(&new, &self.0)?;
            // The new name is durable with the folder.
            self.0.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        });
        if replaced.is_err() {
            let _gone = fs::remove_file(&new); // it may never have been there
        }
        replaced.map_err(|error| self.io("write", error))
    }

    fn io(&self, verb: &'static str, source: io::Error) -> TrustError {
        TrustError::Io { verb, file: self.0.clone(), source }
    }

    fn refused(&self, why: &str) -> TrustError {
        TrustError::Refused { file: self.0.clone(), why: why.to_owned() }
    }
}

fn key(repository: &Path) -> Result<&str, TrustError> {
    repository.to_str().ok_or_else(|| TrustError::Path(repository.to_owned()))
}

fn write(new: &Path, document: &Document) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    let mut bytes = serde_json::to_vec_pretty(document)?;
    bytes.push(b'\n');
    file.write_all(&bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
