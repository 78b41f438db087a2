//! The lines of a session log: the header that is the first of them, and the entries.

use std::path::Path;

use engine::ports::SessionHeader;
use protocol::{SessionEntry, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::shorten::shorten;

/// The version of session files that this program writes.
const VERSION: u32 = 3;

/// An entry of a session log, with what the log knows about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionLine {
    /// Its identity in the file.
    pub id: String,
    /// The entry it follows; nothing for the first.
    #[serde(rename = "parentId")]
    pub parent: Option<String>,
    /// When it was added.
    pub timestamp: Timestamp,
    /// What it says.
    #[serde(flatten)]
    pub entry: SessionEntry,
}

/// The first line.
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

/// What a line is.
#[derive(Debug)]
pub(super) enum Read {
    /// An entry that this version knows.
    Entry(Box<SessionLine>),
    /// An entry of another kind, or one that says what this version does not know.
    Unknown { id: String, kind: String },
    /// Nothing.
    Unreadable,
}

/// What the first line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The header of a session.
    Header(SessionId),
    /// The header of a session in a file of a later version.
    Newer(u32),
    /// A title, which some programs put before the header.
    Title,
    /// No header.
    Other,
}

/// Reads a first line.
pub(super) fn first(line: &[u8]) -> First {
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

/// Reads a line that is not the first.
pub(super) fn read(line: &[u8]) -> Read {
    #[derive(Deserialize)]
    struct Typed {
        id: String,
        #[serde(rename = "type")]
        kind: String,
    }
    match serde_json::from_slice(line) {
        Ok(entry) => Read::Entry(Box::new(entry)),
        Err(_unknown) => match serde_json::from_slice(line) {
            Ok(Typed { id, kind }) => Read::Unknown { id, kind },
            Err(_unreadable) => Read::Unreadable,
        },
    }
}

/// Returns the first line of a log, with its line break.
pub(super) fn header(header: &SessionHeader) -> Result<Vec<u8>, serde_json::Error> {
    whole(&Header {
        kind: Kind::Session,
        version: Some(VERSION),
        id: header.id,
        timestamp: header.at,
        cwd: shown(&header.cwd),
    })
}

/// Returns the line of an entry, with its line break. What is very long in it is cut.
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
    whole(&line)
}

fn whole(line: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// JSON has no bytes: a path that is not UTF-8 is written as nearly as can be.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
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
        assert_eq!(first(&line), First::Header(id));

        let change = SessionEntry::ModelChange { model: "offline/a".to_owned() };
        let line = entry("00000002", Some("00000001"), at(), &change).unwrap();
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            "{\"type\":\"model_change\",\"id\":\"00000002\",\"parentId\":\"00000001\",\
             \"timestamp\":\"2026-01-02T03:04:05.678Z\",\"model\":\"offline/a\"}\n"
        );
        let Read::Entry(read) = read(&line) else { panic!("it is an entry") };
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
            assert!(matches!(read(line.as_bytes()), Read::Unknown { .. }), "{line}");
        }
        for line in ["", "{", "[]", "{\"type\":\"label\"}", "\0\0\0", "\u{fffd}"] {
            assert!(matches!(read(line.as_bytes()), Read::Unreadable), "{line}");
        }
    }

    #[test]
    fn a_first_line_may_be_a_title_a_header_or_something_else() {
        assert_eq!(first(br#"{"type":"title","v":1,"title":"x","pad":"  "}"#), First::Title);
        assert_eq!(first(br#"{"type":"session","version":4}"#), First::Newer(4));
        assert_eq!(first(br#"{"type":"session","id":"no uuid"}"#), First::Other);
        assert_eq!(first(b"{}"), First::Other);
        assert_eq!(first(b"\xff"), First::Other);
    }
}
