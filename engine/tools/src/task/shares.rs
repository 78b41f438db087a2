//! How texts of different lengths share room: short ones are whole, and long ones are cut at the same length.

use crate::display::head;

/// Returns the number of bytes above which texts of these lengths are cut, so that together they are at most
/// `room` long.
pub(super) fn share(lengths: impl IntoIterator<Item = usize>, room: usize) -> usize {
    let mut lengths: Vec<_> = lengths.into_iter().collect();
    lengths.sort_unstable();
    let (mut room, mut count) = (room, lengths.len());
    for length in lengths {
        // Those before were shorter than an even part, and are whole.
        if length.saturating_mul(count) > room {
            return room / count;
        }
        room -= length;
        count -= 1;
    }
    usize::MAX
}

/// Returns the beginning of a text: at most so many bytes, and whole lines if that loses less than half of it.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    let begun = head(text, bytes);
    match begun.rfind('\n') {
        Some(end) if begun.len() < text.len() && end > begun.len() / 2 => &begun[..end],
        _ => begun,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_texts_share_what_the_short_ones_leave() {
        for (lengths, room, expected) in [
            (&[][..], 10, usize::MAX),
            (&[3, 3, 4], 10, usize::MAX),
            (&[3, 100, 4], 11, 4),
            (&[100, 3, 100], 11, 4),
            (&[100, 100, 100], 2, 0),
            (&[1, 1], 0, 0),
        ] {
            let most = share(lengths.iter().copied(), room);
            assert_eq!(most, expected, "{lengths:?}");
            let all: usize = lengths.iter().map(|length| (*length).min(most)).sum();
            assert!(all <= room, "{lengths:?}");
        }
    }

    #[test]
    fn a_text_is_cut_between_lines_where_that_loses_little() {
        for (text, bytes, expected) in [
            ("ab\ncd", 9, "ab\ncd"),
            ("abcd\nef", 6, "abcd"),
            ("a\nbcdefgh", 6, "a\nbcde"),
            ("ééé", 3, "é"),
            ("", 0, ""),
        ] {
            assert_eq!(beginning(text, bytes), expected, "{text} {bytes}");
        }
    }
}
