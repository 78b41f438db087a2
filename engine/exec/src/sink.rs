//! Keeps a command's output in a file, up to a limit.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// A file that takes everything and keeps the first of it.
///
/// It never refuses: a command must be able to go on writing, whatever becomes of the disk. What
/// went wrong is told at the end.
#[derive(Debug)]
pub(crate) struct Sink<F = File> {
    file: F,
    keep: u64,
    written: u64,
    kept: u64,
    last: u8,
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
        options.write(true).create(true).truncate(true).mode(0o600);
        Ok(Self::over(options.open(path)?, keep))
    }
}

impl<F: Write> Sink<F> {
    fn over(file: F, keep: u64) -> Self {
        Self { file, keep, written: 0, kept: 0, last: b'\n', trouble: None }
    }

    /// Returns whether nothing more will be kept, so that taking is only counting.
    pub(crate) fn is_full(&self) -> bool {
        self.kept >= self.keep || self.trouble.is_some()
    }

    /// Takes bytes, keeping those that fit.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.is_full() {
            return;
        }
        let room = usize::try_from(self.keep - self.kept).unwrap_or(usize::MAX);
        let mut bytes = &bytes[..bytes.len().min(room)];
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return self.trouble = Some(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.kept += count as u64;
                    self.last = bytes[count - 1];
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.trouble = Some(error),
            }
        }
    }

    /// Closes the file, with a last line that says what is missing.
    pub(crate) fn close(mut self) -> Filled {
        let dropped = self.written - self.kept;
        if dropped > 0 && self.trouble.is_none() {
            let open = if self.last == b'\n' { "" } else { "\n" };
            let notice = format!(
                "{open}[regatta kept the first {} bytes of this output and dropped {dropped} more]\n",
                self.kept,
            );
            self.trouble = self.file.write_all(notice.as_bytes()).err();
        }
        Filled { written: self.written, dropped, trouble: self.trouble }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(keep: u64, chunks: &[&[u8]]) -> (String, Filled) {
        let mut file = Vec::new();
        let mut sink = Sink::over(&mut file, keep);
        for chunk in chunks {
            sink.take(chunk);
        }
        let filled = sink.close();
        (String::from_utf8(file).unwrap(), filled)
    }

    #[test]
    fn what_fits_is_kept_whole_and_without_a_notice() {
        let (text, filled) = fill(8, &[b"1234", b"5678"]);
        assert_eq!(text, "12345678");
        assert_eq!((filled.written, filled.dropped), (8, 0));
        assert!(filled.trouble.is_none());
    }

    #[test]
    fn what_does_not_fit_is_counted_and_told_in_a_last_line() {
        let (text, filled) = fill(6, &[b"1234", b"5678", b"9"]);
        let notice = "[regatta kept the first 6 bytes of this output and dropped 3 more]\n";
        assert_eq!(text, format!("123456\n{notice}"));
        assert_eq!((filled.written, filled.dropped), (9, 3));
        assert!(filled.trouble.is_none());
    }

    #[test]
    fn the_notice_stands_on_a_line_of_its_own() {
        let (text, _) = fill(2, &[b"1\n", b"2\n"]);
        assert!(text.starts_with("1\n[regatta"), "{text}");
        let (text, _) = fill(0, &[b"1\n"]);
        assert!(text.starts_with("[regatta"), "{text}");
    }

    /// A disk with room for a few bytes.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.0);
            self.0 -= count;
            if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_and_everything_is_still_taken() {
        let mut sink = Sink::over(Small(5), 1000);
        sink.take(b"1234");
        assert!(!sink.is_full());
        sink.take(b"5678");
        assert!(sink.is_full());
        sink.take(b"90");
        let filled = sink.close();
        assert_eq!((filled.written, filled.dropped), (10, 5));
        assert_eq!(filled.trouble.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }
}
