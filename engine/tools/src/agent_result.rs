//! The results of subagents, which models read by the name `agent://NAME`, or a part of one that is JSON by
//! `agent://NAME?q=/json/pointer`.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{
    AGENT_SCHEME, Artifacts, FileKind, FileStat, FileVersion, ViewError, ViewFile,
};
use protocol::quote;
use serde_json::Value;
use similar::get_close_matches;

use crate::artifact_file;
use crate::display::MAX_FILE_BYTES;
use crate::error::ToolError;
use crate::plain_text::PlainText;

/// How many members of an object are named where a part is not there.
const MEMBERS: usize = 20;

/// Why the result of a subagent, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentResultError {
    /// There is no subagent of this name.
    #[error("there is no result {AGENT_SCHEME}{name}{hint}")]
    Missing {
        /// The name.
        name: String,
        /// The names that there are.
        hint: String,
    },
    /// Only JSON has parts.
    #[error("the result {0} is not JSON, so that it has no parts; read it without `?q=`")]
    NotJson(String),
    /// The JSON has no such part.
    #[error("the result {name} has nothing at `{pointer}`; {there}")]
    NoPart {
        /// The name.
        name: String,
        /// Where the part would be.
        pointer: String,
        /// What there is instead.
        there: String,
    },
    /// The operating system refuses.
    #[error("cannot read {name}")]
    Cannot {
        /// The name.
        name: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl From<AgentResultError> for ToolError {
    fn from(error: AgentResultError) -> Self {
        Self::own(error)
    }
}

/// Opens the result that `address` names, which is what follows the scheme.
pub(crate) async fn open(
    artifacts: &Arc<dyn Artifacts>,
    address: &str,
) -> Result<Box<dyn ViewFile>, AgentResultError> {
    let (name, pointer) = parts(address);
    let shown = format!("{AGENT_SCHEME}{}", quote(name));
    let cannot = |source| AgentResultError::Cannot { name: shown.clone(), source };
    let Some(artifact) = artifacts.agent(name).await.map_err(cannot)? else {
        let hint = hint(name, &artifacts.agents().await.map_err(cannot)?);
        return Err(AgentResultError::Missing { name: quote(name), hint });
    };
    if pointer.is_empty() {
        return artifact_file::open(artifacts, artifact).await.map_err(cannot);
    }
    let bytes = artifacts.read(&artifact, 0, MAX_FILE_BYTES).await.map_err(cannot)?;
    let not_json = |_error| AgentResultError::NotJson(shown.clone());
    let value: Value = serde_json::from_slice(&bytes).map_err(not_json)?;
    let text = match value.pointer(&pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(part) => serde_json::to_string_pretty(part).unwrap_or_default(),
        None => {
            let there = what_is_there(&value, &pointer);
            return Err(AgentResultError::NoPart { name: shown, pointer: quote(&pointer), there });
        }
    };
    Ok(Box::new(Part::new(&text)))
}

/// Returns the name of a subagent and a JSON pointer, which is empty for the whole result. The pointer may also be
/// written as a path behind the name, or with dots and brackets.
fn parts(address: &str) -> (&str, String) {
    let (name, pointer) = match address.split_once('?') {
        Some((name, query)) => {
            (name.trim_end_matches('/'), query.strip_prefix("q=").unwrap_or(query))
        }
        None => match address.find('/') {
            Some(at) => address.split_at(at),
            None => (address, ""),
        },
    };
    let pointer = match pointer.trim() {
        "/" | "." => String::new(),
        pointer if pointer.is_empty() || pointer.starts_with('/') => pointer.to_owned(),
        dotted => {
            let names = dotted.split(['.', '[', ']']).filter(|name| !name.is_empty());
            names.map(|name| format!("/{name}")).collect()
        }
    };
    (name, pointer)
}

/// Returns what a message says about the names that there are.
fn hint(name: &str, names: &[String]) -> String {
    let all: Vec<_> = names.iter().map(String::as_str).collect();
    let near = match names.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(known) => vec![known.as_str()],
        None => get_close_matches(name, &all, 3, 0.5),
    };
    let named = |names: &[&str]| {
        let names = names.iter().map(|name| format!("{AGENT_SCHEME}{name}"));
        names.collect::<Vec<_>>().join(", ")
    };
    match (near.is_empty(), all.is_empty()) {
        (false, _) => format!("; like it: {}", named(&near)),
        (true, false) if all.len() <= MEMBERS => format!("; there are {}", named(&all)),
        (true, false) => "; results of the tool task name those that there are".to_owned(),
        (true, true) => "; no subagent of this session has ended".to_owned(),
    }
}

/// Returns what is at the deepest place above `pointer` that there is.
fn what_is_there(value: &Value, pointer: &str) -> String {
    let above = pointer.match_indices('/').rev().map(|(at, _)| &pointer[..at]);
    let mut above = above.filter_map(|place| Some((place, value.pointer(place)?)));
    let (place, found) = above.next().unwrap_or(("", value));
    let place = if place.is_empty() { "it".to_owned() } else { format!("`{}`", quote(place)) };
    match found {
        Value::Object(members) if members.is_empty() => format!("{place} is an empty object"),
        Value::Object(members) => {
            let names: Vec<_> = members.keys().take(MEMBERS).map(|name| quote(name)).collect();
            format!("{place} has the members {}", names.join(", "))
        }
        Value::Array(elements) => format!("{place} is a list of {}", elements.len()),
        Value::String(_) => format!("{place} is a text"),
        other => format!("{place} is {other}"),
    }
}

/// A part of a result.
struct Part {
    text: Vec<u8>,
    size: u64,
}

impl Part {
    fn new(text: &str) -> Self {
        let text = PlainText::of(text.as_bytes()).into_bytes();
        Self { size: text.len() as u64, text }
    }
}

#[async_trait]
impl ViewFile for Part {
    fn stat(&self) -> FileStat {
        let version = FileVersion([self.size, 0, 0, 0, 0]);
        FileStat { kind: FileKind::Regular, size: self.size, mode: 0o600, version }
    }

    async fn read(&mut self, most: usize) -> Result<Vec<u8>, ViewError> {
        let rest = self.text.split_off(most.min(self.text.len()));
        Ok(std::mem::replace(&mut self.text, rest))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_name_and_the_part_are_taken_apart_however_they_are_written() {
        for (address, name, pointer) in [
            ("1-A", "1-A", ""),
            ("1-A.2-B", "1-A.2-B", ""),
            ("1-A?q=/a/0", "1-A", "/a/0"),
            ("1-A/?q=/a", "1-A", "/a"),
            ("1-A?q=.a[0].b", "1-A", "/a/0/b"),
            ("1-A?q=a.b", "1-A", "/a/b"),
            ("1-A/a/0", "1-A", "/a/0"),
            ("1-A?q=", "1-A", ""),
            ("1-A/", "1-A", ""),
            ("../1-A", "..", "/1-A"),
            ("", "", ""),
        ] {
            assert_eq!(parts(address), (name, pointer.to_owned()), "{address}");
        }
    }

    #[test]
    fn a_part_that_is_not_there_names_what_is() {
        let value = json!({ "a": { "b": [1, 2], "c": "x" }, "d": null, "e": {} });
        for (pointer, there) in [
            ("/x", "it has the members a, d, e"),
            ("/a/x/y", "`/a` has the members b, c"),
            ("/a/b/7", "`/a/b` is a list of 2"),
            ("/a/c/x", "`/a/c` is a text"),
            ("/d/x", "`/d` is null"),
            ("/e/x", "`/e` is an empty object"),
        ] {
            assert_eq!(what_is_there(&value, pointer), there, "{pointer}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_names_those_that_are_like_it() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (name, known, expected) in [
            ("1-auth", &["1-Auth", "2-Db"][..], "; like it: agent://1-Auth"),
            ("1-Aut", &["1-Auth", "2-Db"], "; like it: agent://1-Auth"),
            ("x", &["1-Auth", "2-Db"], "; there are agent://1-Auth, agent://2-Db"),
            ("x", &[], "; no subagent of this session has ended"),
        ] {
            assert_eq!(hint(name, &names(known)), expected, "{name}");
        }
        let many = vec!["1-Auth".to_owned(); 99];
        assert!(hint("x", &many).len() < 100, "not all are named");
    }
}
