//! Makes text of unknown origin printable on one line.

use protocol::is_unseen;

/// Returns the first `most` printable characters of `text`, with white space collapsed to single
/// spaces and `…` where text is cut off.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut blank = false;
    for letter in text.chars() {
        if letter.is_whitespace() {
            blank = count > 0;
            continue;
        }
        if is_unseen(letter) {
            continue;
        }
        if count + usize::from(blank) >= most {
            line.push('…');
            break;
        }
        if blank {
            line.push(' ');
            count += 1;
            blank = false;
        }
        line.push(letter);
        count += 1;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_printable_and_bounded() {
        assert_eq!(printable(" a\n\t b\u{1b}[31m\u{202e}c ", 100), "a b[31mc");
        assert_eq!(printable("äöü", 2), "äö…");
        assert_eq!(printable("ab cd", 3), "ab…");
        assert_eq!(printable("ab ", 2), "ab");
        assert_eq!(printable("", 2), "");
    }
}
