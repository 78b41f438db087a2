//! How far a JSON text has come that arrives in pieces. Each byte is looked at once.

/// What is open of a text.
#[derive(Debug, Default)]
pub(super) struct JsonScanner {
    within: Within,
    /// How many lists and objects are open.
    depth: usize,
    /// Whether one ever was.
    is_begun: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Values,
    Text,
    Escape,
}

impl JsonScanner {
    /// Takes the next piece.
    pub(super) fn take(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match (self.within, byte) {
                (Within::Escape, _) | (Within::Values, b'"') => self.within = Within::Text,
                (Within::Text, b'\\') => self.within = Within::Escape,
                (Within::Text, b'"') => self.within = Within::Values,
                (Within::Values, b'{' | b'[') => {
                    self.depth = self.depth.saturating_add(1);
                    self.is_begun = true;
                }
                (Within::Values, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
                (Within::Values | Within::Text, _) => {}
            }
        }
    }

    /// Returns whether all that was opened is closed. Only then can the text be a whole object.
    pub(super) fn is_closed(&self) -> bool {
        self.is_begun && self.depth == 0 && self.within == Within::Values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_is_closed_and_no_beginning_of_it_is() {
        let text = r#"{"a\\":"}\"]","b":[{},{"c":"ä"}]}"#;
        let mut scanner = JsonScanner::default();
        for (at, letter) in text.char_indices() {
            assert!(!scanner.is_closed(), "{}", &text[..at]);
            scanner.take(letter.encode_utf8(&mut [0; 4]));
        }
        assert!(scanner.is_closed());
    }
}
