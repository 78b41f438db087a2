//! The file with the output of a command. Of long output it keeps the beginning and the end.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use engine::ports::{SHORT_OUTPUT_BYTES, SHORT_OUTPUT_LINES};

/// How far the file grows beyond its limit before the middle is removed, which costs as much as
/// writing the end again.
const GROWTH: u64 = 256 << 10;

/// How many bytes are copied at once.
const COPIED: usize = 32 << 10;

/// The file operations that an output file needs.
pub(crate) trait Storage {
    /// Writes bytes at this offset and returns how many were written.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Fills the buffer from this offset.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Truncates the file to this length.
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

/// A file that keeps the beginning and the end of the output.
///
/// Output is appended. When the file has grown well beyond its limit, its end is moved to the front,
/// behind the beginning and a line that says how many bytes were left out. So only a buffer is held
/// in memory, and if the program is killed at any time, the file has the beginning and the end of
/// the output in their order.
///
/// Writing never fails: a command must be able to go on even if the disk is full. The error is
/// returned when the file is closed.
#[derive(Debug)]
pub(crate) struct OutputFile<S = LazyFile> {
    storage: S,
    /// How many bytes of the beginning are kept.
    head: u64,
    /// How many bytes of the end are kept.
    tail: u64,
    /// How many bytes were received.
    written: u64,
    /// The length of the file.
    length: u64,
    /// The length of the line about the bytes left out; 0 if there is none.
    notice: u64,
    error: Option<io::Error>,
}

/// How much output was received, and how much of it is in the file.
#[derive(Debug)]
pub(crate) struct WrittenOutput {
    /// How many bytes were received.
    pub(crate) bytes: u64,
    /// How many of them are not in the file.
    pub(crate) dropped: u64,
    /// The error of writing to the file.
    pub(crate) error: Option<io::Error>,
}

/// A file that is created with the first byte that must not be kept in memory.
#[derive(Debug)]
pub(crate) struct LazyFile {
    path: PathBuf,
    file: Option<File>,
    /// What is kept in memory as long as there is no file, if anything may be.
    held: Option<HeldOutput>,
}

/// Output that is kept in memory.
#[derive(Debug)]
struct HeldOutput {
    bytes: Vec<u8>,
    line_breaks: usize,
    /// The most bytes that are kept.
    most: usize,
}

impl HeldOutput {
    /// Returns whether these bytes, too, can be kept.
    fn has_room_for(&self, bytes: &[u8]) -> bool {
        self.bytes.len() + bytes.len() <= self.most
            && self.line_breaks + line_breaks(bytes) <= SHORT_OUTPUT_LINES
    }
}

fn line_breaks(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

impl LazyFile {
    fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, held: None }
    }

    /// Creates the file and the folders above it, if there is none yet.
    fn created(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            if let Some(folder) = self.path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&self.path)?;
            if let Some(held) = self.held.take() {
                write(&mut file, &held.bytes, 0)?;
            }
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl Storage for LazyFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match &mut self.held {
            Some(held) if held.bytes.len() as u64 == offset && held.has_room_for(bytes) => {
                held.bytes.extend_from_slice(bytes);
                held.line_breaks += line_breaks(bytes);
                Ok(bytes.len())
            }
            _ => Storage::write_at(self.created()?, bytes, offset),
        }
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        Storage::read_at(self.created()?, buffer, offset)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        Storage::truncate(self.created()?, length)
    }
}

impl OutputFile {
    /// Does what [`Self::create_when_written`] does if there is no file, and never waits for the disk
    /// to write something; `None` if there may be a file.
    pub(crate) fn absent(path: &Path, keep: u64) -> Option<Self> {
        let absent = matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound);
        absent.then(|| Self::over(LazyFile::at(path), keep))
    }

    /// Keeps short output in memory, and creates the file with the first byte that makes it long. There
    /// must be no file.
    pub(crate) fn in_memory_while_short(path: &Path, keep: u64) -> Self {
        let most =
            usize::try_from(keep).map_or(SHORT_OUTPUT_BYTES, |it| it.min(SHORT_OUTPUT_BYTES));
        let held = Some(HeldOutput { bytes: Vec::new(), line_breaks: 0, most });
        Self::over(LazyFile { held, ..LazyFile::at(path) }, keep)
    }

    /// Returns whether there is no file, so that closing it does nothing.
    pub(crate) fn is_absent(&self) -> bool {
        self.storage.file.is_none()
    }

    /// Appends bytes if that only takes memory. Returns whether it did.
    pub(crate) fn hold(&mut self, bytes: &[u8]) -> bool {
        let can = self.is_full()
            || self.storage.held.as_ref().is_some_and(|held| held.has_room_for(bytes));
        if can {
            self.push(bytes);
        }
        can
    }

    /// Returns the whole output, if it is in memory.
    pub(crate) fn take_held(&mut self) -> Option<Vec<u8>> {
        self.storage.held.take().map(|held| held.bytes)
    }

    /// Creates the file with the first byte of output, as [`Self::create`] does. Removes the file of
    /// an earlier attempt.
    pub(crate) fn create_when_written(path: &Path, keep: u64) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        Ok(Self::over(LazyFile::at(path), keep))
    }

    /// Creates the empty file and the folders above it. Only this user can read it, because output may
    /// contain secrets.
    pub(crate) fn create(path: &Path, keep: u64) -> io::Result<Self> {
        let mut file = LazyFile::at(path);
        file.created()?;
        Ok(Self::over(file, keep))
    }
}

impl<S: Storage> OutputFile<S> {
    fn over(storage: S, keep: u64) -> Self {
        let head = keep / 2;
        let tail = keep - head;
        Self { storage, head, tail, written: 0, length: 0, notice: 0, error: None }
    }

    /// Returns whether nothing more will be kept, so that bytes are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.tail == 0 || self.error.is_some()
    }

    /// Appends bytes, and removes some of the middle when the file has grown too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.is_full() {
            return;
        }
        let mut pushed = self.append(bytes);
        let limit = self.head + self.notice + self.tail;
        if pushed.is_ok() && self.length >= limit.saturating_add(self.tail.max(GROWTH)) {
            pushed = self.remove_middle();
        }
        self.error = pushed.err();
    }

    /// Closes the file, after removing the middle if it is too long.
    pub(crate) fn close(mut self) -> WrittenOutput {
        if self.error.is_none() && self.written > self.head.saturating_add(self.tail) {
            self.error = self.remove_middle().err();
        }
        let kept = self.length - self.notice;
        WrittenOutput { bytes: self.written, dropped: self.written - kept, error: self.error }
    }

    fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = write_some(&mut self.storage, bytes, self.length)?;
            self.length += count as u64;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Removes the middle of the file, and writes a line in its place.
    ///
    /// The function moves the end forward from its first byte to its last and truncates the file
    /// last, so that the file contains the whole end at every moment.
    fn remove_middle(&mut self) -> io::Result<()> {
        let before = if self.head == 0 { b'\n' } else { self.byte(self.head - 1)? };
        let mut from = self.length.saturating_sub(self.tail).max(self.head);
        // A line longer than the removed bytes also replaces the first bytes of the end.
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

/// Returns the line in place of the removed bytes; `before` is the byte in front of it.
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
