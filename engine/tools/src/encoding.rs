//! The encoding of a text file: that of its byte order mark, else UTF-8 if it is that, else windows-1252.

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Windows1252,
}

impl TextEncoding {
    /// Returns the encoding that a byte order mark at the beginning of a file names.
    pub(crate) fn marked(beginning: &[u8]) -> Option<Self> {
        match beginning {
            [0xef, 0xbb, 0xbf, ..] => Some(Self::Utf8),
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            _ => None,
        }
    }

    /// Decodes a file. A mark stays in the text. `None` if encoding the text would not give the same bytes.
    pub(crate) fn decode(bytes: Vec<u8>) -> Option<(Self, String)> {
        let marked = Self::marked(&bytes);
        let encoding = match marked.unwrap_or(Self::Utf8) {
            Self::Utf8 => match String::from_utf8(bytes) {
                Ok(text) => return Some((Self::Utf8, text)),
                Err(_) if marked.is_some() => return None,
                Err(error) => {
                    let (text, _) = WINDOWS_1252.decode_without_bom_handling(error.as_bytes());
                    return Some((Self::Windows1252, text.into_owned()));
                }
            },
            wide => wide,
        };
        let decode = encoding.standard();
        let text = decode.decode_without_bom_handling_and_without_replacement(&bytes)?;
        Some((encoding, text.into_owned()))
    }

    /// Encodes a text. The error is a character that the encoding lacks.
    pub(crate) fn encode(self, text: String) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 => Ok(text.into_bytes()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Windows1252 => {
                let mut buffer = [0; 4];
                let mut lacks =
                    |letter: char| WINDOWS_1252.encode(letter.encode_utf8(&mut buffer)).2;
                let (bytes, _, has_lacking) = WINDOWS_1252.encode(&text);
                let lacking = text.chars().filter(|_| has_lacking).find(|letter| lacks(*letter));
                lacking.map_or_else(|| Ok(bytes.into_owned()), Err)
            }
        }
    }

    /// Returns a decoder of a file that is read in pieces, from its first byte.
    pub(crate) fn decoder(self) -> Decoder {
        self.standard().new_decoder_without_bom_handling()
    }

    /// Returns what is noted about a file in this encoding. Nothing is noted about UTF-8.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::Utf16Le => Some("The file is UTF-16 (little-endian), which edit keeps"),
            Self::Utf16Be => Some("The file is UTF-16 (big-endian), which edit keeps"),
            Self::Windows1252 => {
                Some("The file is not UTF-8; it is read as windows-1252, which edit keeps")
            }
        }
    }

    /// Returns the name of the encoding.
    pub(crate) fn name(self) -> &'static str {
        self.standard().name()
    }

    fn standard(self) -> &'static Encoding {
        match self {
            Self::Utf8 => UTF_8,
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Windows1252 => WINDOWS_1252,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_each_encoding_has_the_same_bytes_after_it_was_decoded_and_encoded() {
        let all: Vec<u8> = (1..=255).collect();
        let cases: [(&[u8], TextEncoding, &str); 7] = [
            ("é".as_bytes(), TextEncoding::Utf8, "é"),
            (b"\xef\xbb\xbfa", TextEncoding::Utf8, "\u{feff}a"),
            (b"\xff\xfea\0\xe9\0", TextEncoding::Utf16Le, "\u{feff}aé"),
            (b"\xfe\xff\0a\xd8\x3d\xde\0", TextEncoding::Utf16Be, "\u{feff}a😀"),
            (b"caf\xe9 \x80", TextEncoding::Windows1252, "café €"),
            (b"", TextEncoding::Utf8, ""),
            (&all[127..], TextEncoding::Windows1252, ""),
        ];
        for (bytes, encoding, text) in cases {
            let (found, decoded) = TextEncoding::decode(bytes.to_vec()).unwrap();
            assert_eq!(found, encoding, "{bytes:?}");
            assert!(text.is_empty() || decoded == text, "{decoded}");
            assert_eq!(encoding.encode(decoded).unwrap(), bytes);
        }
    }

    #[test]
    fn what_would_not_become_the_same_bytes_again_is_not_decoded() {
        for torn in [&b"\xff\xfea"[..], b"\xff\xfe\0\xd8a\0", b"\xef\xbb\xbf\xe9"] {
            assert_eq!(TextEncoding::decode(torn.to_vec()), None, "{torn:?}");
        }
        assert_eq!(TextEncoding::Windows1252.encode("a→b".to_owned()), Err('→'));
    }
}
