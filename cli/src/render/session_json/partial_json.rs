//! Reads the beginning of a JSON text: what has come of the arguments of a tool call.

use serde_json::{Map, Value};

/// How deep values may be nested. What is deeper is left out.
const MAX_DEPTH: usize = 128;

/// Returns the value of which `text` is the beginning. What is incomplete is completed or left out.
pub(super) fn partial_object(text: &str) -> Map<String, Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(whole)) => whole,
        Ok(_other) => Map::new(),
        Err(_incomplete) => {
            let mut reader = Reader { text, at: 0 };
            match reader.value(0) {
                Some(Value::Object(object)) => object,
                Some(_) | None => Map::new(),
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// Reads a value. Returns `None` if nothing of it can be used.
    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.peek()? {
            b'{' if depth < MAX_DEPTH => Some(Value::Object(self.object(depth + 1))),
            b'[' if depth < MAX_DEPTH => Some(Value::Array(self.array(depth + 1))),
            b'"' => self.string().map(|(text, _whole)| Value::String(text)),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut object = Map::new();
        self.at += 1;
        while let Some(b'"') = self.peek() {
            let Some((key, Whole::Yes)) = self.string() else { break };
            if self.peek() != Some(b':') {
                break;
            }
            self.at += 1;
            let Some(value) = self.value(depth) else { break };
            object.insert(key, value);
            if !self.next_member() {
                break;
            }
        }
        if self.peek() == Some(b'}') {
            self.at += 1;
        }
        object
    }

    fn array(&mut self, depth: usize) -> Vec<Value> {
        let mut array = Vec::new();
        self.at += 1;
        while let Some(next) = self.peek()
            && next != b']'
            && let Some(value) = self.value(depth)
        {
            array.push(value);
            if !self.next_member() {
                break;
            }
        }
        if self.peek() == Some(b']') {
            self.at += 1;
        }
        array
    }

    /// Skips the comma after a member. Returns whether there was one.
    fn next_member(&mut self) -> bool {
        let is_comma = self.peek() == Some(b',');
        self.at += usize::from(is_comma);
        is_comma
    }

    /// Reads a string, which may end in the middle.
    fn string(&mut self) -> Option<(String, Whole)> {
        let begin = self.at;
        let bytes = self.text.as_bytes();
        let mut end = begin + 1;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => {
                    self.at = end + 1;
                    let text = serde_json::from_str(&self.text[begin..=end]).ok()?;
                    return Some((text, Whole::Yes));
                }
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.at = bytes.len();
        // An escape sequence may be cut: `\`, `\u12`, or the first half of a pair of surrogates.
        let rest = &self.text[begin..];
        let cuts = (0..=12).filter_map(|cut| rest.get(..rest.len().checked_sub(cut)?));
        let text = cuts
            .filter(|text| !text.is_empty())
            .find_map(|text| serde_json::from_str(&format!("{text}\"")).ok())?;
        Some((text, Whole::No))
    }

    /// Reads a number or a word. One that is cut is left out, unless it is a number.
    fn scalar(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        let cut = || serde_json::from_str(word.trim_end_matches(['.', 'e', 'E', '+', '-'])).ok();
        serde_json::from_str(word).ok().or_else(cut)
    }

    /// Returns the next byte that is not white space, without taking it.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }
}

/// Whether a string has its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_beginning_of_arguments_is_what_can_be_used_of_them() {
        let cases = [
            ("", json!({})),
            ("{", json!({})),
            ("{\"a", json!({})),
            ("{\"a\":", json!({})),
            ("{\"command\":\"echo too", json!({ "command": "echo too" })),
            ("{\"a\":\"x\\", json!({ "a": "x" })),
            ("{\"a\":\"x\\u00", json!({ "a": "x" })),
            ("{\"a\":\"\\ud83d\\ude0", json!({ "a": "" })),
            ("{\"a\":1,\"b\":[1,{\"c\":tr", json!({ "a": 1, "b": [1, {}] })),
            ("{\"a\":-1.5e", json!({ "a": -1.5 })),
            ("{\"a\": true , \"b\"", json!({ "a": true })),
            ("[1,2", json!({})),
            ("{nonsense", json!({})),
        ];
        for (text, expected) in cases {
            assert_eq!(Value::Object(partial_object(text)), expected, "{text}");
        }
    }

    #[test]
    fn every_beginning_of_arguments_is_read_without_a_panic_and_the_whole_is_whole() {
        let whole =
            json!({ "a\"ä": ["\u{1f600}\\n", { "b": null, "c": [-1.5e3, false] }], "d": {} });
        let text = whole.to_string();
        for (end, _) in text.char_indices() {
            partial_object(&text[..end]);
        }
        assert_eq!(Value::Object(partial_object(&text)), whole);
        partial_object(&"[".repeat(100_000));
        partial_object(&"{\"a\":".repeat(100_000));
    }
}
