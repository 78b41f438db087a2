//! Takes out of a command's output what is meant for a terminal and not for a reader.

/// Returns `text` without escape sequences and control characters. Of a line that was written over
/// and over again, as progress bars are, only what was written last is left.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut state = State::Text;
    let mut line = 0;
    let mut is_returned = false;
    for letter in text.chars() {
        let (next, shown) = state.step(letter);
        state = next;
        match shown {
            // What is there stays until something is written over it.
            Some('\r') => is_returned = true,
            Some('\n') => {
                out.push('\n');
                line = out.len();
                is_returned = false;
            }
            Some(other) => {
                if is_returned {
                    out.truncate(line);
                    is_returned = false;
                }
                out.push(other);
            }
            None => {}
        }
    }
    out
}

/// Where in an escape sequence (ECMA-48) we are. None goes over the end of a line.
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
    fn step(self, letter: char) -> (Self, Option<char>) {
        match (self, letter) {
            (_, '\n') => (Self::Text, Some('\n')),
            (_, '\u{1b}') => (Self::Escape, None),
            (Self::Command, '\u{7}' | '\u{9c}') => (Self::Text, None),
            (Self::Command, _) => (Self::Command, None),
            (_, '\u{9b}') | (Self::Escape, '[') => (Self::Control, None),
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (Self::Escape, ']' | 'P' | 'X' | '^' | '_') => (Self::Command, None),
            (Self::Escape, ' '..='/') => (Self::Escape, None),
            (Self::Control, ' '..='?') => (Self::Control, None),
            (Self::Escape | Self::Control, _) => (Self::Text, None),
            (Self::Text, '\t' | '\r') => (Self::Text, Some(letter)),
            (Self::Text, control) if control.is_control() => (Self::Text, None),
            (Self::Text, seen) => (Self::Text, Some(seen)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_titles_and_bells_are_taken_out() {
        assert_eq!(plain("\u{1b}[1;31merror\u{1b}[0m:\u{7} no\u{1b}(B\n\tx"), "error: no\n\tx");
        assert_eq!(plain("\u{1b}]0;title\u{7}a\u{9b}2Kb\0"), "ab");
    }

    #[test]
    fn a_sequence_without_an_end_takes_its_line_only() {
        assert_eq!(plain("a\u{1b}]0;never\nb"), "a\nb");
    }

    #[test]
    fn a_line_written_over_keeps_its_last_state_and_line_breaks_are_line_breaks() {
        assert_eq!(plain("10%\r50%\r100%\r\r\ndone\r\nwait\r"), "100%\ndone\nwait");
    }

    proptest! {
        #[test]
        fn whatever_comes_nothing_is_left_that_a_terminal_would_obey(text in ".{0,40}") {
            let left = plain(&text);
            let only_breaks = |letter: char| matches!(letter, '\n' | '\t');
            prop_assert!(!left.chars().any(|letter| letter.is_control() && !only_breaks(letter)));
        }
    }
}
