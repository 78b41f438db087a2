//! Reads a session log line by line, even while another process writes it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use protocol::{Timestamp, Usage};

use super::journal::settle_for;
use super::line::{Envelope, SessionLine, clean, parse_entry, parse_envelope};

/// The longest line that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// Splits a log into lines. The content may be arbitrary bytes, and lines may have any length.
#[derive(Debug)]
pub(super) struct LogLines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    /// Where the last complete line ends.
    end: u64,
    longest: u64,
}

/// One line of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RawLine<'a> {
    /// A complete line, without its line break.
    Complete(&'a [u8]),
    /// A complete line that is longer than any line this program writes.
    TooLong,
    /// A last line without a line break: its writer has crashed or is still writing.
    Torn(&'a [u8]),
}

impl<R: Read> LogLines<R> {
    /// Returns the lines of `from`.
    pub(super) fn new(from: R) -> Self {
        Self { from: BufReader::new(from), line: Vec::new(), end: 0, longest: LONGEST }
    }

    /// Returns the next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.line.clear();
        let read = (&mut self.from).take(self.longest).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.pop_if(|last| *last == b'\n').is_some() {
            self.end += read as u64;
            return Ok(Some(RawLine::Complete(&self.line)));
        }
        if (read as u64) < self.longest {
            return Ok(Some(RawLine::Torn(&self.line)));
        }
        self.line = Vec::new();
        let (rest, last) = skip_line(&mut self.from)?;
        if last != Some(b'\n') {
            return Ok(Some(RawLine::Torn(&[])));
        }
        self.end += read as u64 + rest;
        Ok(Some(RawLine::TooLong))
    }

    /// Returns where the last complete line ends.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}

/// Skips the rest of a line, and returns the number of skipped bytes and the last of them.
fn skip_line(from: &mut impl BufRead) -> io::Result<(u64, Option<u8>)> {
    let (mut skipped, mut last) = (0, None);
    while last != Some(b'\n') {
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        let until = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        last = Some(bytes[until - 1]);
        from.consume(until);
        skipped += until as u64;
    }
    Ok((skipped, last))
}

/// Returns the usage of all models of a session in its log; `None` if no model has answered.
#[must_use]
pub fn used_in(lines: &[SessionLine]) -> Option<Usage> {
    lines.iter().filter_map(|line| line.entry.usage()).reduce(|one, other| one + other)
}

/// Returns the entries of the session log at `path` in their order. Lines that cannot be read, and a
/// last one that is not whole, are left out.
///
/// # Errors
/// The file does not exist or cannot be read.
pub fn read_session(path: &Path) -> io::Result<Vec<SessionLine>> {
    settle_for(path);
    let mut scan = LogLines::new(File::open(path)?);
    let mut lines = Vec::new();
    while let Some(found) = scan.next()? {
        if let RawLine::Complete(bytes) | RawLine::Torn(bytes) = found
            && let Ok(envelope) = parse_envelope(clean(bytes))
            && let Ok(fields) = serde_json::from_slice(clean(bytes))
            && let Ok(entry) = parse_entry(fields)
        {
            let Envelope { id, parent, at, label: _ } = envelope;
            let timestamp = at.unwrap_or_else(|| Timestamp::from_millisecond(0));
            lines.push(SessionLine { id, parent, timestamp, entry });
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str, longest: u64) -> (Vec<String>, u64) {
        let mut scan = LogLines { longest, ..LogLines::new(text.as_bytes()) };
        let mut lines = Vec::new();
        while let Some(found) = scan.next().unwrap() {
            lines.push(match found {
                RawLine::Complete(line) => String::from_utf8(line.to_vec()).unwrap(),
                RawLine::TooLong => "TooLong".to_owned(),
                RawLine::Torn(line) => format!("Torn {}", String::from_utf8_lossy(line)),
            });
        }
        (lines, scan.end())
    }

    fn expected(lines: &[&str], end: u64) -> (Vec<String>, u64) {
        (lines.iter().map(|line| (*line).to_owned()).collect(), end)
    }

    #[test]
    fn a_last_line_without_an_end_is_told() {
        assert_eq!(scanned("", 100), expected(&[], 0));
        assert_eq!(scanned("a\n\nb\n", 100), expected(&["a", "", "b"], 5));
        assert_eq!(scanned("a\nb", 100), expected(&["a", "Torn b"], 2));
    }

    #[test]
    fn a_line_longer_than_any_is_skipped_and_not_kept_in_memory() {
        let long = "x".repeat(20_000);
        assert_eq!(
            scanned(&format!("a\n{long}\nb\n"), 8),
            expected(&["a", "TooLong", "b"], 20_005)
        );
        assert_eq!(scanned(&format!("a\n{long}"), 8), expected(&["a", "Torn "], 2));
        assert_eq!(scanned("1234567\n12345678\n", 8), expected(&["1234567", "TooLong"], 17));
    }
}
