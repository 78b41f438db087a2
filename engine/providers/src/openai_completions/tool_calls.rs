//! Finds the tool call that a fragment of a stream belongs to. Servers number their calls in several
//! ways.

use serde_json::{Map, Value};

use crate::blocks::{Blocks, Events, Full, MAX_NAME, cut};

/// The calls of an answer whose fragments are still arriving.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    pending: Vec<PendingCall>,
}

/// A tool call whose fragments are still arriving.
#[derive(Debug)]
struct PendingCall {
    block: usize,
    index: Option<u64>,
    id: String,
    is_named: bool,
    scanner: JsonScanner,
    /// Whether the arguments cannot become a JSON object, whatever follows.
    is_broken: bool,
}

impl PendingCall {
    /// Returns whether the arguments so far are complete. Parses them only if all brackets are
    /// closed, because this is called for each fragment of servers that repeat the name in each.
    fn is_complete(&mut self, arguments: &str) -> bool {
        if !self.is_named || self.is_broken || !self.scanner.is_closed() {
            return false;
        }
        let read = serde_json::from_str::<Map<String, Value>>(arguments);
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

impl ToolCalls {
    /// Adds a fragment of a call.
    pub(crate) fn push(
        &mut self,
        fragment: &Value,
        blocks: &mut Blocks,
        events: &mut Events,
    ) -> Result<(), Full> {
        let function = fragment.get("function").unwrap_or(&Value::Null);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let index = fragment.get("index").and_then(Value::as_u64);
        let id = text(fragment.get("id")).unwrap_or_default();
        let id = cut(&id, MAX_NAME);
        let name = text(function.get("name")).unwrap_or_default();
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            // Some servers send the arguments as an object.
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        if index.is_none() && id.is_empty() && name.is_empty() && arguments.is_empty() {
            return Ok(());
        }
        let content = Fragment::of(&name, &arguments);
        let at = match self.find(index, id, content, blocks) {
            Some(at) => at,
            None => {
                let block = blocks.open_call("", "", events)?;
                self.pending.push(PendingCall::new(block, index));
                self.pending.len() - 1
            }
        };
        let call = &mut self.pending[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        call.is_named |= !name.is_empty();
        call.scanner.push(&arguments);
        blocks.name_call(call.block, id, &name, events);
        blocks.push_arguments(call.block, &arguments, events)
    }

    /// Returns the position of the call that a fragment belongs to.
    fn find(
        &mut self,
        index: Option<u64>,
        id: &str,
        content: Fragment,
        blocks: &Blocks,
    ) -> Option<usize> {
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
        found.filter(|at| {
            let call = &mut self.pending[*at];
            content != Fragment::NameAndArguments || !call.is_complete(blocks.text(call.block))
        })
    }
}

impl PendingCall {
    fn new(block: usize, index: Option<u64>) -> Self {
        let (id, scanner) = (String::new(), JsonScanner::default());
        Self { block, index, id, is_named: false, scanner, is_broken: false }
    }
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
    use crate::blocks::Stop;
    use protocol::{Part, ToolCall};
    use serde_json::json;

    fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
        let (mut calls, mut blocks) = (ToolCalls::default(), Blocks::default());
        for piece in pieces {
            calls.push(piece, &mut blocks, &mut Events::new()).unwrap();
        }
        let shown = |call: ToolCall| {
            let arguments =
                call.malformed.unwrap_or_else(|| Value::Object(call.arguments).to_string());
            (call.id, call.name, arguments)
        };
        let answer = blocks.into_answer(Stop::Finished);
        let calls = answer.content.into_iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(shown(call)),
            _ => None,
        });
        calls.collect()
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
    fn a_name_in_every_piece_is_no_reason_to_read_all_of_them_each_time() {
        let (mut calls, mut blocks) = (ToolCalls::default(), Blocks::default());
        let braces = test_limit::by_depth(100_000, 500_000);
        let arguments = format!("{{\"content\":\"{}\"}}", "} ".repeat(braces));
        let began = std::time::Instant::now();
        for piece in arguments.as_bytes().chunks(8) {
            let piece = std::str::from_utf8(piece).unwrap();
            let function = json!({ "name": "w", "arguments": piece });
            let fragment = json!({ "index": 0, "id": "a", "function": function });
            calls.push(&fragment, &mut blocks, &mut Events::new()).unwrap();
        }
        let limit = std::time::Duration::from_secs(60);
        test_limit::took_at_most(began.elapsed(), limit, "each piece is read once");
        let answer = blocks.into_answer(Stop::Finished);
        let [Part::ToolCall(call)] = answer.content.as_slice() else { panic!("one call") };
        assert_eq!(call.malformed, None);
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
