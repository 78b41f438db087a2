//! Printable text, and how many columns it takes.

pub(super) use regatta::text::harmless;
pub use regatta::text::{escaped, one_line, printable_json, visible_line, visible_text};
use unicode_width::UnicodeWidthChar;

/// Returns the width of `text` in columns.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

/// Returns `text` cut to at most `room` columns, with `…` at the end if something is missing.
#[must_use]
pub fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for letter in text.chars() {
        if used + columns(letter) + 1 > room {
            break;
        }
        used += columns(letter);
        out.push(letter);
    }
    if room > 0 {
        out.push('…');
    }
    out
}

/// Returns `text` cut or padded to `room` columns.
pub fn fit(text: &str, room: usize) -> String {
    let mut out = cut(text, room);
    let missing = room.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_never_wider_than_its_room() {
        for text in
            ["plain text", "日本語のテキスト", "e\u{301}e\u{301}e\u{301}", "❤\u{fe0f}❤\u{fe0f}", ""]
        {
            for room in 0..20 {
                assert!(width(&cut(text, room)) <= room, "{text} in {room}");
                assert_eq!(width(&fit(text, room)), room, "{text} in {room}");
            }
        }
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("fits", 4), "fits");
    }
}
