//! Reads one word of a script: removes its quotes, and tells whether it is literal.

use std::iter::Peekable;
use std::str::Chars;

use engine::ports::ShellWord;

/// Returns the word that a shell makes of `raw`, as it stands in a script.
pub(crate) fn word(raw: &str) -> ShellWord {
    match unquoted(raw) {
        Some(text) => ShellWord::Literal(text),
        None => ShellWord::Computed(raw.to_owned()),
    }
}

/// Returns the text of a word, or nothing if the shell computes it.
fn unquoted(raw: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = raw.chars().peekable();
    if raw.starts_with('~') {
        return None;
    }
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => loop {
                match letters.next()? {
                    '\'' => break,
                    other => text.push(other),
                }
            },
            '"' => quoted(&mut letters, &mut text)?,
            '\\' => match letters.next()? {
                '\n' => {}
                other => text.push(other),
            },
            '$' if expands(&mut letters) => return None,
            '`' | '*' | '?' | '[' => return None,
            // Bash expands braces with a comma or a range in them, other shells do not.
            '{' if raw.contains(',') || raw.contains("..") => return None,
            // A word that is cut wrongly, or an operator in it, must not be taken for a literal.
            ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => return None,
            // After `=` and `:`, some shells expand a tilde, too.
            '=' | ':' if letters.peek() == Some(&'~') => return None,
            other => text.push(other),
        }
    }
    Some(text)
}

/// Reads the rest of a text in double quotes.
fn quoted(letters: &mut Peekable<Chars<'_>>, text: &mut String) -> Option<()> {
    loop {
        match letters.next()? {
            '"' => return Some(()),
            '`' => return None,
            '$' if expands(letters) => return None,
            '\\' => match letters.next()? {
                '\n' => {}
                special @ ('$' | '`' | '"' | '\\') => text.push(special),
                other => text.extend(['\\', other]),
            },
            other => text.push(other),
        }
    }
}

/// Returns whether a dollar sign before `letters` begins an expansion, or a kind of quotes that only some
/// shells know.
fn expands(letters: &mut Peekable<Chars<'_>>) -> bool {
    let begins = |next: &char| next.is_ascii_alphanumeric() || "_{([@*#?$!-'\"\\".contains(*next);
    letters.peek().is_some_and(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_removed_and_everything_that_a_shell_computes_is_computed() {
        for (raw, text) in [
            ("rm", "rm"),
            (r"r\m", "rm"),
            ("r''m", "rm"),
            ("'r'\"m\"", "rm"),
            ("r\\\nm", "rm"),
            ("'a b'", "a b"),
            (r#""a \"b\" \$c \d""#, r#"a "b" $c \d"#),
            ("'$(x)'", "$(x)"),
            ("a$", "a$"),
            ("100%", "100%"),
            (r"\*", "*"),
            ("'*'", "*"),
            ("a~b", "a~b"),
            ("--a=b", "--a=b"),
            ("{}", "{}"),
            ("a@{0}", "a@{0}"),
        ] {
            assert_eq!(word(raw), ShellWord::Literal(text.to_owned()), "{raw}");
        }
        for raw in [
            "$a", "${a}", "\"$a\"", "a$(b)", "`b`", "\"`b`\"", "*", "a?", "[ab]", "{a,b}",
            "{1..3}", "~", "~/a", "$'a'", "$\"a\"", "'a", "\"a", "a\\", "a b", "$1", "$?", "$IFS",
            "$((1))", "a;b", "--a=~/b",
        ] {
            assert_eq!(word(raw), ShellWord::Computed(raw.to_owned()), "{raw}");
        }
    }
}
