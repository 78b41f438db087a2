//! The text of output that was meant for a terminal: without escape sequences, control characters and
//! characters that cannot be seen.

use protocol::{Escapes, is_unseen};

/// Turns bytes into plain text, piece by piece. If a program overwrites a line, as a progress bar does, only
/// the last version of the line is kept.
#[derive(Debug, Default)]
pub(crate) struct PlainText {
    /// What has become text and was not taken.
    text: String,
    /// Where the last line of the text begins.
    line: usize,
    /// The beginning of a character whose end has not come.
    incomplete: Vec<u8>,
    escapes: Escapes,
    /// Whether the next character replaces the last line.
    is_returned: bool,
}

impl PlainText {
    /// Returns the plain text of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> String {
        let mut plain = Self::default();
        plain.push(bytes);
        plain.finish()
    }

    /// Adds the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut rest = std::mem::take(&mut self.incomplete);
        rest.extend_from_slice(bytes);
        for chunk in rest.utf8_chunks() {
            chunk.valid().chars().for_each(|letter| self.step(letter));
            let invalid = chunk.invalid();
            // What is invalid at the very end may be the beginning of a character.
            let is_last = std::ptr::eq(invalid.as_ptr_range().end, rest.as_ptr_range().end);
            if is_last
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none())
            {
                self.incomplete = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.step(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    fn step(&mut self, letter: char) {
        match self.escapes.step(letter) {
            // A carriage return alone keeps the line; the next character replaces it.
            Some('\r') => self.is_returned = true,
            Some('\n') => {
                self.text.push('\n');
                self.line = self.text.len();
                self.is_returned = false;
            }
            None => {}
            Some(unseen) if unseen != '\t' && is_unseen(unseen) => {}
            Some(letter) => {
                if std::mem::take(&mut self.is_returned) {
                    self.text.truncate(self.line);
                }
                self.text.push(letter);
            }
        }
    }

    /// Takes the lines that have ended. Of a line of more than `most` bytes, takes what has come.
    pub(crate) fn take_lines(&mut self, most: usize) -> String {
        let end = if self.text.len() - self.line > most { self.text.len() } else { self.line };
        let rest = self.text.split_off(end);
        self.line = 0;
        std::mem::replace(&mut self.text, rest)
    }

    /// Takes all that is left, at the end of the bytes.
    pub(crate) fn finish(&mut self) -> String {
        if !std::mem::take(&mut self.incomplete).is_empty() {
            self.step(char::REPLACEMENT_CHARACTER);
        }
        self.line = 0;
        std::mem::take(&mut self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_titles_bells_and_what_reorders_text_are_taken_out() {
        let of = |text: &str| PlainText::of(text.as_bytes());
        assert_eq!(of("\u{1b}[1;31merror\u{1b}[0m:\u{7} no\u{1b}(B\n\tx"), "error: no\n\tx");
        assert_eq!(of("\u{1b}]0;title\u{7}a\u{9b}2Kb\0"), "ab");
        assert_eq!(
            of("a\u{1b}]0;never\nb"),
            "a\nb",
            "a sequence without an end takes its line only"
        );
        assert_eq!(of("user\u{202e}gpj.exe\u{2066}x\u{200b}"), "usergpj.exex");
        assert_eq!(PlainText::of(b"a\xff\xe6\x97b\xe6\x97"), "a\u{fffd}\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_line_written_over_keeps_its_last_state_and_line_breaks_are_line_breaks() {
        let text = PlainText::of(b"10%\r50%\r100%\r\r\ndone\r\nwait\r");
        assert_eq!(text, "100%\ndone\nwait");
    }

    proptest! {
        #[test]
        fn whatever_comes_nothing_is_left_that_a_terminal_would_obey(text in ".{0,40}") {
            let left = PlainText::of(text.as_bytes());
            let only_breaks = |letter: char| matches!(letter, '\n' | '\t');
            prop_assert!(!left.chars().any(|letter| is_unseen(letter) && !only_breaks(letter)));
        }

        #[test]
        fn it_is_the_same_text_wherever_the_bytes_are_cut(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'\r'), Just(b'\n'), Just(0xe6), Just(0x97)],
                0..40,
            ),
            cut in 0_usize..40,
        ) {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let mut plain = PlainText::default();
            plain.push(first);
            let mut text = plain.take_lines(1_000);
            plain.push(second);
            text.push_str(&plain.finish());
            prop_assert_eq!(text, PlainText::of(&bytes));
        }
    }
}
