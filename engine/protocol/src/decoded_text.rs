//! Text as people's tools write it: with a byte order mark, in UTF-16, or with bytes of an older
//! encoding.

/// The byte order mark of UTF-8, which some editors write at the beginning of a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The characters of windows-1252 from 0x80 to 0x9f. The five bytes without one are the control
/// characters of Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// A text that was decoded from bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedText {
    /// The text, without a byte order mark.
    pub text: String,
    /// What of it is not text in the encoding of the rest.
    pub foreign: Option<ForeignBytes>,
}

/// How many bytes of a text are none in its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignBytes {
    /// They are not UTF-8, and were read as windows-1252.
    Windows1252(usize),
    /// They are not UTF-16, and were read as U+FFFD.
    BrokenUtf16(usize),
}

/// Bytes that are not UTF-8 where nothing else is a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is {what}")]
pub struct NotUtf8 {
    /// The line of the first such byte, from 1.
    pub line: u64,
    /// What it is.
    pub what: &'static str,
}

impl NotUtf8 {
    /// Returns the error for a text that is UTF-16; `None` for any other. Without a byte order mark, a text
    /// is that where nearly all characters are ASCII: as UTF-8 it would have NULs between them.
    #[must_use]
    pub fn utf16(bytes: &[u8]) -> Option<Self> {
        let what = match bytes {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                "UTF-16, and not UTF-8; `iconv -f UTF-16 -t UTF-8` converts it"
            }
            _ if is_ascii_of(bytes, u16::from_le_bytes) => {
                "UTF-16 without a byte order mark, and not UTF-8; `iconv -f UTF-16LE -t UTF-8` \
                 converts it"
            }
            _ if is_ascii_of(bytes, u16::from_be_bytes) => {
                "UTF-16 without a byte order mark, and not UTF-8; `iconv -f UTF-16BE -t UTF-8` \
                 converts it"
            }
            _ => return None,
        };
        Some(Self { line: 1, what })
    }
}

/// How many bytes of a text tell whether it is UTF-16 without a byte order mark.
const SAMPLE: usize = 4_096;

/// Returns whether nearly all characters of a text are ASCII if `unit` makes them of two bytes each.
fn is_ascii_of(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> bool {
    let (pairs, _cut) = bytes[..bytes.len().min(SAMPLE)].as_chunks::<2>();
    let units = || pairs.iter().map(|pair| unit(*pair));
    let ascii = units().filter(|unit| (1..0x80).contains(unit)).count();
    ascii >= 2 && ascii * 4 >= pairs.len() * 3 && units().all(|unit| unit != 0)
}

impl DecodedText {
    /// Decodes a text for a model: UTF-16 after its byte order mark, else UTF-8. What is not UTF-8 is
    /// windows-1252.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        match bytes.as_slice() {
            [0xff, 0xfe, rest @ ..] => Self::of_utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => Self::of_utf16(rest, u16::from_be_bytes),
            _ => match utf8_text(bytes) {
                Ok(text) => Self { text, foreign: None },
                Err((_, bytes)) => Self::of_mixed(without_bom(&bytes)),
            },
        }
    }

    fn of_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Self {
        let (pairs, cut) = bytes.as_chunks::<2>();
        let (mut text, mut foreign) = (String::with_capacity(bytes.len()), cut.len());
        for letter in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
            foreign += if letter.is_err() { 2 } else { 0 };
            text.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        text.extend(cut.iter().map(|_| char::REPLACEMENT_CHARACTER));
        Self { text, foreign: (foreign > 0).then_some(ForeignBytes::BrokenUtf16(foreign)) }
    }

    fn of_mixed(bytes: &[u8]) -> Self {
        let (mut text, mut foreign) = (String::with_capacity(bytes.len()), 0);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|byte| match byte {
                0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
                other => char::from(*other),
            }));
            foreign += chunk.invalid().len();
        }
        Self { text, foreign: (foreign > 0).then_some(ForeignBytes::Windows1252(foreign)) }
    }
}

/// Returns a text that has to be UTF-8, without a byte order mark; else the error and the bytes.
///
/// # Errors
/// It is not UTF-8.
pub fn utf8_text(mut bytes: Vec<u8>) -> Result<String, (NotUtf8, Vec<u8>)> {
    if bytes.starts_with(BOM) {
        bytes.drain(..BOM.len());
    }
    if let Some(error) = NotUtf8::utf16(&bytes) {
        return Err((error, bytes));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        (NotUtf8 { line, what: "not UTF-8" }, error.into_bytes())
    })
}

/// Returns bytes without the byte order mark at their beginning.
#[must_use]
pub fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_utf_8_or_utf_16_with_its_mark_and_other_bytes_are_windows_1252() {
        let long = [&b"\xff\xfe"[..], &[0x3d, 0xd8, 0x80, 0xde, 0x0a, 0, 0x61]].concat();
        let (windows, utf16) = (ForeignBytes::Windows1252, ForeignBytes::BrokenUtf16);
        for (bytes, text, foreign) in [
            (&b"a\r\n\xc3\xa4"[..], "a\r\nä", None),
            (b"\xef\xbb\xbfa\xef\xbb\xbf", "a\u{feff}", None),
            (b"\xef\xbb\xbf", "", None),
            (b"\xff\xfea\0\r\0\n\0\xe4\0", "a\r\nä", None),
            (b"\xfe\xff\0a\0\n", "a\n", None),
            (&long, "🚀\n\u{fffd}", Some(utf16(1))),
            (b"\xff\xfe\0\xd8", "\u{fffd}", Some(utf16(2))),
            (b"\xfe\xff\xdc\0\0a\xd8\0\0", "\u{fffd}a\u{fffd}\u{fffd}", Some(utf16(5))),
            (b"\xef\xbb\xbf\xc3\xa4 \xe4 \x80\x93\x81", "ä ä €“\u{81}", Some(windows(4))),
            (b"caf\xe9 \xf0\x9f", "café ðŸ", Some(windows(3))),
        ] {
            let decoded = DecodedText::of(bytes.to_vec());
            assert_eq!(decoded, DecodedText { text: text.to_owned(), foreign }, "{bytes:?}");
        }
    }

    #[test]
    fn where_only_utf_8_is_a_text_the_line_of_anything_else_is_known() {
        assert_eq!(utf8_text(b"\xef\xbb\xbfa\r\nb".to_vec()), Ok("a\r\nb".to_owned()));
        let converts = |mark: &str, name: &str| {
            format!("line 1 is UTF-16{mark}, and not UTF-8; `iconv -f {name} -t UTF-8` converts it")
        };
        let marked = converts("", "UTF-16");
        let unmarked = |end: &str| converts(" without a byte order mark", &format!("UTF-16{end}"));
        // NULs that end words, and other binary files.
        for bytes in [&b"abc\0de\0f\0"[..], b"one\0two\0", b"a\0\0\0b\0\0\0", b"\x7fELF\0\0", b""] {
            assert_eq!(NotUtf8::utf16(bytes), None, "{bytes:?}");
        }
        for (bytes, expected) in [
            (&b"\xff\xfea\0"[..], &*marked),
            (b"\xfe\xff\0a", &marked),
            (b"a\0\xe4\0b\0\n\0c\0", &unmarked("LE")),
            (b"\0a\0\r\0\n\x04\x30\0b", &unmarked("BE")),
            (b"a\nb\n\xe4", "line 3 is not UTF-8"),
            (b"\xef\xbb\xbf\n\xe4", "line 2 is not UTF-8"),
        ] {
            let (error, given) = utf8_text(bytes.to_vec()).unwrap_err();
            assert_eq!(error.to_string(), expected, "{bytes:?}");
            assert!(bytes.ends_with(&given));
        }
    }
}
