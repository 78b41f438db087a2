//! Reads a range of lines from a file of any size, in bounded memory.

use std::borrow::Cow;
use std::fmt;

use crate::display::{READ_BYTES, READ_COLUMNS, visible};
use crate::encoding::TextEncoding;

/// How much of a file is read at once.
pub(super) const CHUNK: usize = 64 << 10;

/// A range of lines.
#[derive(Clone, Copy)]
pub(super) struct LineRange {
    /// The first line, counted from 1.
    pub(super) offset: u64,
    /// The maximum number of lines.
    pub(super) limit: u64,
}

/// The lines that were read.
pub(super) struct Page {
    /// The lines, each after its number.
    pub(super) text: String,
    /// The number of lines.
    pub(super) lines: u64,
    /// Why the page ends after the last line.
    pub(super) ending: PageEnd,
    /// The number of lines in the file.
    pub(super) total: Total,
    /// Whether a line was shortened.
    pub(super) is_long: bool,
    /// Whether there are bytes that are not in the encoding of the file.
    pub(super) is_lossy: bool,
    /// Whether there are characters that cannot be seen.
    pub(super) has_unseen: bool,
    /// The encoding of the file.
    pub(super) encoding: TextEncoding,
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageEnd {
    /// The file ends.
    File,
    /// The page has the maximum number of lines.
    Limit,
    /// The page has the maximum number of bytes.
    Bytes,
}

/// The number of lines in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Total {
    /// All lines were counted.
    Exactly(u64),
    /// The file is too large to count all lines; this many were counted.
    MoreThan(u64),
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(count) => write!(f, "{count}"),
            Self::MoreThan(count) => write!(f, "more than {count}"),
        }
    }
}

/// Collects a page from the bytes of a file, up to about the first `max_bytes` bytes.
pub(super) struct PageReader {
    lines: LineCollector,
    scanned: u64,
    max_bytes: u64,
}

impl PageReader {
    /// Returns a reader of the lines in `range`.
    pub(super) fn new(range: LineRange, max_bytes: u64) -> Self {
        Self { lines: LineCollector::new(range), scanned: 0, max_bytes }
    }

    /// Adds the next bytes of the file. Returns the page when no more of the file is searched.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<Page> {
        self.lines.push(bytes);
        self.scanned += bytes.len() as u64;
        (self.scanned >= self.max_bytes).then(|| self.lines.too_deep())
    }

    /// Returns the page at the end of the file.
    pub(super) fn finish(&mut self) -> Page {
        self.lines.end_of_file()
    }
}

/// Collects the lines of a page.
struct LineCollector {
    range: LineRange,
    /// The number of the current line.
    number: u64,
    /// The beginning of the current line; empty if the line is outside of the range.
    line: Vec<u8>,
    /// Whether any byte of the current line has been read.
    is_begun: bool,
    page: Page,
    is_full: bool,
}

impl LineCollector {
    fn new(range: LineRange) -> Self {
        let page = Page {
            text: String::new(),
            lines: 0,
            ending: PageEnd::File,
            total: Total::Exactly(0),
            is_long: false,
            is_lossy: false,
            has_unseen: false,
            encoding: TextEncoding::Utf8,
        };
        Self { range, number: 1, line: Vec::new(), is_begun: false, page, is_full: false }
    }

    fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if self.is_in_range() {
                // Two extra bytes suffice to detect that the line is longer than its shown part.
                let room = (READ_COLUMNS + 2).saturating_sub(self.line.len());
                self.line.extend_from_slice(&part[..part.len().min(room)]);
            }
            self.is_begun = true;
            if is_whole {
                self.end_line();
            }
        }
    }

    fn is_in_range(&self) -> bool {
        !self.is_full && self.number >= self.range.offset
    }

    fn end_line(&mut self) {
        if self.is_in_range() {
            self.add_line();
        }
        self.line.clear();
        self.is_begun = false;
        self.number += 1;
    }

    fn add_line(&mut self) {
        if self.page.lines == self.range.limit {
            self.page.ending = PageEnd::Limit;
            self.is_full = true;
            return;
        }
        let mut line = self.line.as_slice();
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        let is_long = line.len() > READ_COLUMNS;
        let shown = if is_long { cut(line) } else { line };
        let decoded = String::from_utf8_lossy(shown);
        let text = visible(&decoded);
        let break_before = if self.page.lines == 0 { "" } else { "\n" };
        let written = format!("{break_before}{:>6}  {text}", self.number);
        if self.page.text.len() + written.len() > READ_BYTES {
            self.page.ending = PageEnd::Bytes;
            self.is_full = true;
            return;
        }
        self.page.is_lossy |= matches!(decoded, Cow::Owned(_));
        self.page.has_unseen |= matches!(text, Cow::Owned(_));
        self.page.is_long |= is_long;
        self.page.text.push_str(&written);
        self.page.lines += 1;
    }

    fn end_of_file(&mut self) -> Page {
        if self.is_begun {
            self.end_line();
        }
        self.page(Total::Exactly(self.number - 1))
    }

    fn too_deep(&mut self) -> Page {
        if self.page.ending == PageEnd::File {
            self.page.ending = PageEnd::Bytes;
        }
        self.page(Total::MoreThan(self.number - 1))
    }

    fn page(&mut self, total: Total) -> Page {
        Page { total, text: std::mem::take(&mut self.page.text), ..self.page }
    }
}

/// Returns the first columns of a line, without an incomplete character at the end.
fn cut(line: &[u8]) -> &[u8] {
    let line = &line[..READ_COLUMNS];
    match std::str::from_utf8(line) {
        Err(error) if error.error_len().is_none() => &line[..error.valid_up_to()],
        Ok(_) | Err(_) => line,
    }
}
