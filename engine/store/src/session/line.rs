//! The lines of a session log: the header, and the entries with their ids.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use engine::ports::SessionHeader;
use protocol::{
    EntryId, InputId, SessionEntry, SessionId, SessionMessage, Timestamp, TitleSource, without_bom,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::blobs::BlobFolder;
use super::error::LogCause;
use super::large::{may_refer, reduce};

/// The version of session files that this program writes.
pub(super) const VERSION: u32 = 3;

/// How the line of a message begins as programs write it.
const MESSAGE: &str = "{\"type\":\"message\",";

/// An entry of a session log, with its id, its parent's id and its timestamp.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionLine {
    /// The id of the entry in its file.
    pub id: EntryId,
    /// The id of the entry before; `None` for the first.
    #[serde(rename = "parentId")]
    pub parent: Option<EntryId>,
    /// When the entry was added.
    pub timestamp: Timestamp,
    /// The content of the entry.
    #[serde(flatten)]
    pub entry: SessionEntry,
}

/// The header, which is the first line but for a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedHeader {
    /// The id as it stands in the file.
    pub id: String,
    /// The version of the file.
    pub version: u32,
    /// When the session began, if the header says so.
    pub at: Option<Timestamp>,
    /// The folder in which the session works.
    pub cwd: PathBuf,
    /// The title.
    pub title: Option<String>,
    /// Who chose the title.
    pub title_source: Option<TitleSource>,
    /// The session that this one was made from: its id, or the path of its log.
    pub parent: Option<String>,
}

impl LoadedHeader {
    /// Returns the id of the session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        SessionId::of_text(&self.id)
    }
}

/// A line before the first entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The header of a session.
    Header(Box<LoadedHeader>),
    /// A title, which some programs put before the header.
    Title,
    /// Anything else.
    Other,
}

/// What every line of an entry has.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) id: EntryId,
    pub(super) parent: Option<EntryId>,
    pub(super) at: Option<Timestamp>,
    /// The name that the entry gives another one, if it is a label.
    pub(super) label: Option<(EntryId, Option<String>)>,
}

/// Returns a line without what does not belong to it: line breaks of other systems, the NULs that a
/// power cut leaves, and the byte order mark of an editor.
pub(super) fn clean(line: &[u8]) -> &[u8] {
    let is_waste = |byte: &u8| matches!(byte, 0 | b'\r' | b'\n');
    let begin = line.iter().position(|byte| !is_waste(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !is_waste(byte)).map_or(begin, |last| last + 1);
    without_bom(&line[begin..end])
}

/// Parses a line before the first entry.
pub(super) fn parse_first(line: &[u8]) -> First {
    let Ok(Value::Object(fields)) = serde_json::from_slice(clean(line)) else {
        return First::Other;
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let read = |key: &str| fields.get(key).cloned();
    match (text("type").as_deref(), text("id")) {
        (Some("title"), _) => First::Title,
        (Some(kind @ ("session" | "metadata")), Some(id)) => {
            let version = fields.get("version").and_then(Value::as_u64);
            First::Header(Box::new(LoadedHeader {
                id,
                version: match kind {
                    "metadata" => 0,
                    _ => version.map_or(1, |version| u32::try_from(version).unwrap_or(u32::MAX)),
                },
                at: read("timestamp").and_then(|at| serde_json::from_value(at).ok()),
                cwd: text("cwd").unwrap_or_default().into(),
                title: text("title").filter(|title| !title.is_empty()),
                title_source: read("titleSource").and_then(|it| serde_json::from_value(it).ok()),
                parent: text("parentSession"),
            }))
        }
        _ => First::Other,
    }
}

/// Parses what every entry has.
///
/// # Errors
/// The line is not an entry; the text says why.
pub(super) fn parse_envelope(line: &[u8]) -> Result<Envelope, String> {
    #[derive(Deserialize)]
    struct Read<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        id: EntryId,
        #[serde(default, rename = "parentId")]
        parent: Option<EntryId>,
        #[serde(default)]
        timestamp: Value,
    }
    #[derive(Deserialize)]
    struct Label {
        #[serde(rename = "targetId")]
        target: EntryId,
        #[serde(default)]
        label: Option<String>,
    }
    let read: Read<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let label = match &*read.kind {
        "session" | "title" => return Err("it belongs to the beginning of a file".to_owned()),
        "label" => serde_json::from_slice::<Label>(line).ok(),
        _ => None,
    };
    let at = match read.timestamp {
        Value::Number(number) => number.as_i64().map(Timestamp::from_millisecond),
        other => serde_json::from_value(other).ok(),
    };
    let label = label.map(|label| (label.target, label.label));
    Ok(Envelope { id: read.id, parent: read.parent, at, label })
}

/// Parses the line of a message in one go; `None` if it has to be parsed step by step, which then
/// says why it is none.
pub(super) fn parse_message(line: &str) -> Option<(Envelope, SessionEntry)> {
    #[derive(Deserialize)]
    struct Read<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        id: EntryId,
        #[serde(default, rename = "parentId")]
        parent: Option<EntryId>,
        timestamp: Timestamp,
        message: SessionMessage,
        #[serde(default, rename = "inputId")]
        input_id: Option<InputId>,
    }
    if !line.starts_with(MESSAGE) || may_refer(line) {
        return None;
    }
    let Read { kind, id, parent, timestamp, message, input_id } =
        serde_json::from_str(line).ok()?;
    let envelope = Envelope { id, parent, at: Some(timestamp), label: None };
    (kind == "message").then_some((envelope, SessionEntry::Message { message, input_id }))
}

/// Parses what an entry says.
///
/// # Errors
/// The content is not what the type of the entry says; the text says why.
pub(super) fn parse_entry(fields: Map<String, Value>) -> Result<SessionEntry, String> {
    let own = ["id", "parentId", "timestamp"];
    let fields = fields.into_iter().filter(|(key, _)| !own.contains(&key.as_str())).collect();
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

/// Returns the first line of a log, with its line break.
pub(super) fn header(header: &SessionHeader) -> Result<Vec<u8>, serde_json::Error> {
    header_line(header, None, None)
}

/// Returns the first line of a log that has the title of another one.
pub(super) fn titled_header(
    header: &SessionHeader,
    titled: &LoadedHeader,
) -> Result<Vec<u8>, serde_json::Error> {
    header_line(header, titled.title.as_deref(), titled.title_source)
}

fn header_line(
    header: &SessionHeader,
    title: Option<&str>,
    title_source: Option<TitleSource>,
) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Written<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        version: u32,
        id: SessionId,
        timestamp: Timestamp,
        cwd: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title_source: Option<TitleSource>,
        #[serde(rename = "parentSession", skip_serializing_if = "Option::is_none")]
        parent: Option<&'a str>,
    }
    line_of(&Written {
        kind: "session",
        version: VERSION,
        id: header.id,
        timestamp: header.at,
        cwd: lossy(&header.cwd),
        title,
        title_source,
        parent: header.parent.as_deref(),
    })
}

/// Returns the line of an entry, with its line break. What is too large for a line is kept as blobs.
pub(super) fn entry(
    id: &EntryId,
    parent: Option<&EntryId>,
    at: Timestamp,
    entry: &SessionEntry,
    blobs: Option<&BlobFolder>,
) -> Result<Vec<u8>, LogCause> {
    let said = serde_json::to_value(entry)?;
    let mut said = if let Value::Object(said) = said { said } else { Map::new() };
    reduce(&mut said, blobs)?;
    let own = [
        ("type", said.get("type").cloned().unwrap_or_default()),
        ("id", serde_json::to_value(id)?),
        ("parentId", serde_json::to_value(parent)?),
        ("timestamp", serde_json::to_value(at)?),
    ];
    let mut line: Map<_, _> = own.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    line.extend(said.into_iter().filter(|(key, _)| key != "type"));
    Ok(line_of(&line)?)
}

pub(super) fn line_of(line: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Returns a path as text; bytes that are not UTF-8 are replaced, because JSON cannot hold them.
pub(super) fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Timestamp {
        Timestamp::from_millisecond(1_767_323_045_678)
    }

    #[test]
    fn lines_are_those_of_session_files_of_version_3() {
        let id = SessionId::generate();
        let parent = Some("/a.jsonl".to_owned());
        let line = header(&SessionHeader { id, cwd: "/app".into(), at: at(), parent }).unwrap();
        let uuid = serde_json::to_string(&id).unwrap();
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            format!(
                "{{\"type\":\"session\",\"version\":3,\"id\":{uuid},\
                 \"timestamp\":\"2026-01-02T03:04:05.678Z\",\"cwd\":\"/app\",\
                 \"parentSession\":\"/a.jsonl\"}}\n"
            )
        );
        let First::Header(read) = parse_first(&line) else { panic!("it is a header") };
        assert_eq!((read.session(), read.version, read.at), (id, 3, Some(at())));
        assert_eq!(read.parent.as_deref(), Some("/a.jsonl"));

        let change = SessionEntry::ModelChange { model: "offline/a".to_owned(), role: None };
        let (own, parent) = (EntryId::new("00000002"), EntryId::new("00000001"));
        let line = entry(&own, Some(&parent), at(), &change, None).unwrap();
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            "{\"type\":\"model_change\",\"id\":\"00000002\",\"parentId\":\"00000001\",\
             \"timestamp\":\"2026-01-02T03:04:05.678Z\",\"model\":\"offline/a\"}\n"
        );
        let read: SessionLine = serde_json::from_slice(&line).unwrap();
        assert_eq!((&read.id, read.parent.as_ref()), (&own, Some(&parent)));
        assert_eq!((read.timestamp, &read.entry), (at(), &change));
        let envelope = parse_envelope(clean(&line)).unwrap();
        assert_eq!((envelope.id, envelope.parent), (own, Some(parent)));
        assert_eq!((envelope.at, envelope.label), (Some(at()), None));
        assert_eq!(parse_entry(serde_json::from_slice(&line).unwrap()), Ok(change));
    }

    #[test]
    fn what_is_no_entry_says_why() {
        for (line, why) in [
            ("{", "EOF while parsing"),
            ("[]", "expected"),
            ("{\"type\":\"label\"}", "missing field `id`"),
            ("{\"id\":\"a\"}", "missing field `type`"),
            ("{\"type\":\"session\",\"id\":\"a\"}", "it belongs to the beginning of a file"),
        ] {
            let found = parse_envelope(line.as_bytes()).unwrap_err();
            assert!(found.contains(why), "{line}: {found}");
        }
        let label = parse_envelope(br#"{"type":"label","id":"a","targetId":"b","label":"c"}"#);
        let label = label.unwrap().label.unwrap();
        assert_eq!(label, (EntryId::new("b"), Some("c".to_owned())));
    }

    #[test]
    fn a_first_line_may_be_a_title_a_header_or_something_else() {
        assert_eq!(parse_first(br#"{"type":"title","v":1,"title":"x","pad":"  "}"#), First::Title);
        for (line, version) in [
            (&br#"{"type":"session","version":4,"id":"a"}"#[..], 4),
            (br#"{"type":"session","id":"no uuid"}"#, 1),
            (b"\0\0{\"type\":\"metadata\",\"id\":\"a\"}\r\n", 0),
            (b"\xef\xbb\xbf{\"type\":\"session\",\"version\":3,\"id\":\"a\"}\r\n", 3),
        ] {
            let First::Header(header) = parse_first(line) else { panic!("{line:?}") };
            assert_eq!(header.version, version);
        }
        for other in [&b"{}"[..], b"\xff", b"", br#"{"type":"session","version":3}"#] {
            assert_eq!(parse_first(other), First::Other);
        }
    }

    #[test]
    fn nuls_and_foreign_line_breaks_are_no_part_of_a_line() {
        for line in [&b"\0\0{}\r\n"[..], b"{}", b"\n{}\0", b"\xef\xbb\xbf{}\r\n"] {
            assert_eq!(clean(line), b"{}");
        }
        for line in [&b""[..], b"\0\0", b"\r\n"] {
            assert_eq!(clean(line), b"");
        }
    }
}
