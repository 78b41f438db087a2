//! The port that records which calls have begun, for a session that continues after its engine was killed.

use std::io;

use async_trait::async_trait;

use super::ViewPath;

/// Records which calls of the last answer of a session have begun. The records outlive the engine. A power
/// cut may take some of them; then they say nothing.
#[async_trait]
pub trait CallJournal: Send + Sync {
    /// Replaces the records by those of another answer, of which no call has begun. If that fails, nothing
    /// is known of these calls.
    async fn expect(&self, calls: &[String]);

    /// Records that a call of the answer begins, and which files it is going to change, as far as it is known.
    /// Of another call nothing is recorded.
    ///
    /// # Errors
    /// The records cannot be written and would be wrong. The call must not begin.
    async fn begin(&self, call: &str, changes: &[PlannedChange]) -> io::Result<()>;

    /// Returns what is known of a call.
    async fn progress(&self, call: &str) -> CallProgress;

    /// Returns the digest of the content of a file.
    fn digest(&self, content: &[u8]) -> ContentDigest;
}

/// What is known of a call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallProgress {
    /// It may have begun.
    Unknown,
    /// It has not begun.
    NotBegun,
    /// It has begun, and was going to change these files.
    Begun(Vec<PlannedChange>),
}

/// A change of a file that a call is going to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedChange {
    /// The file.
    pub path: ViewPath,
    /// Its content before; `None` if it does not exist.
    pub before: Option<ContentDigest>,
    /// Its content after the change; `None` if it is removed.
    pub after: Option<ContentDigest>,
}

/// A digest of the content of a file. Files with the same digest have the same content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentDigest(pub String);
