//! A text in which blanks do not count, and typographic punctuation is plain: finds pieces that differ
//! from the text in these only, and gives what replaces them the indentation of the text.

use std::collections::BTreeMap;

use crate::punctuation::plain;

/// A text without blanks, except line ends and one between two words.
pub(super) struct Folded {
    pub(super) text: String,
    /// The offset in the original of the character to which each byte belongs.
    offsets: Vec<usize>,
}

impl Folded {
    pub(super) fn of(original: &str) -> Self {
        let (mut text, mut offsets) = (String::new(), Vec::new());
        let mut push = |letter: char, at: usize| {
            text.push(letter);
            offsets.resize(text.len(), at);
        };
        let (mut last, mut blank) = (None, None);
        for (at, letter) in original.char_indices() {
            if letter == '\n' {
                (last, blank) = (None, None);
                push('\n', at);
            } else if letter.is_whitespace() {
                blank = blank.or(Some(at));
            } else {
                if let Some(blank) = blank.take()
                    && last.is_some_and(is_word)
                    && is_word(letter)
                {
                    push(' ', blank);
                }
                last = Some(letter);
                push(plain(letter), at);
            }
        }
        Self { text, offsets }
    }

    /// Returns whether a piece that differs in more than its line ends from nothing is worth to be found.
    pub(super) fn has_letters(&self) -> bool {
        self.text.contains(|letter| letter != '\n')
    }

    /// Returns whether no word of the text is cut at either end of a place.
    pub(super) fn is_whole(&self, begin: usize, end: usize) -> bool {
        let inside = &self.text[begin..end];
        let (before, behind) =
            (self.text[..begin].chars().next_back(), self.text[end..].chars().next());
        let cuts = |one: Option<char>, other: Option<char>| {
            one.is_some_and(is_word) && other.is_some_and(is_word)
        };
        !cuts(before, inside.chars().next()) && !cuts(inside.chars().next_back(), behind)
    }

    /// Returns the place in the original of a place that is not empty.
    pub(super) fn place(&self, original: &str, begin: usize, end: usize) -> (usize, usize) {
        let last = self.offsets[end - 1];
        let length = original[last..].chars().next().map_or(0, char::len_utf8);
        (self.offsets[begin], last + length)
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Extends a place to the beginning of its line if only blanks are between.
pub(super) fn with_indentation(text: &str, begin: usize) -> (usize, LineStart) {
    let line = text[..begin].rfind('\n').map_or(0, |end| end + 1);
    match text[line..begin].trim().is_empty() {
        true => (line, LineStart::Yes),
        false => (begin, LineStart::No),
    }
}

/// Whether a place begins with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineStart {
    Yes,
    No,
}

/// Returns `new` with the indentation that the lines of `old` have `there`, line by line. `None` if lines
/// of `old` with one indentation have several there.
pub(super) fn indented(old: &str, there: &str, new: &str, start: LineStart) -> Option<String> {
    let skipped = match start {
        LineStart::Yes => 0,
        LineStart::No => 1,
    };
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for (old, there) in old.split('\n').zip(there.split('\n')).skip(skipped) {
        if old.trim().is_empty() {
            continue;
        }
        let (from, to) = (indentation(old), indentation(there));
        if known.insert(from, to).is_some_and(|before| before != to) {
            return None;
        }
    }
    let lines = new.split('\n').enumerate().map(|(number, line)| {
        if number < skipped || line.trim().is_empty() {
            return line.to_owned();
        }
        let indent = indentation(line);
        format!("{}{}", moved(&known, indent), &line[indent.len()..])
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the indentation for a line that has `indent` among lines whose indentations are `known`.
fn moved(known: &BTreeMap<&str, &str>, indent: &str) -> String {
    let deepest = known.iter().rev().find_map(|(from, to)| {
        let deeper = indent.strip_prefix(from)?;
        Some(format!("{to}{deeper}"))
    });
    let shallower = || {
        let (from, to) = known.first_key_value()?;
        match to.strip_suffix(from) {
            Some(added) => Some(format!("{added}{indent}")),
            None => Some(indent.strip_prefix(from.strip_suffix(to)?)?.to_owned()),
        }
    };
    deepest.or_else(shallower).unwrap_or_else(|| indent.to_owned())
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_count_between_words_only() {
        let folded = |text| Folded::of(text).text;
        assert_eq!(folded("  let  a =\t“b” ;\u{a0}\n\n\tx"), "let a=\"b\";\n\nx");
        assert_eq!(folded("return x\nreturnx"), "return x\nreturnx");
        assert!(!Folded::of(" \n\t\n").has_letters());
    }

    #[test]
    fn a_place_is_that_of_the_original_with_no_word_cut() {
        let text = "é  “x” foobar\n";
        let folded = Folded::of(text);
        let at = folded.text.find("\"x\"").unwrap();
        let (begin, end) = folded.place(text, at, at + 3);
        assert_eq!(&text[begin..end], "“x”");
        let at = folded.text.find("foo").unwrap();
        assert!(!folded.is_whole(at, at + 3));
        assert!(folded.is_whole(at, at + 6));
    }

    #[test]
    fn new_lines_get_the_indentation_of_the_lines_they_replace() {
        let cases = [
            // All of it is deeper in the file.
            (
                "if a {\n    b\n}",
                "  if a {\n      b\n  }",
                "if c {\n    d\n        e\n}",
                "  if c {\n      d\n          e\n  }",
            ),
            // It has tabs in the file.
            ("    a", "\ta", "    b\n\n    c", "\tb\n\n\tc"),
            // It is less deep in the file, and the new line less still.
            ("        a", "    a", "        b\n    c", "    b\nc"),
            ("    a", "        a", "    b\nc", "        b\n    c"),
        ];
        for (old, there, new, expected) in cases {
            let found = indented(old, there, new, LineStart::Yes);
            assert_eq!(found.as_deref(), Some(expected), "{old:?}");
        }
        let unclear = indented("a\nb", "  a\n    b", "c\nd", LineStart::Yes);
        assert_eq!(unclear, None, "how deep d is meant is not known");
        let behind = indented("x = (\n a", "x = (\n   a", "y = (\n b", LineStart::No);
        assert_eq!(behind.as_deref(), Some("y = (\n   b"));
    }
}
