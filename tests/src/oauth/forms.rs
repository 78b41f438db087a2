//! Forms and queries: `a=b&c=d`, with percent signs.

use std::collections::BTreeMap;

/// Returns the fields of a form or a query.
pub(super) fn fields(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).expect("two digits follow a percent sign")
            }
            other => other,
        });
    }
    String::from_utf8(bytes).expect("a form is text")
}

/// Returns bytes in base64 as URLs have it, without padding.
pub(super) fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..=three.len() {
            let index = bits >> (18 - 6 * letter) & 63;
            text.push(char::from(LETTERS[usize::try_from(index).expect("it is below 64")]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_and_bytes_are_written() {
        let read = fields("a=b+c&d=%2Fx%3D&e");
        let expected = [("a", "b c"), ("d", "/x="), ("e", "")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("\u{ff}\u{fe}", "w7_Dvg")]
        {
            assert_eq!(base64url(bytes.as_bytes()), text);
        }
    }
}
