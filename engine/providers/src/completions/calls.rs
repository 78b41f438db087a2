//! Puts the calls of an answer together, which come in pieces.

use protocol::ToolCall;
use serde_json::{Map, Value};

use super::json_scanner::JsonScanner;

/// The most bytes of a name or an identity that are kept.
const LONGEST_NAME: usize = 256;

/// The most bytes that are kept of arguments that are no JSON object.
const LONGEST_MALFORMED: usize = 64 << 10;

/// How deep arguments may be nested. What reads them again, session logs for one, wraps them in
/// more, and reads nothing deeper than 128.
const DEEPEST: usize = 100;

/// A call of which some has come.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    scanner: JsonScanner,
    /// Whether the arguments are no JSON object, whatever follows.
    is_broken: bool,
}

impl Pending {
    /// Returns whether the arguments are whole. Asked with every piece, it reads them when they
    /// may be: servers that repeat the name in each piece would have them read a million times.
    fn is_complete(&mut self) -> bool {
        if self.name.is_empty() || self.is_broken || !self.scanner.is_closed() {
            return false;
        }
        let read = serde_json::from_str::<Map<String, Value>>(&self.arguments);
        self.is_broken = read.as_ref().is_err_and(|error| !error.is_eof());
        read.is_ok()
    }
}

/// What a piece of a call holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// No name.
    More,
    /// A name.
    Name,
    /// A name and arguments.
    Whole,
}

impl Content {
    fn of(name: &str, arguments: &str) -> Self {
        match (name.is_empty(), arguments.is_empty()) {
            (true, _) => Self::More,
            (false, true) => Self::Name,
            (false, false) => Self::Whole,
        }
    }
}

/// The calls of one answer.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pending: Vec<Pending>,
}

/// What a piece of a call brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Which call it belongs to.
    pub(crate) at: usize,
    /// The name, when it is now known.
    pub(crate) named: Option<String>,
    /// How many bytes it had.
    pub(crate) size: usize,
}

impl Calls {
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Forgets all calls after the first `most`.
    pub(crate) fn truncate(&mut self, most: usize) {
        self.pending.truncate(most);
    }

    /// Takes a piece of a call.
    pub(crate) fn take(&mut self, piece: &Value) -> Option<Taken> {
        let function = piece.get("function").unwrap_or(&Value::Null);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let index = piece.get("index").and_then(Value::as_u64);
        let id = text(piece.get("id")).unwrap_or_default();
        let name = text(function.get("name")).unwrap_or_default();
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            // Some servers send what they have parsed.
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        if index.is_none() && id.is_empty() && name.is_empty() && arguments.is_empty() {
            return None;
        }
        let at = self.find(index, cut(&id, LONGEST_NAME), Content::of(&name, &arguments));
        let call = &mut self.pending[at];
        if call.id.is_empty() {
            call.id = cut(&id, LONGEST_NAME).to_owned();
        }
        let named = (call.name.is_empty() && !name.is_empty()).then(|| {
            cut(&name, LONGEST_NAME).clone_into(&mut call.name);
            call.name.clone()
        });
        call.arguments.push_str(&arguments);
        call.scanner.take(&arguments);
        Some(Taken { at, named, size: id.len() + name.len() + arguments.len() })
    }

    /// Returns which call a piece belongs to, which may be a new one.
    fn find(&mut self, index: Option<u64>, id: &str, content: Content) -> usize {
        let same = |call: &Pending| call.id.is_empty() || id.is_empty() || call.id == id;
        let found = match index {
            // The latest of this index: servers that count badly give all the same one.
            Some(_) => {
                let latest = self.pending.iter().rposition(|call| call.index == index);
                latest.filter(|at| same(&self.pending[*at]))
            }
            None if !id.is_empty() => self.pending.iter().rposition(|call| call.id == id),
            None if content == Content::More => self.pending.len().checked_sub(1),
            None => None,
        };
        // What has a name and arguments, and comes when those are complete, is another call.
        let found =
            found.filter(|at| content != Content::Whole || !self.pending[*at].is_complete());
        found.unwrap_or_else(|| {
            self.pending.push(Pending { index, ..Pending::default() });
            self.pending.len() - 1
        })
    }

    /// Returns the calls. Telling those apart that have one identity is up to the session.
    pub(crate) fn into_calls(self) -> Vec<ToolCall> {
        self.pending.into_iter().map(whole).collect()
    }
}

fn whole(call: Pending) -> ToolCall {
    let name = if call.name.is_empty() { "unnamed".to_owned() } else { call.name };
    let (arguments, malformed) = arguments(&call.arguments);
    ToolCall { id: call.id, name, arguments, malformed }
}

/// Reads what a call is called with. No text at all is a call without arguments.
pub(crate) fn arguments(text: &str) -> (Map<String, Value>, Option<String>) {
    if text.trim().is_empty() {
        return (Map::new(), None);
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) if arguments.values().all(|it| is_within(it, DEEPEST)) => {
            (arguments, None)
        }
        Ok(_) | Err(_) => (Map::new(), Some(cut(text, LONGEST_MALFORMED).to_owned())),
    }
}

/// Returns whether what is nested in `value` is at most so deep.
fn is_within(value: &Value, deep: usize) -> bool {
    match value {
        Value::Array(values) => deep > 0 && values.iter().all(|it| is_within(it, deep - 1)),
        Value::Object(values) => deep > 0 && values.values().all(|it| is_within(it, deep - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Returns the beginning of `text`, at most `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.take(piece);
        }
        let shown = |call: ToolCall| {
            let arguments =
                call.malformed.unwrap_or_else(|| Value::Object(call.arguments).to_string());
            (call.id, call.name, arguments)
        };
        calls.into_calls().into_iter().map(shown).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn pieces_belong_together_by_index() {
        let pieces = [
            json!({ "index": 0, "id": "a", "function": { "name": "read", "arguments": "" } }),
            json!({ "index": 1, "id": "b", "function": { "name": "edit" } }),
            json!({ "index": 0, "function": { "arguments": "{\"x\":" } }),
            json!({ "index": 1, "function": { "arguments": "{}" } }),
            json!({ "index": 0, "id": "", "function": { "name": "read", "arguments": "1}" } }),
        ];
        assert_eq!(calls(&pieces), [call("a", "read", "{\"x\":1}"), call("b", "edit", "{}")]);
    }

    #[test]
    fn arguments_that_nobody_could_read_again_are_none() {
        let nested = |deep: usize| format!("{{\"a\":{}{}}}", "[".repeat(deep), "]".repeat(deep));
        assert_eq!(arguments(&nested(DEEPEST)).1, None);
        for deep in [DEEPEST + 1, 126, 10_000] {
            assert_eq!(arguments(&nested(deep)), (Map::new(), Some(nested(deep))), "{deep}");
        }
    }

    #[test]
    fn a_name_in_every_piece_is_no_reason_to_read_all_of_them_each_time() {
        let mut calls = Calls::default();
        let arguments = format!("{{\"content\":\"{}\"}}", "} ".repeat(500_000));
        let began = std::time::Instant::now();
        for piece in arguments.as_bytes().chunks(8) {
            let piece = std::str::from_utf8(piece).unwrap();
            calls.take(
                &json!({ "index": 0, "id": "a", "function": { "name": "w", "arguments": piece } }),
            );
        }
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
        let calls = calls.into_calls();
        assert_eq!((calls.len(), calls[0].malformed.is_none()), (1, true));
    }

    #[test]
    fn a_new_identity_begins_a_new_call_whatever_the_index() {
        let pieces = [
            json!({ "index": 0, "id": "a", "function": { "name": "read", "arguments": "{" } }),
            json!({ "index": 0, "function": { "arguments": "}" } }),
            json!({ "index": 0, "id": "b", "function": { "name": "read", "arguments": {} } }),
            json!({ "id": "b", "function": { "arguments": "" } }),
            json!({ "function": { "name": "last" } }),
            json!({ "function": { "arguments": "{\"y\":2}" } }),
        ];
        assert_eq!(
            calls(&pieces),
            [call("a", "read", "{}"), call("b", "read", "{}"), call("", "last", "{\"y\":2}")]
        );
    }

    #[test]
    fn two_calls_with_one_identity_or_index_stay_two_calls() {
        let function = json!({ "name": "x", "arguments": "{}" });
        let indexed = |index: u64| json!({ "index": index, "id": "a", "function": function });
        let two = [call("a", "x", "{}"), call("a", "x", "{}")];
        assert_eq!(calls(&[indexed(0), indexed(1)]), two);
        let whole = json!({ "id": "a", "function": function });
        assert_eq!(calls(&[whole.clone(), whole]), two);
        let nameless = json!({ "index": 0, "function": function });
        let two = [call("", "x", "{}"), call("", "x", "{}")];
        assert_eq!(calls(&[nameless.clone(), nameless]), two);
    }

    #[test]
    fn arguments_that_are_no_object_are_kept_as_they_came() {
        for text in ["{bad", "[1]", "\"text\"", "null", "{} {}"] {
            assert_eq!(arguments(text), (Map::new(), Some(text.to_owned())));
        }
        assert_eq!(arguments(" \n"), (Map::new(), None));
        let long = format!("{{{}", "ä".repeat(LONGEST_MALFORMED));
        let kept = arguments(&long).1.unwrap();
        assert!(kept.len() <= LONGEST_MALFORMED && long.starts_with(&kept));
    }
}
