//! Plain punctuation for the typographic one, which models write as plain, and the other way round.

/// Returns the plain quote, dash or blank for a typographic one, and any other character as it is.
pub(crate) fn plain(letter: char) -> char {
    match letter {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
