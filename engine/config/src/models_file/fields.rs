//! Reads the members of a mapping by name, and says which were not read.

use std::collections::BTreeMap;

use protocol::quote_within;

use crate::mistake::Mistake;
use crate::nearest::nearest;
use crate::yaml::{Node, Value};

/// Returns the line of a member by its keys, from the outside in, or of the last one that is there. The key
/// of a mapping in a list is its `id`.
pub(crate) fn line_of(node: &Node, keys: &[&str]) -> u64 {
    let is_named = |name: &Node, key: &str| name.value.as_name().as_deref() == Some(key);
    let (mut line, mut node) = (node.line, node);
    for key in keys {
        let found = match &node.value {
            Value::Map(members) => {
                let member = members.iter().find(|(name, _)| is_named(name, key));
                member.map(|(name, value)| (name.line, value))
            }
            Value::List(nodes) => {
                let has_id = |node: &&Node| match &node.value {
                    Value::Map(members) => {
                        members.iter().any(|(name, id)| is_named(name, "id") && is_named(id, key))
                    }
                    _ => false,
                };
                nodes.iter().find(has_id).map(|node| (node.line, node))
            }
            _ => None,
        };
        let Some((at, below)) = found else { break };
        (line, node) = (at, below);
    }
    line
}

/// The members of a mapping that are not read yet.
pub(crate) struct Fields<'a> {
    /// The key of the mapping, with a dot at its end unless it is the whole file.
    path: String,
    members: BTreeMap<String, (u64, &'a Node)>,
    /// The names that were asked for.
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Returns the members of `node`, whose key is `path`.
    pub(crate) fn of(node: &'a Node, path: String) -> Result<Self, Mistake> {
        let Value::Map(members) = &node.value else {
            let what = if path.is_empty() { "the file" } else { &format!("`{path}`") };
            let message = format!("{what} must be a mapping of keys to values");
            return Err(Mistake::in_line(node.line, message));
        };
        let path = if path.is_empty() { path } else { format!("{path}.") };
        let named = members.iter().map(|(name, value)| {
            let line = name.line;
            let text = name.value.as_name();
            let text = text.ok_or_else(|| {
                Mistake::in_line(line, format!("a key of `{path}` must be a word"))
            })?;
            Ok((text, (line, value)))
        });
        Ok(Self { members: named.collect::<Result<_, _>>()?, path, known: Vec::new() })
    }

    /// Returns the line and the value of a member. An empty value is none.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<(u64, &'a Node)> {
        self.known.push(name);
        self.members.remove(name).filter(|(_, node)| node.value != Value::Null)
    }

    /// Returns a member that is read by `read`, which returns what it should be if it is not.
    pub(crate) fn read<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'a Value) -> Result<T, &'static str>,
    ) -> Result<Option<T>, Mistake> {
        let Some((line, node)) = self.take(name) else { return Ok(None) };
        read(&node.value).map(Some).map_err(|expected| self.mistake(line, name, expected))
    }

    /// Returns a text.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, Mistake> {
        self.read(name, |value| match value {
            Value::Text(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            _ => Err("a text"),
        })
    }

    /// Returns a flag.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Mistake> {
        self.read(name, |value| match value {
            Value::Bool(flag) => Ok(*flag),
            _ => Err("`true` or `false`"),
        })
    }

    /// Returns a number of at least one.
    pub(crate) fn count(&mut self, name: &'static str) -> Result<Option<u64>, Mistake> {
        self.read(name, |value| match value {
            Value::Integer(count) if (1..=1_000_000_000).contains(count) => Ok(*count),
            _ => Err("a whole number from 1 to 1000000000"),
        })
    }

    /// Returns the members of a mapping, with the line of each. One that is not there is empty.
    pub(crate) fn take_map(
        &mut self,
        name: &'static str,
    ) -> Result<Vec<(String, u64, &'a Node)>, Mistake> {
        let Some((_, node)) = self.take(name) else { return Ok(Vec::new()) };
        let below = Self::of(node, format!("{}{name}", self.path))?;
        Ok(below.members.into_iter().map(|(name, (line, node))| (name, line, node)).collect())
    }

    /// Returns the mistake that the member `name` is not what it must be.
    pub(crate) fn mistake(&self, line: u64, name: &str, expected: &str) -> Mistake {
        Mistake::in_line(line, format!("`{}{name}` must be {expected}", self.path))
    }

    /// Returns the key of a member.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    /// Adds warnings about the members that were not read. Those in `planned` are known, but have
    /// no effect.
    pub(crate) fn rest(self, planned: &[&'static str], warnings: &mut Vec<Mistake>) {
        for (name, (line, _)) in self.members {
            let name = quote_within(&name, 60);
            let message = if planned.contains(&name.as_str()) {
                format!("`{}{name}` is not implemented yet and has no effect", self.path)
            } else {
                let near = nearest(&name, self.known.iter().copied());
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                format!("there is no key `{}{name}`{near}", self.path)
            };
            warnings.push(Mistake::in_line(line, message));
        }
    }
}
