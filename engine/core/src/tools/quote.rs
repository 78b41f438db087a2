//! Text of a model or of a file, quoted in a sentence.

/// How many characters are quoted.
const QUOTED: usize = 200;

/// Returns text of the model, or of a file, as something to quote in a sentence: printable, on one
/// line, bounded.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == QUOTED {
            out.push('…');
            break;
        }
        match letter {
            '\t' => out.push(' '),
            control if control.is_control() => out.extend(control.escape_default()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_stays_on_its_line_and_has_an_end() {
        assert_eq!(quote("a\tb\nc\u{1b}[m"), "a b\\nc\\u{1b}[m");
        assert_eq!(quote(&"x".repeat(500)).chars().count(), QUOTED + 1);
    }
}
