//! Takes some lines out of a file of any size, in bounded memory.

use std::fmt;

use crate::limits::{READ_BYTES, READ_COLUMNS};

/// How much of the beginning of a file tells whether it is text.
const PROBE: usize = 8 << 10;

/// How much of a file is read at once.
pub(super) const CHUNK: usize = 64 << 10;

/// Which lines.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The first, counted from 1.
    pub(super) offset: u64,
    /// How many at most.
    pub(super) limit: u64,
}

/// Lines of a file.
pub(super) struct Page {
    /// The lines, each after its number.
    pub(super) text: String,
    /// How many they are.
    pub(super) lines: u64,
    /// Why they end where they do.
    pub(super) ending: Ending,
    /// How many lines the file has.
    pub(super) total: Total,
    /// Whether a line is not whole.
    pub(super) is_long: bool,
    /// Whether there are bytes that are not UTF-8.
    pub(super) is_lossy: bool,
}

/// Why a page ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// So does the file.
    File,
    /// It has as many lines as it may have.
    Limit,
    /// It has as many bytes as it may have.
    Bytes,
}

/// How many lines a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Total {
    /// This many.
    Exactly(u64),
    /// It is too large to count them; these were counted.
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

/// Returns whether a file that begins so is no text.
pub(super) fn is_binary(beginning: &[u8]) -> bool {
    beginning[..beginning.len().min(PROBE)].contains(&0)
}

/// Takes lines out of a file, of which no more than about the first `deep` bytes are looked at.
pub(super) struct Pager {
    taker: Taker,
    scanned: u64,
    deep: u64,
}

impl Pager {
    /// Returns what takes the `wanted` lines.
    pub(super) fn new(wanted: Wanted, deep: u64) -> Self {
        Self { taker: Taker::new(wanted), scanned: 0, deep }
    }

    /// Takes the next bytes of the file; none where it ends. Returns the page when it is complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<Page> {
        if bytes.is_empty() {
            return Some(self.taker.end_of_file());
        }
        self.taker.take(bytes);
        self.scanned += bytes.len() as u64;
        (self.scanned >= self.deep).then(|| self.taker.too_deep())
    }
}

struct Taker {
    wanted: Wanted,
    /// The number of the line we are in.
    number: u64,
    /// As much of that line as is shown, if it is.
    line: Vec<u8>,
    /// Whether the line has any byte yet.
    is_begun: bool,
    page: Page,
    is_full: bool,
}

impl Taker {
    fn new(wanted: Wanted) -> Self {
        let page = Page {
            text: String::new(),
            lines: 0,
            ending: Ending::File,
            total: Total::Exactly(0),
            is_long: false,
            is_lossy: false,
        };
        Self { wanted, number: 1, line: Vec::new(), is_begun: false, page, is_full: false }
    }

    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = piece.ends_with(b"\n");
            if self.is_wanted() {
                // Enough to know that there is more than is shown.
                let room = (READ_COLUMNS + 2).saturating_sub(self.line.len());
                self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            self.is_begun = true;
            if is_whole {
                self.end_line();
            }
        }
    }

    fn is_wanted(&self) -> bool {
        !self.is_full && self.number >= self.wanted.offset
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            self.show_line();
        }
        self.line.clear();
        self.is_begun = false;
        self.number += 1;
    }

    fn show_line(&mut self) {
        if self.page.lines == self.wanted.limit {
            self.page.ending = Ending::Limit;
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
        let text = String::from_utf8_lossy(shown);
        let break_before = if self.page.lines == 0 { "" } else { "\n" };
        let written = format!("{break_before}{:>6}  {text}", self.number);
        if self.page.text.len() + written.len() > READ_BYTES {
            self.page.ending = Ending::Bytes;
            self.is_full = true;
            return;
        }
        self.page.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
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
        if self.page.ending == Ending::File {
            self.page.ending = Ending::Bytes;
        }
        self.page(Total::MoreThan(self.number - 1))
    }

    fn page(&mut self, total: Total) -> Page {
        Page { total, text: std::mem::take(&mut self.page.text), ..self.page }
    }
}

/// The first columns of a line, without the beginning of a character.
fn cut(line: &[u8]) -> &[u8] {
    let line = &line[..READ_COLUMNS];
    match std::str::from_utf8(line) {
        Err(error) if error.error_len().is_none() => &line[..error.valid_up_to()],
        Ok(_) | Err(_) => line,
    }
}
