//! Assembles the tool calls of an answer, which arrive in fragments.

use protocol::ToolCall;
use serde_json::{Map, Value};

/// The maximum number of bytes that are kept of a name or an id.
const MAX_NAME: usize = 256;

/// The maximum number of bytes that are kept of arguments that are not a JSON object.
const MAX_MALFORMED: usize = 64 << 10;

/// How deep arguments may be nested. Session logs wrap them in further objects, and JSON nested
/// deeper than 128 cannot be read again.
const MAX_DEPTH: usize = 100;

/// A tool call whose fragments are still arriving.
#[derive(Debug, Default)]
pub(crate) struct PendingCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    scanner: JsonScanner,
    /// Whether the arguments cannot become a JSON object, whatever follows.
    is_broken: bool,
}

impl PendingCall {
    /// Returns whether the arguments are complete. Parses them only if all brackets are closed,
    /// because this is called for each fragment of servers that repeat the name in each.
    fn is_complete(&mut self) -> bool {
        if self.name.is_empty() || self.is_broken || !self.scanner.is_closed() {
            return false;
        }
        let read = serde_json::from_str::<Map<String, Value>>(&self.arguments);
        self.is_broken = read.as_ref().is_err_and(|error| !error.is_eof());
        read.is_ok()
    }
}

/// What a fragment of a call contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fragment {
    /// No name.
    Continuation,
    /// A name.
    Name,
    /// A name and arguments.
    NameAndArguments,
}

impl Fragment {
    fn of(name: &str, arguments: &str) -> Self {
        match (name.is_empty(), arguments.is_empty()) {
            (true, _) => Self::Continuation,
            (false, true) => Self::Name,
            (false, false) => Self::NameAndArguments,
        }
    }
}

/// Collects the tool calls of one answer from their fragments.
#[derive(Debug, Default)]
pub(crate) struct ToolCallBuilder {
    pending: Vec<PendingCall>,
}

/// What a fragment added to a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallDelta {
    /// The index of the call.
    pub(crate) at: usize,
    /// The name of the tool, if this fragment gave it.
    pub(crate) named: Option<String>,
    /// The size of the fragment in bytes.
    pub(crate) size: usize,
}

impl ToolCallBuilder {
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Drops all calls after the first `most`.
    pub(crate) fn truncate(&mut self, most: usize) {
        self.pending.truncate(most);
    }

    /// Adds a fragment of a call. Returns `None` if the fragment is empty.
    pub(crate) fn push(&mut self, fragment: &Value) -> Option<CallDelta> {
        let function = fragment.get("function").unwrap_or(&Value::Null);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let index = fragment.get("index").and_then(Value::as_u64);
        let id = text(fragment.get("id")).unwrap_or_default();
        let name = text(function.get("name")).unwrap_or_default();
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            // Some servers send the arguments as an object.
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        if index.is_none() && id.is_empty() && name.is_empty() && arguments.is_empty() {
            return None;
        }
        let at = self.find(index, cut(&id, MAX_NAME), Fragment::of(&name, &arguments));
        let call = &mut self.pending[at];
        if call.id.is_empty() {
            call.id = cut(&id, MAX_NAME).to_owned();
        }
        let named = (call.name.is_empty() && !name.is_empty()).then(|| {
            cut(&name, MAX_NAME).clone_into(&mut call.name);
            call.name.clone()
        });
        call.arguments.push_str(&arguments);
        call.scanner.push(&arguments);
        Some(CallDelta { at, named, size: id.len() + name.len() + arguments.len() })
    }

    /// Returns the index of the call that a fragment belongs to. Adds a call if there is none.
    fn find(&mut self, index: Option<u64>, id: &str, content: Fragment) -> usize {
        let same = |call: &PendingCall| call.id.is_empty() || id.is_empty() || call.id == id;
        let found = match index {
            // The latest call with this index: some servers give all calls the same index.
            Some(_) => {
                let latest = self.pending.iter().rposition(|call| call.index == index);
                latest.filter(|at| same(&self.pending[*at]))
            }
            None if !id.is_empty() => self.pending.iter().rposition(|call| call.id == id),
            None if content == Fragment::Continuation => self.pending.len().checked_sub(1),
            None => None,
        };
        // A fragment with name and arguments that follows a complete call begins another one.
        let found = found
            .filter(|at| content != Fragment::NameAndArguments || !self.pending[*at].is_complete());
        found.unwrap_or_else(|| {
            self.pending.push(PendingCall { index, ..PendingCall::default() });
            self.pending.len() - 1
        })
    }

    /// Returns the complete calls. Ids may be empty or repeated; the session makes them unique.
    pub(crate) fn into_calls(self) -> Vec<ToolCall> {
        self.pending.into_iter().map(complete).collect()
    }
}

fn complete(call: PendingCall) -> ToolCall {
    let name = if call.name.is_empty() { "unnamed".to_owned() } else { call.name };
    let (arguments, malformed) = arguments(&call.arguments);
    ToolCall { id: call.id, name, arguments, malformed }
}

/// Parses the arguments of a call, and returns the text if it is malformed. An empty text means no
/// arguments.
pub(crate) fn arguments(text: &str) -> (Map<String, Value>, Option<String>) {
    if text.trim().is_empty() {
        return (Map::new(), None);
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) if arguments.values().all(|it| is_within(it, MAX_DEPTH)) => {
            (arguments, None)
        }
        Ok(_) | Err(_) => (Map::new(), Some(cut(text, MAX_MALFORMED).to_owned())),
    }
}

/// Returns whether `value` is nested at most `deep` levels.
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

/// Tracks how far a JSON text has arrived. Each byte is looked at once.
#[derive(Debug, Default)]
struct JsonScanner {
    position: Position,
    /// How many arrays and objects are open.
    depth: usize,
    /// Whether an array or object has been opened.
    is_begun: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Position {
    #[default]
    Values,
    Text,
    Escape,
}

impl JsonScanner {
    /// Adds the next fragment.
    fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match (self.position, byte) {
                (Position::Escape, _) | (Position::Values, b'"') => self.position = Position::Text,
                (Position::Text, b'\\') => self.position = Position::Escape,
                (Position::Text, b'"') => self.position = Position::Values,
                (Position::Values, b'{' | b'[') => {
                    self.depth = self.depth.saturating_add(1);
                    self.is_begun = true;
                }
                (Position::Values, b'}' | b']') => self.depth = self.depth.saturating_sub(1),
                (Position::Values | Position::Text, _) => {}
            }
        }
    }

    /// Returns whether every opened bracket is closed. Only then can the text be a complete object.
    fn is_closed(&self) -> bool {
        self.is_begun && self.depth == 0 && self.position == Position::Values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = ToolCallBuilder::default();
        for piece in pieces {
            calls.push(piece);
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
        assert_eq!(arguments(&nested(MAX_DEPTH)).1, None);
        for deep in [MAX_DEPTH + 1, 126, 10_000] {
            assert_eq!(arguments(&nested(deep)), (Map::new(), Some(nested(deep))), "{deep}");
        }
    }

    #[test]
    fn a_name_in_every_piece_is_no_reason_to_read_all_of_them_each_time() {
        let mut calls = ToolCallBuilder::default();
        let arguments = format!("{{\"content\":\"{}\"}}", "} ".repeat(500_000));
        let began = std::time::Instant::now();
        for piece in arguments.as_bytes().chunks(8) {
            let piece = std::str::from_utf8(piece).unwrap();
            calls.push(
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
        let long = format!("{{{}", "ä".repeat(MAX_MALFORMED));
        let kept = arguments(&long).1.unwrap();
        assert!(kept.len() <= MAX_MALFORMED && long.starts_with(&kept));
    }

    #[test]
    fn what_is_whole_is_closed_and_no_beginning_of_it_is() {
        let text = r#"{"a\\":"}\"]","b":[{},{"c":"ä"}]}"#;
        let mut scanner = JsonScanner::default();
        for (at, letter) in text.char_indices() {
            assert!(!scanner.is_closed(), "{}", &text[..at]);
            scanner.push(letter.encode_utf8(&mut [0; 4]));
        }
        assert!(scanner.is_closed());
    }
}
