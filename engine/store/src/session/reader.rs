//! Reads a session log line by line, even while another process writes it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use engine::ports::LogDamage;
use protocol::{Timestamp, Usage};

use super::journal::settle_for;
use super::line::{Envelope, First, SessionLine, clean, parse_entry, parse_envelope, parse_first};

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
    read_damaged_session(path).map(|(lines, _damage)| lines)
}

/// Returns the entries as [`read_session`] does, and the lines that cannot be read.
///
/// # Errors
/// The file does not exist or cannot be read.
pub fn read_damaged_session(path: &Path) -> io::Result<(Vec<SessionLine>, Vec<LogDamage>)> {
    settle_for(path);
    let mut scan = LogLines::new(File::open(path)?);
    let (mut lines, mut damage, mut number) = (Vec::new(), Vec::new(), 0);
    while let Some(found) = scan.next()? {
        number += 1;
        let is_complete = !matches!(found, RawLine::Torn(_));
        let read = match found {
            RawLine::Complete(line) | RawLine::Torn(line)
                if lines.is_empty() && parse_first(line) != First::Other =>
            {
                Ok(None)
            }
            RawLine::Complete(line) | RawLine::Torn(line) => parse_line(line),
            RawLine::TooLong => Err(TOO_LONG.to_owned()),
        };
        match read {
            Ok(line) => lines.extend(line),
            Err(what) if is_complete => damage.push(LogDamage { line: number, what }),
            // Its writer may still be writing it.
            Err(_not_whole) => {}
        }
    }
    Ok((lines, damage))
}

/// What is wrong with a line that is longer than any.
pub(super) const TOO_LONG: &str = "it is too long";

/// What is wrong with a line of NULs.
pub(super) const NO_TEXT: &str = "it holds no text";

/// Parses the line of an entry; `None` if there is nothing in it.
fn parse_line(line: &[u8]) -> Result<Option<SessionLine>, String> {
    let cleaned = clean(line);
    if cleaned.is_empty() {
        return if is_blank(line) { Ok(None) } else { Err(NO_TEXT.to_owned()) };
    }
    let Envelope { id, parent, at, label: _ } = parse_envelope(cleaned)?;
    let fields = serde_json::from_slice(cleaned).map_err(|error| error.to_string())?;
    let timestamp = at.unwrap_or_else(|| Timestamp::from_millisecond(0));
    Ok(Some(SessionLine { id, parent, timestamp, entry: parse_entry(fields)? }))
}

/// Returns whether there is nothing in a line.
pub(super) fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"" | b"\r")
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
    fn damaged_lines_are_known_by_their_number_and_neither_a_header_nor_a_torn_line_is_one() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let entry = r#"{"type":"model_change","id":"1","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","model":"a/b"}"#;
        let header = r#"{"type":"session","version":3,"id":"old","cwd":"/a"}"#;
        let title = r#"{"type":"title","v":1,"title":"x"}"#;
        let text =
            format!("{title}\n{header}\n\n{entry}\n\0\0\n{{\"type\":\n{entry}\r\n{header}\n{{\"ty");
        std::fs::write(place.path(), text).unwrap();
        let (lines, damage) = read_damaged_session(place.path()).unwrap();
        assert_eq!(lines.len(), 2);
        let found: Vec<_> = damage.iter().map(|it| (it.line, it.what.as_str())).collect();
        let (json, header) = (found[1].1, "it belongs to the beginning of a file");
        assert_eq!(found, [(5, NO_TEXT), (6, json), (8, header)]);
        assert!(json.starts_with("EOF while parsing"), "{json}");
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
