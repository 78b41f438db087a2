//! Reads a file of a view where a thread may block, as the search needs it.

use std::io::{self, Read};

use engine::ports::ViewFile;
use tokio::runtime::Handle;

/// How many bytes are read at once.
const CHUNK: usize = 64 << 10;

/// A file that is read on a thread that may block.
pub(super) struct BlockingFile {
    file: Box<dyn ViewFile>,
    runtime: Handle,
    /// What was read and not taken yet, and how much of it was taken.
    chunk: Vec<u8>,
    taken: usize,
}

impl BlockingFile {
    /// Returns the file, which reads with the current runtime.
    pub(super) fn new(file: Box<dyn ViewFile>) -> Self {
        Self { file, runtime: Handle::current(), chunk: Vec::new(), taken: 0 }
    }
}

impl Read for BlockingFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() {
            let read = self.runtime.block_on(self.file.read(CHUNK));
            self.chunk = read.map_err(io::Error::other)?;
            self.taken = 0;
        }
        let count = (&self.chunk[self.taken..]).read(into)?;
        self.taken += count;
        Ok(count)
    }
}
