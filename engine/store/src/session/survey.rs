//! What people look at to choose a session: its name, its first prompt and how many messages it has.
//! Unlike a list, a survey reads the files as a whole.

use std::borrow::Cow;
use std::fs::File;
use std::io;

use protocol::{Message, SessionEntry, SessionMessage};
use serde::Deserialize;

use super::line::{clean, parse_entry};
use super::list::SessionInfo;
use super::loaded::LoadedSession;
use super::reader::{LogLines, RawLine};

/// How many bytes are read in all. Of the sessions behind these, the oldest ones, only what a list says
/// is known.
const MOST: u64 = 512 << 20;

/// Returns listed sessions with their names and the number of all their messages.
pub(super) fn survey(mut sessions: Vec<SessionInfo>) -> Vec<SessionInfo> {
    let mut room = MOST;
    for session in &mut sessions {
        room = room.saturating_sub(session.size);
        if room == 0 {
            break;
        }
        if let Err(error) = read_whole(session) {
            tracing::debug!(path = %session.path.display(), %error, "a session is not surveyed");
        }
    }
    sessions
}

/// Replaces what the beginning of a file says by what all of it says.
fn read_whole(session: &mut SessionInfo) -> io::Result<()> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let mut lines = LogLines::new(File::open(&session.path)?);
    let (mut messages, mut name) = (0, None);
    while let Some(line) = lines.next()? {
        let RawLine::Complete(line) = line else { continue };
        let line = clean(line);
        let Ok(Kind { kind }) = serde_json::from_slice(line) else { continue };
        match &*kind {
            "message" => {
                messages += 1;
                if session.first_prompt.is_none() {
                    session.first_prompt = entry(line).as_ref().and_then(prompt);
                }
            }
            "session_info" | "title_change" => {
                name = entry(line).as_ref().and_then(name_of).map_or(name, Some);
            }
            _ => {}
        }
    }
    session.messages = messages;
    session.title = name.or(session.title.take());
    Ok(())
}

fn entry(line: &[u8]) -> Option<SessionEntry> {
    parse_entry(serde_json::from_slice(line).ok()?).ok()
}

fn prompt(entry: &SessionEntry) -> Option<String> {
    match entry {
        SessionEntry::Message { message: SessionMessage::Model(Message::User(said)), .. } => {
            Some(said.text())
        }
        _other => None,
    }
}

/// Returns the name that an entry gives its session.
fn name_of(entry: &SessionEntry) -> Option<String> {
    match entry {
        SessionEntry::SessionInfo { name } => name.clone(),
        SessionEntry::TitleChange { title, .. } => Some(title.clone()),
        _other => None,
    }
}

impl LoadedSession {
    /// Returns the name of the session: the one that was given last, or else that of its header.
    pub fn name(&mut self) -> Option<String> {
        let places = (0..self.tree.nodes().len()).rev();
        let mut names = places.map(|place| self.entry(place, None).and_then(name_of));
        let named = names.find_map(|name| name);
        named.or_else(|| self.header.title.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::list::list_sessions;
    use super::*;

    #[test]
    fn a_survey_counts_all_messages_and_knows_the_name_that_was_given_last() {
        let folder = tempfile::tempdir().unwrap();
        let header = r#"{"type":"session","version":3,"id":"a","cwd":"/x","title":"old"}"#;
        let said = |id: usize, text: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"role":"user","content":"{text}","timestamp":0}}}}"#
            )
        };
        let named = |name: &str| {
            format!(r#"{{"type":"session_info","id":"n{name}","parentId":null,"name":"{name}"}}"#)
        };
        let mut lines = vec![header.to_owned(), said(0, &"long ".repeat(2000))];
        lines.extend((1..100).map(|id| said(id, "more")));
        lines.extend([named("one"), "damaged".to_owned(), named("two"), said(200, "end")]);
        let path = folder.path().join("1_a.jsonl");
        // The last line is not whole.
        fs::write(&path, lines.join("\n") + "\n{\"type\":\"message\"").unwrap();
        let listed = list_sessions(folder.path()).unwrap();
        assert_eq!((listed[0].messages, listed[0].first_prompt.as_deref()), (0, None));
        let [session] = &survey(listed)[..] else { panic!("one") };
        assert_eq!((session.messages, session.title.as_deref()), (101, Some("two")));
        assert!(session.first_prompt.as_ref().unwrap().starts_with("long long"));
        let mut loaded = LoadedSession::read(&path).unwrap().unwrap();
        assert_eq!(loaded.name().as_deref(), Some("two"));
        fs::write(&path, format!("{header}\n{}\n", said(0, "x"))).unwrap();
        let mut loaded = LoadedSession::read(&path).unwrap().unwrap();
        assert_eq!(loaded.name().as_deref(), Some("old"));
    }
}
