//! The attribute `working-tree-encoding`: texts that are UTF-16 or UTF-32 in the working tree, and UTF-8
//! in git. What git refuses to convert is not converted here either.

use std::char::decode_utf16;

/// U+FEFF, which says at the beginning of a text how its bytes are ordered.
const MARK: char = '\u{feff}';

/// An encoding that the attribute can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    width: Width,
    marks: Marks,
}

/// How many bytes a unit of a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Two,
    Four,
}

/// Whether the byte order is in the text, or in the name of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    /// A text begins with a mark.
    Required,
    /// A text may have a mark, and new ones get that of little-endian texts.
    Little,
    /// A text has no mark, and this order.
    None(ByteOrder),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

/// What else than its characters makes the bytes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    order: ByteOrder,
    has_mark: bool,
}

impl Encoding {
    /// Returns the encoding with this name, as git spells it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (width, marks) = match after_utf(name)?.to_ascii_lowercase().as_str() {
            "16" => (Width::Two, Marks::Required),
            "16le-bom" => (Width::Two, Marks::Little),
            "16le" => (Width::Two, Marks::None(ByteOrder::Little)),
            "16be" => (Width::Two, Marks::None(ByteOrder::Big)),
            "32" => (Width::Four, Marks::Required),
            "32le" => (Width::Four, Marks::None(ByteOrder::Little)),
            "32be" => (Width::Four, Marks::None(ByteOrder::Big)),
            _ => return None,
        };
        Some(Self { width, marks })
    }

    /// Returns whether each text in it begins with a mark.
    pub(crate) fn wants_mark(self) -> bool {
        self.marks == Marks::Required
    }

    /// Returns whether this is the name of the encoding in which git has texts anyway.
    pub(crate) fn is_of_git(name: &str) -> bool {
        after_utf(name) == Some("8")
    }

    /// Returns the form of a text that git writes on this machine.
    pub(crate) fn usual_form(self) -> Form {
        let native = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
        match self.marks {
            Marks::Required => Form { order: native, has_mark: true },
            Marks::Little => Form { order: ByteOrder::Little, has_mark: true },
            Marks::None(order) => Form { order, has_mark: false },
        }
    }

    /// Returns a text in UTF-8, and the form that it had; `None` if it is not in this encoding.
    pub(crate) fn decode(self, bytes: &[u8]) -> Option<(Vec<u8>, Form)> {
        if bytes.is_empty() {
            return Some((Vec::new(), self.usual_form()));
        }
        let marked = [ByteOrder::Little, ByteOrder::Big].into_iter().find_map(|order| {
            Some((order, bytes.strip_prefix(self.unit(order, MARK).as_slice())?))
        });
        let (order, rest, has_mark) = match (self.marks, marked) {
            (Marks::Required | Marks::Little, Some((order, rest))) => (order, rest, true),
            (Marks::Little, None) => (ByteOrder::Little, bytes, false),
            (Marks::None(order), None) => (order, bytes, false),
            (Marks::Required, None) | (Marks::None(_), Some(_)) => return None,
        };
        let text = self.characters(rest, order)?;
        Some((text.into_bytes(), Form { order, has_mark }))
    }

    /// Returns a text that is in UTF-8 in this encoding and form; `None` if it is not in UTF-8.
    pub(crate) fn encode(self, text: &[u8], form: Form) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(text).ok()?;
        let mark = Some(MARK).filter(|_| form.has_mark && !text.is_empty());
        let characters = mark.into_iter().chain(text.chars());
        Some(characters.flat_map(|character| self.unit(form.order, character)).collect())
    }

    fn characters(self, bytes: &[u8], order: ByteOrder) -> Option<String> {
        match self.width {
            Width::Two => {
                let (units, []) = bytes.as_chunks::<2>() else { return None };
                let unit = |bytes: &[u8; 2]| match order {
                    ByteOrder::Little => u16::from_le_bytes(*bytes),
                    ByteOrder::Big => u16::from_be_bytes(*bytes),
                };
                decode_utf16(units.iter().map(unit)).collect::<Result<_, _>>().ok()
            }
            Width::Four => {
                let (units, []) = bytes.as_chunks::<4>() else { return None };
                let unit = |bytes: &[u8; 4]| match order {
                    ByteOrder::Little => u32::from_le_bytes(*bytes),
                    ByteOrder::Big => u32::from_be_bytes(*bytes),
                };
                units.iter().map(|bytes| char::from_u32(unit(bytes))).collect()
            }
        }
    }

    /// Returns the bytes of one character.
    fn unit(self, order: ByteOrder, character: char) -> Vec<u8> {
        match self.width {
            Width::Two => {
                let mut pair = [0; 2];
                let units = character.encode_utf16(&mut pair).iter();
                let bytes = units.flat_map(|unit| match order {
                    ByteOrder::Little => unit.to_le_bytes(),
                    ByteOrder::Big => unit.to_be_bytes(),
                });
                bytes.collect()
            }
            Width::Four => match order {
                ByteOrder::Little => u32::from(character).to_le_bytes().to_vec(),
                ByteOrder::Big => u32::from(character).to_be_bytes().to_vec(),
            },
        }
    }
}

/// Returns whether bytes are a text as git has it: UTF-8, and no other encoding, in which line breaks have
/// NULs.
pub(crate) fn is_git_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// Returns what follows `UTF` or `UTF-` in a name.
fn after_utf(name: &str) -> Option<&str> {
    let rest = name.get(..3).filter(|utf| utf.eq_ignore_ascii_case("utf")).map(|_| &name[3..])?;
    Some(rest.strip_prefix('-').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;

    const TEXT: &str = "one\nzwei \u{e4}\n\u{4e09} \u{1f600}\n";

    #[test]
    fn git_has_the_same_text_in_the_same_bytes_by_every_name() {
        let names = [
            "UTF-16",
            "utf16",
            "UTF-16LE",
            "UTF-16BE",
            "UTF-16LE-BOM",
            "UTF-32",
            "utf-32le",
            "UTF-32BE",
        ];
        let sample = Sample::empty();
        for name in names {
            let encoding = Encoding::named(name).unwrap();
            let bytes = encoding.encode(TEXT.as_bytes(), encoding.usual_form()).unwrap();
            sample.write(".gitattributes", format!("*.txt working-tree-encoding={name}\n"));
            sample.write("a.txt", &bytes);
            sample.git(&["add", "-A"]);
            assert_eq!(sample.git(&["cat-file", "blob", ":a.txt"]), TEXT, "{name}");
            std::fs::remove_file(sample.root.join("a.txt")).unwrap();
            sample.git(&["checkout", "--", "a.txt"]);
            assert_eq!(std::fs::read(sample.root.join("a.txt")).unwrap(), bytes, "{name}");
            let decoded = (TEXT.as_bytes().to_vec(), encoding.usual_form());
            assert_eq!(encoding.decode(&bytes), Some(decoded), "{name}");
        }
        for other in ["UTF-16BE-BOM", "UTF-7", "SHIFT-JIS", "UTF", "", "\u{e4}\u{e4}"] {
            assert_eq!(Encoding::named(other), None, "{other:?}");
        }
        assert!(Encoding::is_of_git("utf8") && Encoding::is_of_git("UTF-8"));
    }

    #[test]
    fn the_order_and_the_mark_of_a_text_stay_and_what_git_refuses_is_no_text() {
        let [either, little, with_mark] =
            ["UTF-16", "UTF-16LE", "UTF-16LE-BOM"].map(|name| Encoding::named(name).unwrap());
        for (encoding, bytes) in [
            (either, &b"\xfe\xff\0a\0\n"[..]),
            (either, b"\xff\xfea\0\n\0"),
            (with_mark, b"\xff\xfea\0\n\0"),
            (with_mark, b"a\0\n\0"),
            (little, b"a\0\n\0"),
        ] {
            let (text, form) = encoding.decode(bytes).unwrap();
            assert_eq!(text, b"a\n");
            assert_eq!(encoding.encode(&text, form).as_deref(), Some(bytes));
        }
        for (encoding, bytes) in [
            (either, &b"a\0"[..]),
            (little, b"\xff\xfea\0"),
            (little, b"\xfe\xff\0a"),
            (little, b"a"),
            (little, b"\0\xd8a\0"),
            (Encoding::named("UTF-32LE").unwrap(), b"\0\0\0\x7f"),
        ] {
            assert_eq!(encoding.decode(bytes), None, "{bytes:?}");
        }
        assert_eq!(either.encode(b"\xff", either.usual_form()), None);
        assert_eq!(either.encode(b"", either.usual_form()), Some(Vec::new()));
    }
}
