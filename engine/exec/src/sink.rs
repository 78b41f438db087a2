//! Keeps a command's output in a file, up to a limit: its beginning and its end.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// How far the file grows beyond the limit, at least, before its middle is taken out: taking it
/// out costs as much as writing the end once more.
const GROWTH: u64 = 256 << 10;

/// How much is copied at once.
const COPIED: usize = 256 << 10;

/// What a sink needs of a file.
pub(crate) trait Storage {
    /// Writes bytes at this offset and returns how many were written.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Fills the buffer with what is at this offset.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Removes what is beyond this length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

impl Storage for File {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A file that takes everything and keeps the beginning and the end of it.
///
/// Output is appended. When the file has grown well beyond its limit, the end of it is moved to
/// the front, behind the beginning and one line that says how much was left out between them. So
/// no more than a buffer is held in memory, and whenever the program is killed, the beginning and
/// the end of what was written by then are in the file, in their order.
///
/// It never refuses: a command must be able to go on writing, whatever becomes of the disk. What
/// went wrong is told at the end.
#[derive(Debug)]
pub(crate) struct Sink<S = File> {
    storage: S,
    /// How many bytes of the beginning are kept.
    head: u64,
    /// How many bytes of the end are kept.
    tail: u64,
    /// How many bytes came.
    written: u64,
    /// How long the file is.
    length: u64,
    /// How long the line in it is that says what was left out; 0 while there is none.
    notice: u64,
    trouble: Option<io::Error>,
}

/// What became of the output.
#[derive(Debug)]
pub(crate) struct Filled {
    /// How many bytes came.
    pub(crate) written: u64,
    /// How many of them are not in the file.
    pub(crate) dropped: u64,
    /// Why the file could not take what it should have taken.
    pub(crate) trouble: Option<io::Error>,
}

impl Sink {
    /// Makes the file, empty, and the folders above it. Nobody else may read it: output has
    /// secrets in it.
    pub(crate) fn create(path: &Path, keep: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        Ok(Self::over(options.open(path)?, keep))
    }
}

impl<S: Storage> Sink<S> {
    fn over(storage: S, keep: u64) -> Self {
        let head = keep / 2;
        let tail = keep - head;
        Self { storage, head, tail, written: 0, length: 0, notice: 0, trouble: None }
    }

    /// Returns whether nothing more will be kept, so that taking is only counting.
    pub(crate) fn is_full(&self) -> bool {
        self.tail == 0 || self.trouble.is_some()
    }

    /// Takes bytes, and leaves out some of the middle where the file has grown too long.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.is_full() {
            return;
        }
        let mut taken = self.append(bytes);
        let limit = self.head + self.notice + self.tail;
        if taken.is_ok() && self.length >= limit.saturating_add(self.tail.max(GROWTH)) {
            taken = self.leave_out();
        }
        self.trouble = taken.err();
    }

    /// Closes the file, with what does not fit left out of it.
    pub(crate) fn close(mut self) -> Filled {
        if self.trouble.is_none() && self.written > self.head.saturating_add(self.tail) {
            self.trouble = self.leave_out().err();
        }
        let kept = self.length - self.notice;
        Filled { written: self.written, dropped: self.written - kept, trouble: self.trouble }
    }

    fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = write_some(&mut self.storage, bytes, self.length)?;
            self.length += count as u64;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Leaves only the beginning and the end in the file, with a line between them.
    ///
    /// Copying goes from front to back and the end is cut off last, so that at every moment all of
    /// the end is in the file.
    fn leave_out(&mut self) -> io::Result<()> {
        let before = if self.head == 0 { b'\n' } else { self.byte(self.head - 1)? };
        let mut from = self.length.saturating_sub(self.tail).max(self.head);
        // Where hardly anything is left out, the line needs more room than that: the end gives it.
        let notice = loop {
            let missing = self.written - self.head - (self.length - from);
            let notice = notice(missing, before);
            let end = self.head + notice.len() as u64;
            if from >= end || from == self.length {
                break notice;
            }
            from = end.min(self.length);
        };
        let mut to = self.head;
        write(&mut self.storage, notice.as_bytes(), to)?;
        to += notice.len() as u64;
        let mut buffer = vec![0; COPIED];
        while from < self.length {
            let count = usize::try_from(self.length - from).map_or(COPIED, |left| left.min(COPIED));
            self.storage.read_at(&mut buffer[..count], from)?;
            write(&mut self.storage, &buffer[..count], to)?;
            from += count as u64;
            to += count as u64;
        }
        self.storage.truncate(to)?;
        (self.length, self.notice) = (to, notice.len() as u64);
        Ok(())
    }

    fn byte(&mut self, offset: u64) -> io::Result<u8> {
        let mut byte = [0];
        self.storage.read_at(&mut byte, offset)?;
        Ok(byte[0])
    }
}

/// The line that stands for what is not there, behind a byte that may end a line or not.
fn notice(missing: u64, before: u8) -> String {
    let end = if before == b'\n' { "" } else { "\n" };
    format!("{end}… {missing} bytes left out …\n")
}

fn write(storage: &mut impl Storage, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = write_some(storage, bytes, offset)?;
        offset += count as u64;
        bytes = &bytes[count..];
    }
    Ok(())
}

fn write_some(storage: &mut impl Storage, bytes: &[u8], offset: u64) -> io::Result<usize> {
    loop {
        match storage.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            end => return end,
        }
    }
}

#[cfg(test)]
mod tests;
