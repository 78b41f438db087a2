//! `models.json`, which may have comments: JSON for the parser of YAML, and where an error is.

use crate::mistake::Mistake;

/// Returns a text with comments as one that YAML has, with spaces in the place of comments and of tabs,
/// which no string of JSON contains: each line and each column stays what it is.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('"', _) => {
                plain.push('"');
                plain.push_str(&rest_of_string(&mut letters));
            }
            ('/', Some('/')) => while letters.next_if(|letter| *letter != '\n').is_some() {},
            ('/', Some('*')) => {
                letters.next();
                plain.push_str("  ");
                let mut before = ' ';
                for letter in letters.by_ref() {
                    plain.push(if letter == '\n' { '\n' } else { ' ' });
                    if (before, letter) == ('*', '/') {
                        break;
                    }
                    before = letter;
                }
            }
            ('\t', _) => plain.push(' '),
            _ => plain.push(letter),
        }
    }
    plain
}

/// Returns the provider in which an error is, or before it, as far as the text can be read.
pub(super) fn provider_at(text: &str, mistake: &Mistake) -> Option<String> {
    let number = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
    let (line, column) = (number(mistake.line), mistake.column.map_or(usize::MAX, number));
    let mut lines = text.split_inclusive('\n');
    let mut text: String = lines.by_ref().take(line.saturating_sub(1)).collect();
    text.extend(lines.next().unwrap_or_default().chars().take(column));
    let mut letters = text.chars().peekable();
    // The keys of the objects and lists that are open.
    let mut open: Vec<String> = Vec::new();
    let (mut last, mut provider) = (String::new(), None);
    while let Some(letter) = letters.next() {
        match letter {
            '"' => last = rest_of_string(&mut letters).trim_end_matches(['"', '\n']).to_owned(),
            '{' | '[' => {
                open.push(std::mem::take(&mut last));
                if let [_file, providers, name] = open.as_slice()
                    && providers == "providers"
                {
                    provider = Some(name.clone());
                }
            }
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    provider
}

/// Returns the rest of a string after its first quote, which ends with a quote or the line.
fn rest_of_string(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut rest = String::new();
    let mut escaped = false;
    for letter in letters.by_ref() {
        rest.push(if letter == '\t' { ' ' } else { letter });
        match letter {
            '"' if !escaped => break,
            '\n' => break,
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_removed_and_strings_and_lines_stay() {
        for (text, plain) in [
            ("{ // a \"b\"\n}", "{ \n}"),
            ("{\t\"a\": 1 } // end", "{ \"a\": 1 } "),
            ("{ /* a\n * b **/ \"c\": /**/ 1 }", "{     \n         \"c\":      1 }"),
            ("\"http://h/*x*/\"", "\"http://h/*x*/\""),
            ("\"a\\\"//\" // b", "\"a\\\"//\" "),
            ("\"a\\\\\" // b", "\"a\\\\\" "),
            ("a / b", "a / b"),
            ("/* endless", "          "),
        ] {
            assert_eq!(without_comments(text), plain, "{text}");
        }
    }
}
