//! Makes texts of servers safe to show.

use protocol::is_unseen;

/// Returns a text on one line of at most `most` characters: without escape sequences and control characters, and
/// with white space collapsed.
pub(crate) fn line(text: &str, most: usize) -> String {
    let text = without_escapes(text);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(words.chars().filter(|letter| !is_unseen(*letter)), most)
}

/// Returns a text with its line breaks: without escape sequences and control characters, and at most `most`
/// characters of it.
pub(crate) fn block(text: &str, most: usize) -> String {
    let text = without_escapes(text);
    let kept = |letter: &char| matches!(letter, '\n' | '\t') || !is_unseen(*letter);
    cut(text.trim().chars().filter(kept), most)
}

/// Returns whether a name can be shown and sent as it is.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=256).contains(&name.len()) && !name.chars().any(is_unseen)
}

fn cut(letters: impl Iterator<Item = char>, most: usize) -> String {
    let mut shown = String::new();
    for (count, letter) in letters.enumerate() {
        if count == most {
            shown.push('…');
            break;
        }
        shown.push(letter);
    }
    shown
}

/// Returns a text without the escape sequences of terminals.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('[') => {
                let _last = letters.find(|letter| ('@'..='~').contains(letter));
            }
            Some(']') => {
                // It ends with BEL, or with ESC and a backslash.
                let last = letters.find(|letter| matches!(letter, '\u{7}' | '\u{1b}'));
                if last == Some('\u{1b}') {
                    let _backslash = letters.next_if_eq(&'\\');
                }
            }
            Some(_) | None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_server_has_no_escape_sequence_and_is_bounded() {
        let text = " a\u{1b}[31mred\u{1b}[0m\n\u{1b}]0;title\u{7}b\u{202e}c\u{1b}]8;;x\u{1b}\\d ";
        assert_eq!(line(text, 100), "ared bcd");
        assert_eq!(block(text, 100), "ared\nbcd");
        assert_eq!((line("äöü", 2), block("äöü", 3)), ("äö…".to_owned(), "äöü".to_owned()));
        assert_eq!((line("", 2), line("\u{1b}[", 2)), (String::new(), String::new()));
        assert!(is_name("read.file-2") && is_name("liés"));
        assert!(!is_name("") && !is_name("a\u{1b}[31m") && !is_name(&"n".repeat(257)));
    }
}
