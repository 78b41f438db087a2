//! Control characters, invisible characters and escape sequences in text. Names, output and answers
//! may contain them, so that text is filtered before it is displayed.

/// Returns whether a character must not be printed: a control character, or an invisible one that
/// reorders, hides or imitates other text, such as Unicode direction controls, separators,
/// annotations and tags. The zero-width joiner and non-joiner are allowed, because scripts and
/// emoji need them.
#[must_use]
pub fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
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

/// A parser that removes terminal escape sequences (ECMA-48) from text, one character at a time.
#[derive(Clone, Debug, Default)]
pub struct Escapes {
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Text,
    /// After ESC and intermediate characters.
    Escape,
    /// In the parameters of a control sequence (CSI).
    Control,
    /// In a control string such as OSC or DCS, up to its terminator.
    Command,
}

impl Escapes {
    /// Processes the next character. Returns it if it is not part of an escape sequence; control
    /// characters outside of sequences are returned too. A sequence always ends at the end of its
    /// line, even if it is incomplete.
    pub fn step(&mut self, letter: char) -> Option<char> {
        let (next, text) = match (self.state, letter) {
            (_, '\n') => (State::Text, Some('\n')),
            (_, '\u{1b}') => (State::Escape, None),
            (State::Command, '\u{7}' | '\u{9c}') => (State::Text, None),
            (State::Command, _) => (State::Command, None),
            (_, '\u{9b}') | (State::Escape, '[') => (State::Control, None),
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (State::Escape, ']' | 'P' | 'X' | '^' | '_') => (State::Command, None),
            (State::Escape, ' '..='/') => (State::Escape, None),
            (State::Control, ' '..='?') => (State::Control, None),
            (State::Escape | State::Control, _) => (State::Text, None),
            (State::Text, text) => (State::Text, Some(text)),
        };
        self.state = next;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(all: &str) -> String {
        let mut escapes = Escapes::default();
        all.chars().filter_map(|letter| escapes.step(letter)).collect()
    }

    #[test]
    fn escape_sequences_are_no_text() {
        assert_eq!(text_of("\u{1b}[1;31merror\u{1b}[0m: no\u{1b}[2K\u{1b}(B"), "error: no");
        assert_eq!(text_of("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b\u{1b}P1;2|q\u{1b}\\c"), "abc");
        assert_eq!(text_of("\u{9b}31mred\u{9d}52;c;x\u{9c}!"), "red!");
    }

    #[test]
    fn a_sequence_without_an_end_takes_its_own_line_only() {
        assert_eq!(text_of("a\u{1b}]0;never\nb\u{1b}[12;\nc\u{1b}\nd"), "a\nb\nc\nd");
    }

    #[test]
    fn what_reorders_or_hides_is_unseen_and_what_spells_is_not() {
        assert!(
            "\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}\u{2028}\0\u{7f}\u{9b}"
                .chars()
                .all(is_unseen)
        );
        assert!(!"a é 日本 👩\u{200d}🚀".chars().any(is_unseen));
    }
}
