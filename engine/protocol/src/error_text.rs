//! Text for error messages: quoted text of unknown origin, and errors with their causes.

use crate::is_unseen;

/// The maximum number of characters that [`quote`] returns.
const QUOTED: usize = 200;

/// Returns text in a form to quote in a sentence, as [`quote_within`] does, of at most 200
/// characters.
#[must_use]
pub fn quote(text: &str) -> String {
    quote_within(text, QUOTED)
}

/// Returns the first `most` characters of `text` on one line: tabs become spaces, other characters
/// that must not be printed are escaped (`\n`, `\u{1b}`), and `…` shows that text is cut off.
#[must_use]
pub fn quote_within(text: &str, most: usize) -> String {
    let mut quoted = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == most {
            quoted.push('…');
            break;
        }
        match letter {
            '\t' => quoted.push(' '),
            unseen if is_unseen(unseen) => quoted.extend(unseen.escape_default()),
            other => quoted.push(other),
        }
    }
    quoted
}

/// Returns an error and its causes in one line: `cannot open x: No such file`. A cause that the text
/// before it already ends with is left out.
#[must_use]
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let cause = cause.to_string();
        if !line.ends_with(&cause) {
            line.push_str(": ");
            line.push_str(&cause);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_printable_on_one_line_and_bounded() {
        assert_eq!(quote("a\tb\nc\u{1b}[m\u{202e}"), "a b\\nc\\u{1b}[m\\u{202e}");
        assert_eq!(quote_within("äöü", 2), "äö…");
        assert_eq!(quote_within("äö", 2), "äö");
        assert_eq!(quote(&"x".repeat(500)).chars().count(), QUOTED + 1);
    }

    #[test]
    fn each_cause_is_in_the_chain_once() {
        #[derive(Debug)]
        struct Layer(&'static str, Option<Box<Layer>>);
        impl std::fmt::Display for Layer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }
        impl std::error::Error for Layer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                self.1.as_deref().map(|cause| cause as _)
            }
        }
        let layer = |text, cause: Option<Layer>| Layer(text, cause.map(Box::new));
        let root = || layer("no such file", None);
        assert_eq!(error_chain(&root()), "no such file");
        let open = layer("cannot open x", Some(root()));
        assert_eq!(
            error_chain(&layer("cannot start", Some(open))),
            "cannot start: cannot open x: no such file"
        );
        assert_eq!(
            error_chain(&layer("cannot open: no such file", Some(root()))),
            "cannot open: no such file"
        );
    }
}
