//! Rewrites session files of older versions in version 3. Lines that cannot be read stay as they are.
//!
//! - Version 0 begins with a line of type `metadata`, and has messages only.
//! - Version 1 has no ids: its entries follow each other in the order of the file.
//! - Version 2 has messages with the role `hookMessage`.

use engine::session::EntryIds;
use protocol::{EntryId, SessionId};
use serde_json::{Map, Value, json};

use super::line::{VERSION, clean};

/// The fields of one line.
type Fields = Map<String, Value>;

/// A line of an older file.
enum OldLine<'a> {
    Entry(Fields),
    Unreadable(&'a [u8]),
}

/// Returns the content of a file of version 3 for one of an older version.
pub(super) fn migrate(file: &[u8], session: SessionId) -> Vec<u8> {
    let lines = file.split_inclusive(|byte| *byte == b'\n');
    let mut lines: Vec<OldLine<'_>> = lines.map(read).collect();
    let version = header(&mut lines).map_or(0, |header| {
        let version = match (header["type"].as_str(), header.get("version")) {
            (Some("metadata"), _) => 0,
            (_, version) => version.and_then(Value::as_u64).unwrap_or(1),
        };
        to_session_header(header);
        version
    });
    if version < 2 {
        link(&mut lines, session);
    }
    entries(&mut lines).for_each(rename_hook_message);
    let mut written = Vec::with_capacity(file.len() + file.len() / 4);
    for line in lines {
        match line {
            OldLine::Entry(fields) => {
                // The keys are strings and there is no number that JSON cannot hold.
                written.extend(serde_json::to_vec(&fields).unwrap_or_default());
                written.push(b'\n');
            }
            OldLine::Unreadable(bytes) => written.extend(bytes),
        }
    }
    written
}

fn read(line: &[u8]) -> OldLine<'_> {
    match serde_json::from_slice(clean(line)) {
        Ok(Value::Object(fields)) if fields.get("type").is_some_and(Value::is_string) => {
            OldLine::Entry(fields)
        }
        Ok(_) | Err(_) => OldLine::Unreadable(line),
    }
}

fn all<'a>(lines: &'a mut [OldLine<'_>]) -> impl Iterator<Item = &'a mut Fields> {
    lines.iter_mut().filter_map(|line| match line {
        OldLine::Entry(fields) => Some(fields),
        OldLine::Unreadable(_) => None,
    })
}

fn is_header(fields: &Fields) -> bool {
    matches!(fields["type"].as_str(), Some("session" | "metadata"))
}

fn header<'a>(lines: &'a mut [OldLine<'_>]) -> Option<&'a mut Fields> {
    all(lines).find(|fields| is_header(fields))
}

/// Returns the entries: what is neither the header nor a title.
fn entries<'a>(lines: &'a mut [OldLine<'_>]) -> impl Iterator<Item = &'a mut Fields> {
    all(lines).filter(|fields| !is_header(fields) && fields["type"] != "title")
}

fn to_session_header(header: &mut Fields) {
    let rest = std::mem::take(header);
    header.insert("type".to_owned(), json!("session"));
    header.insert("version".to_owned(), json!(VERSION));
    header.extend(rest.into_iter().filter(|(key, _)| key != "type" && key != "version"));
}

/// Gives each entry an id, the one before as its parent, and a time.
fn link(lines: &mut [OldLine<'_>], session: SessionId) {
    // A compaction names what it keeps by its place among all lines that can be read.
    let begins = all(lines).position(|fields| is_header(fields)).map_or(0, |header| header + 1);
    let mut at = header(lines).and_then(|header| header.get("timestamp").cloned());
    let mut ids = EntryIds::new(session, &[]);
    let mut given: Vec<EntryId> = Vec::new();
    for fields in entries(lines) {
        let id = ids.generate();
        let rest = std::mem::take(fields);
        at = time(&rest).or(at);
        let parent = given.last().map(EntryId::as_str);
        fields.insert("type".to_owned(), rest["type"].clone());
        fields.insert("id".to_owned(), json!(id));
        fields.insert("parentId".to_owned(), json!(parent));
        fields.insert("timestamp".to_owned(), at.clone().unwrap_or_default());
        let own = ["type", "id", "parentId", "timestamp", "firstKeptEntryIndex"];
        let kept = rest.get("firstKeptEntryIndex").and_then(Value::as_u64);
        fields.extend(rest.into_iter().filter(|(key, _)| !own.contains(&key.as_str())));
        given.push(id);
        if let Some(kept) = kept {
            let kept = usize::try_from(kept).ok().and_then(|kept| kept.checked_sub(begins));
            let kept = kept.and_then(|kept| given.get(kept));
            fields.insert("firstKeptEntryId".to_owned(), json!(kept));
        }
    }
}

/// Returns the time of an entry: its own, or that of its message.
fn time(fields: &Fields) -> Option<Value> {
    let own = fields.get("timestamp").filter(|at| at.is_string());
    let of_message = || {
        let at = fields.get("message")?.get("timestamp")?.as_i64()?;
        serde_json::to_value(protocol::Timestamp::from_millisecond(at)).ok()
    };
    own.cloned().or_else(of_message)
}

fn rename_hook_message(fields: &mut Fields) {
    if let Some(role) = fields.get_mut("message").and_then(|message| message.get_mut("role"))
        && *role == "hookMessage"
    {
        *role = json!("custom");
    }
}

#[cfg(test)]
mod tests;
