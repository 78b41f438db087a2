//! Makes untrusted text printable: removes or replaces characters that would control the terminal.

use protocol::is_unseen;

/// Returns `text` as one printable line: escape sequences are removed, other control characters
/// become symbols such as `␊`, and characters that reorder or hide text become `�`.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => skip_sequence(&mut letters, &mut out),
            '\t' => out.push(' '),
            joiner if is_joiner(joiner) => {}
            other => out.push(harmless(other)),
        }
    }
    out
}

/// Returns a line as [`one_line`] does, but keeps its tabs.
#[must_use]
pub fn visible_line(line: &str) -> String {
    let parts = line.trim_end_matches(['\n', '\r']).split('\t').map(one_line);
    parts.collect::<Vec<_>>().join("\t")
}

/// Returns `text` with each of its lines as [`visible_line`] does.
#[must_use]
pub fn visible_text(text: &str) -> String {
    text.split('\n').map(visible_line).collect::<Vec<_>>().join("\n")
}

/// Returns `text` as one line, with an escape such as `\n` or `\u{1b}` for every character that
/// would control the terminal. Messages that quote a name exactly use this function.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if harmless(letter) == letter || is_joiner(letter) {
            out.push(letter);
        } else {
            out.extend(letter.escape_default());
        }
    }
    out
}

/// Returns JSON with an escape for each character that a terminal would obey or hide. In JSON such
/// characters are only inside of strings, so that the value is the same.
#[must_use]
pub fn printable_json(json: String) -> String {
    let is_odd = |letter: char| letter != '\n' && is_unseen(letter);
    if !json.contains(is_odd) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for letter in json.chars() {
        if is_odd(letter) {
            let mut units = [0; 2];
            let units = letter.encode_utf16(&mut units).iter();
            out.extend(units.map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(letter);
        }
    }
    out
}

/// Returns whether a character joins its neighbours or selects a variant of the one before it.
/// Terminals disagree on the width of such sequences.
fn is_joiner(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns a character, or its replacement if it would control the terminal.
pub fn harmless(letter: char) -> char {
    match letter {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        hidden if is_unseen(hidden) => '\u{fffd}',
        other => other,
    }
}

/// Skips the rest of an escape sequence after ESC.
fn skip_sequence(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    match letters.peek() {
        Some('[') => {
            letters.next();
            while letters.next_if(|letter| matches!(letter, '\u{20}'..='\u{3f}')).is_some() {}
            letters.next_if(|letter| matches!(letter, '\u{40}'..='\u{7e}'));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            letters.next();
            while let Some(letter) = letters.next() {
                if letter == '\u{7}' || letter == '\u{9c}' {
                    break;
                }
                if letter == '\u{1b}' {
                    letters.next_if_eq(&'\\');
                    break;
                }
            }
        }
        Some('(' | ')' | '#' | '%') => {
            letters.next();
            letters.next_if(|letter| !letter.is_control());
        }
        _ => out.push('\u{241b}'),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    #[test]
    fn json_keeps_its_value_and_has_nothing_that_a_terminal_obeys() {
        let value =
            serde_json::json!({ "a\u{9b}": ["\u{7f}\u{202e}\n", "\u{e0041} é 👩\u{200d}🚀"] });
        let json = printable_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(json.contains("\\u009b") && json.contains("\\udb40\\udc41"), "{json}");
        assert!(!json.contains(|letter| letter != '\n' && is_unseen(letter)), "{json:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let hostile =
            "a\u{1b}[31mred\u{1b}[0m\u{7}\u{9b}2J\u{202e}evil\u{1b}]0;title\u{7}b\r\nc\u{1b}";
        let safe = one_line(hostile);
        assert!(safe.chars().all(|letter| harmless(letter) == letter), "{safe:?}");
        assert_eq!(safe, "ared␇�2J�evilb␍␊c␛");
    }

    /// Pieces of texts that a terminal would obey, and of some that it prints.
    const PIECES: [&str; 30] = [
        "\u{1b}",
        "\u{9b}",
        "\u{7}",
        "\u{202e}",
        "\u{2066}",
        "\u{e0041}",
        "\u{200d}",
        "\u{90}",
        "\u{9d}",
        "\u{9c}",
        "\u{8}",
        "\u{7f}",
        "\0",
        "\r",
        "\n",
        "\t",
        "[2J",
        "[31m",
        "[?1049h",
        "[?25l",
        "]0;title",
        "]52;c;AAA",
        "(0",
        "P",
        "\\",
        "a",
        " ",
        "é",
        "日",
        "1;",
    ];

    #[test]
    fn random_texts_move_nothing_and_colour_nothing_on_a_terminal() {
        let mut seed = 11_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let (rows, columns) = (NonZeroU16::new(4).unwrap(), NonZeroU16::new(800).unwrap());
        for round in 0..test_limit::by_depth(500, 5_000) {
            let pieces = (0..random(24)).map(|_| PIECES[random(PIECES.len())]);
            let text: String = pieces.collect();
            for line in [one_line(&text), escaped(&text), visible_line(&text).replace('\t', " ")] {
                let unseen = line.chars().find(|letter| is_unseen(*letter) && !is_joiner(*letter));
                assert_eq!(unseen, None, "round {round}: {line:?}");
                let mut terminal = vt100::Parser::new(rows, columns, 0);
                terminal.process(b"begin ");
                terminal.process(line.as_bytes());
                let screen = terminal.screen();
                assert_eq!(screen.cursor_position().0, 0, "round {round}: {line:?}");
                let shown = screen.contents();
                assert!(shown.starts_with("begin"), "round {round}: {line:?} is {shown:?}");
                assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{line:?}");
                let color = screen.cell(0, 6).map(vt100::Cell::fgcolor);
                assert_eq!(color, Some(vt100::Color::Default), "round {round}: {line:?}");
                assert_eq!(screen.fgcolor(), vt100::Color::Default, "round {round}: {line:?}");
            }
            let json = printable_json(serde_json::to_string(&text).unwrap());
            assert!(!json.contains(is_unseen), "round {round}: {json:?}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn a_quoted_name_is_escaped_and_keeps_what_is_only_printed() {
        assert_eq!(escaped("a\u{1b}[2J\n\u{9b}\u{202e}ä"), "a\\u{1b}[2J\\n\\u{9b}\\u{202e}ä");
    }

    #[test]
    fn a_sequence_that_never_ends_takes_nothing_but_itself_along() {
        assert_eq!(one_line("x\u{1b}[12;"), "x");
        assert_eq!(one_line("x\u{1b}[12ä"), "xä");
        assert_eq!(one_line("x\u{1b}(By"), "xy");
        assert_eq!(one_line("\u{1b}P text \u{1b}\\after"), "after");
    }

    #[test]
    fn every_character_of_the_first_planes_is_harmless_or_replaced() {
        for letter in (0..0x3_0000).filter_map(char::from_u32) {
            let safe = one_line(&letter.to_string());
            assert!(!safe.chars().any(char::is_control), "{letter:?}");
        }
    }
}
