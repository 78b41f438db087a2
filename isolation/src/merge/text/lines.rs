//! Splits versions of a text into lines, and gives equal lines equal numbers.

use std::collections::HashMap;

/// A version of a text: its lines, each with its line ending, and the number of each line.
pub(super) struct Lines<'a> {
    pub(super) texts: Vec<&'a [u8]>,
    pub(super) numbers: Vec<u32>,
}

/// Gives equal lines of several versions equal numbers.
#[derive(Default)]
pub(super) struct LineNumbers<'a> {
    known: HashMap<&'a [u8], u32>,
}

impl<'a> LineNumbers<'a> {
    /// Splits a version into lines.
    pub(super) fn lines(&mut self, text: &'a [u8]) -> Lines<'a> {
        let texts: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let numbers = texts.iter().map(|line| self.number(line)).collect();
        Lines { texts, numbers }
    }

    fn number(&mut self, line: &'a [u8]) -> u32 {
        let next = u32::try_from(self.known.len()).expect("a text has fewer than 2^32 lines");
        *self.known.entry(line).or_insert(next)
    }

    /// Returns the number of different lines.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }
}

impl Lines<'_> {
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns whether the line `at` ends with CR LF; `None` if the text does not tell.
    pub(super) fn ends_with_crlf(&self, at: usize) -> Option<bool> {
        let is_crlf = |line: &[u8]| line.ends_with(b"\r\n");
        if at + 1 < self.len() {
            return Some(is_crlf(self.texts[at]));
        }
        let last = self.texts.get(at)?;
        if last.ends_with(b"\n") {
            return Some(is_crlf(last));
        }
        // The last line has no ending: the one before it decides.
        at.checked_sub(1).map(|before| is_crlf(self.texts[before]))
    }
}
