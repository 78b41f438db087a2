//! The last part of the standard error of a server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::printable;

/// How much is kept.
const KEPT: usize = 64 << 10;
/// How many lines of it are in a message, and how long each can be.
const LINES: usize = 10;
const LINE: usize = 300;

/// The last 64 KB of what a server wrote to its standard error. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StderrRing(Arc<Mutex<VecDeque<u8>>>);

impl StderrRing {
    /// Reads to the end of `source`, and keeps the last part.
    pub(crate) async fn fill(self, mut source: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 16 << 10];
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            self.push(&chunk[..count]);
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut ring = self.lock();
        ring.extend(bytes);
        let excess = ring.len().saturating_sub(KEPT);
        ring.drain(..excess);
    }

    /// Returns the last lines that are not blank, each below the one before.
    pub(crate) fn tail(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.rsplit('\n').map(|text| printable::line(text, LINE));
        let mut last: Vec<_> = lines.filter(|line| !line.is_empty()).take(LINES).collect();
        last.reverse();
        last
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    async fn the_last_lines_are_kept_and_no_flood_takes_memory() {
        let ring = StderrRing::default();
        assert_eq!(ring.tail(), Vec::<String>::new());
        let mut flood = b"\x1b[31mflood\x1b[0m\n".repeat(1 << 20);
        flood.extend(b"\n  \nlast\n");
        ring.clone().fill(&flood[..]).await;
        assert_eq!(ring.lock().len(), KEPT);
        let tail = ring.tail();
        assert_eq!((tail.len(), &tail[8][..], &tail[9][..]), (LINES, "flood", "last"));
    }
}
