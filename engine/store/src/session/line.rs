//! The lines of a session log: the header, and the entries with their ids. Very long strings in an
//! entry are shortened.

use std::collections::HashSet;
use std::path::Path;

use engine::ports::SessionHeader;
use protocol::{SessionEntry, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of session files that this program writes.
const VERSION: u32 = 3;

/// An entry of a session log, with its id, its parent's id and its timestamp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionLine {
    /// The id of the entry in its file.
    pub id: String,
    /// The id of the entry before; `None` for the first.
    #[serde(rename = "parentId")]
    pub parent: Option<String>,
    /// When the entry was added.
    pub timestamp: Timestamp,
    /// The content of the entry.
    #[serde(flatten)]
    pub entry: SessionEntry,
}

/// The header, which is the first line.
#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default)]
    version: Option<u32>,
    id: SessionId,
    timestamp: Timestamp,
    cwd: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Session,
}

/// A parsed line after the header.
#[derive(Debug)]
pub(super) enum Line {
    /// An entry of a kind that this version of the program supports.
    Entry(Box<SessionLine>),
    /// An entry of a kind that this version of the program does not support.
    Unknown { id: String, kind: String },
    /// A line that is not an entry.
    Unreadable,
}

/// A parsed first line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The header of a session.
    Header(SessionId),
    /// The header of a session in a file of a later version.
    Newer(u32),
    /// A title, which some programs put before the header.
    Title,
    /// Anything else.
    Other,
}

/// Parses a first line.
pub(super) fn parse_first(line: &[u8]) -> First {
    #[derive(Deserialize)]
    struct Typed {
        #[serde(rename = "type")]
        kind: String,
        version: Option<u32>,
    }
    let Ok(Typed { kind, version }) = serde_json::from_slice(line) else { return First::Other };
    match (kind.as_str(), version) {
        ("title", _) => First::Title,
        ("session", Some(version)) if version > VERSION => First::Newer(version),
        ("session", _) => match serde_json::from_slice::<Header>(line) {
            Ok(header) => First::Header(header.id),
            Err(_unreadable) => First::Other,
        },
        _ => First::Other,
    }
}

/// Parses a line that is not the first.
pub(super) fn parse(line: &[u8]) -> Line {
    #[derive(Deserialize)]
    struct Typed {
        id: String,
        #[serde(rename = "type")]
        kind: String,
    }
    match serde_json::from_slice(line) {
        Ok(entry) => Line::Entry(Box::new(entry)),
        Err(_unknown) => match serde_json::from_slice(line) {
            Ok(Typed { id, kind }) => Line::Unknown { id, kind },
            Err(_unreadable) => Line::Unreadable,
        },
    }
}

/// Returns the first line of a log, with its line break.
pub(super) fn header(header: &SessionHeader) -> Result<Vec<u8>, serde_json::Error> {
    line_of(&Header {
        kind: Kind::Session,
        version: Some(VERSION),
        id: header.id,
        timestamp: header.at,
        cwd: lossy(&header.cwd),
    })
}

/// Returns the line of an entry, with its line break. Very long strings in it are shortened.
pub(super) fn entry(
    id: &str,
    parent: Option<&str>,
    at: Timestamp,
    entry: &SessionEntry,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut said = serde_json::to_value(entry)?;
    shorten(&mut said);
    let said = if let Value::Object(said) = said { said } else { Map::new() };
    let kind = said.get("type").cloned().unwrap_or_default();
    let own = [
        ("type", kind),
        ("id", id.into()),
        ("parentId", parent.into()),
        ("timestamp", serde_json::to_value(at)?),
    ];
    let mut line: Map<_, _> = own.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    line.extend(said.into_iter().filter(|(key, _)| key != "type"));
    line_of(&line)
}

fn line_of(line: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Returns a path as text; bytes that are not UTF-8 are replaced, because JSON cannot hold them.
fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Generates the ids of the entries of one log: eight hexadecimal digits, unique in their file.
#[derive(Debug)]
pub(super) struct EntryIds {
    seed: u32,
    next: u32,
    taken: HashSet<u32>,
}

impl EntryIds {
    /// Returns a generator for the log of `session`, in which the ids `taken` exist already.
    pub(super) fn new(session: SessionId, taken: &[String]) -> Self {
        let bytes = session.as_bytes();
        let seed = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let taken: HashSet<_> = taken.iter().filter_map(|id| number(id)).collect();
        Self { seed, next: u32::try_from(taken.len()).unwrap_or(0), taken }
    }

    /// Returns the next id.
    pub(super) fn next(&mut self) -> String {
        loop {
            let id = scrambled(self.seed.wrapping_add(self.next));
            self.next = self.next.wrapping_add(1);
            // `scrambled` is one to one, so a new id can collide only with an older id of the file.
            if !self.taken.contains(&id) {
                return format!("{id:08x}");
            }
        }
    }
}

fn number(id: &str) -> Option<u32> {
    u32::from_str_radix(id, 16).ok().filter(|_| id.len() == 8)
}

/// Maps numbers one to one to numbers that look random.
fn scrambled(number: u32) -> u32 {
    let number = (number ^ (number >> 16)).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ (number >> 13)).wrapping_mul(0xc2b2_ae35);
    number ^ (number >> 16)
}

/// The longest string that is written, in characters.
const MAX_CHARS: usize = 500_000;

/// The end of a shortened string.
const NOTICE: &str = "\n\n[Session persistence truncated large content]";

/// Shortens every string in `value` that is too long. The session itself keeps the full strings.
fn shorten(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => cut(text),
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(values) => values.values_mut().for_each(shorten),
    }
}

fn cut(text: &mut String) {
    if text.len() <= MAX_CHARS || text.chars().nth(MAX_CHARS).is_none() {
        return;
    }
    let kept = MAX_CHARS - NOTICE.len();
    if let Some((end, _)) = text.char_indices().nth(kept) {
        text.truncate(end);
        text.push_str(NOTICE);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at() -> Timestamp {
        Timestamp::from_millisecond(1_767_323_045_678)
    }

    #[test]
    fn lines_are_those_of_session_files_of_version_3() {
        let id = SessionId::generate();
        let line = header(&SessionHeader { id, cwd: "/app".into(), at: at() }).unwrap();
        let uuid = serde_json::to_string(&id).unwrap();
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            format!(
                "{{\"type\":\"session\",\"version\":3,\"id\":{uuid},\
                 \"timestamp\":\"2026-01-02T03:04:05.678Z\",\"cwd\":\"/app\"}}\n"
            )
        );
        assert_eq!(parse_first(&line), First::Header(id));

        let change = SessionEntry::ModelChange { model: "offline/a".to_owned() };
        let line = entry("00000002", Some("00000001"), at(), &change).unwrap();
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            "{\"type\":\"model_change\",\"id\":\"00000002\",\"parentId\":\"00000001\",\
             \"timestamp\":\"2026-01-02T03:04:05.678Z\",\"model\":\"offline/a\"}\n"
        );
        let Line::Entry(read) = parse(&line) else { panic!("it is an entry") };
        let parent = Some("00000001".to_owned());
        let id = "00000002".to_owned();
        assert_eq!(*read, SessionLine { id, parent, timestamp: at(), entry: change });
    }

    #[test]
    fn what_is_not_known_is_told_from_what_cannot_be_read() {
        let known = [
            json!({ "type": "label", "id": "a", "parentId": null, "targetId": "b" }),
            json!({ "type": "message", "id": "b", "message": { "role": "custom" } }),
        ];
        for line in known {
            let line = line.to_string();
            assert!(matches!(parse(line.as_bytes()), Line::Unknown { .. }), "{line}");
        }
        for line in ["", "{", "[]", "{\"type\":\"label\"}", "\0\0\0", "\u{fffd}"] {
            assert!(matches!(parse(line.as_bytes()), Line::Unreadable), "{line}");
        }
    }

    #[test]
    fn a_first_line_may_be_a_title_a_header_or_something_else() {
        assert_eq!(parse_first(br#"{"type":"title","v":1,"title":"x","pad":"  "}"#), First::Title);
        assert_eq!(parse_first(br#"{"type":"session","version":4}"#), First::Newer(4));
        assert_eq!(parse_first(br#"{"type":"session","id":"no uuid"}"#), First::Other);
        assert_eq!(parse_first(b"{}"), First::Other);
        assert_eq!(parse_first(b"\xff"), First::Other);
    }

    #[test]
    fn no_identity_is_given_twice_also_not_after_the_log_was_opened_again() {
        let session = SessionId::generate();
        let mut given = Vec::new();
        for _ in 0..3 {
            let mut ids = EntryIds::new(session, &given);
            given.extend((0..1_000).map(|_| ids.next()));
        }
        assert!(given.iter().all(|id| id.len() == 8 && number(id).is_some()));
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), given.len());
    }

    #[test]
    fn strings_that_are_too_long_are_cut_wherever_they_are_and_only_once() {
        let fits = "ä".repeat(MAX_CHARS);
        let mut value = json!({ "a": [fits, format!("{fits}x")], "b": 1 });
        shorten(&mut value);
        assert_eq!(value["a"][0], fits);
        let cut = value["a"][1].as_str().unwrap();
        assert_eq!(cut.chars().count(), MAX_CHARS);
        assert!(cut.ends_with(&format!("ä{NOTICE}")));
        let once = value.clone();
        shorten(&mut value);
        assert_eq!(value, once);
    }
}
