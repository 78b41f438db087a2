//! Makes a line of a command's output safe to show on a terminal.

/// How many bytes of a line are shown.
pub(crate) const LINE_LIMIT: usize = 4 << 10;

/// Returns `line` without what would move a cursor, colour, hide or reorder text, or speak to the
/// terminal. Bytes that are not UTF-8 are shown as such.
pub(crate) fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown = String::with_capacity(text.len().min(LINE_LIMIT));
    let mut state = State::Text;
    for character in text.chars() {
        let (next, show) = state.step(character);
        state = next;
        if let Some(show) = show {
            if shown.len() + show.len_utf8() > LINE_LIMIT {
                break;
            }
            shown.push(show);
        }
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// Where in an escape sequence (ECMA-48) we are.
#[derive(Clone, Copy)]
enum State {
    Text,
    /// After ESC and any intermediate characters.
    Escape,
    /// Among the parameters of a control sequence.
    Control,
    /// In the text of a command to the terminal, which lasts until it is closed.
    Command,
}

impl State {
    fn step(self, character: char) -> (Self, Option<char>) {
        match (self, character) {
            (_, '\u{1b}') => (Self::Escape, None),
            (Self::Command, '\u{7}' | '\u{9c}') => (Self::Text, None),
            (Self::Command, _) => (Self::Command, None),
            (_, '\u{9b}') | (Self::Escape, '[') => (Self::Control, None),
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (Self::Escape, ']' | 'P' | 'X' | '^' | '_') => (Self::Command, None),
            (Self::Escape, ' '..='/') => (Self::Escape, None),
            (Self::Control, ' '..='?') => (Self::Control, None),
            (Self::Escape | Self::Control, _) => (Self::Text, None),
            (Self::Text, '\t') => (Self::Text, Some(' ')),
            (Self::Text, unseen) if is_unseen(unseen) => (Self::Text, None),
            (Self::Text, seen) => (Self::Text, Some(seen)),
        }
    }
}

/// Returns whether a character controls something, or is invisible and reorders or hides what
/// stands around it. The two joiners stay: scripts and emoji are spelled with them.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(printable("   Compiling café 日本 👩‍🚀".as_bytes()), "   Compiling café 日本 👩‍🚀");
    }

    #[test]
    fn escape_sequences_are_taken_out_whole() {
        assert_eq!(printable(b"\x1b[1;31merror\x1b[0m: no\x1b[2K\x1b(B"), "error: no");
        assert_eq!(printable(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1bP1;2|q\x1b\\c"), "abc");
        assert_eq!(printable("\u{9b}31mred\u{9d}52;c;x\u{9c}!".as_bytes()), "red!");
    }

    #[test]
    fn a_sequence_that_never_ends_swallows_the_rest_of_the_line_only() {
        assert_eq!(printable(b"a\x1b]0;no end"), "a");
        assert_eq!(printable(b"a\x1b"), "a");
        assert_eq!(printable(b"a\x1b[12;"), "a");
    }

    #[test]
    fn controls_and_marks_that_reorder_text_are_taken_out() {
        assert_eq!(printable(b"a\x00\x08b\x07\x7f\tc  \r\n"), "ab c");
        let hostile = "user\u{202e}gpj.exe\u{2066}x\u{2069}\u{200b}\u{feff}\u{e0041}\u{2028}";
        assert_eq!(printable(hostile.as_bytes()), "usergpj.exex");
    }

    #[test]
    fn bytes_that_are_not_text_are_shown_as_such() {
        assert_eq!(printable(b"a\xff\x9b31mb"), "a\u{fffd}\u{fffd}31mb");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let shown = printable("é".repeat(LINE_LIMIT).as_bytes());
        assert_eq!(shown, "é".repeat(LINE_LIMIT / 2));
    }

    #[test]
    fn no_sequence_of_bytes_leaves_a_control_character() {
        let interesting = [0x1b, b'[', b']', b'm', 0x07, b'\\', 0xc2, 0x9b, 0x9c, b'a', 0, b'P'];
        let mut line = Vec::new();
        for number in 0..20_000_usize {
            line.clear();
            let mut rest = number;
            while rest > 0 {
                line.push(interesting[rest % interesting.len()]);
                rest /= interesting.len();
            }
            let shown = printable(&line);
            assert!(!shown.chars().any(char::is_control), "{line:?} became {shown:?}");
        }
    }
}
