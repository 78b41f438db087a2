//! Makes text of unknown origin fit to be shown.

use protocol::is_unseen;

/// Returns the first `length` characters of `text`, with nothing in them that a terminal obeys or
/// that turns the direction of writing, and a mark where there was more.
pub(crate) fn shown(text: &str, length: usize) -> String {
    let mut shown = String::new();
    for letter in text.chars().take(length) {
        if is_unseen(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    if text.chars().nth(length).is_some() {
        shown.push('…');
    }
    shown
}
