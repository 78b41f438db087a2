//! Takes out of a command's output what is meant for a terminal and not for a reader.

use protocol::Escapes;

/// Returns `text` without escape sequences and control characters. Of a line that was written over
/// and over again, as progress bars are, only what was written last is left.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut escapes = Escapes::default();
    let mut line = 0;
    let mut is_returned = false;
    for letter in text.chars().filter_map(|letter| escapes.step(letter)) {
        match letter {
            // What is there stays until something is written over it.
            '\r' => is_returned = true,
            '\n' => {
                out.push('\n');
                line = out.len();
                is_returned = false;
            }
            control if control != '\t' && control.is_control() => {}
            other => {
                if is_returned {
                    out.truncate(line);
                    is_returned = false;
                }
                out.push(other);
            }
        }
    }
    out
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
