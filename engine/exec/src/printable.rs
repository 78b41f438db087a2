//! Makes a line of a command's output safe to show on a terminal.

use protocol::{Escapes, is_unseen};

/// How many bytes of a line are shown.
pub(crate) const LINE_LIMIT: usize = 4 << 10;

/// Returns `line` without what would move a cursor, colour, hide or reorder text, or speak to the
/// terminal. Bytes that are not UTF-8 are shown as such.
pub(crate) fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown = String::with_capacity(text.len().min(LINE_LIMIT));
    let mut escapes = Escapes::default();
    let seen = text.chars().filter_map(|letter| escapes.step(letter));
    let spaced = seen.map(|letter| if letter == '\t' { ' ' } else { letter });
    for letter in spaced.filter(|letter| !is_unseen(*letter)) {
        if shown.len() + letter.len_utf8() > LINE_LIMIT {
            break;
        }
        shown.push(letter);
    }
    shown.truncate(shown.trim_end().len());
    shown
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
