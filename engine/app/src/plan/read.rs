//! Reads a plan: parses it, checks its keys, deserializes it, and validates it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use config::{Mistake, nearest};
use protocol::utf8_text;
use serde::Deserialize as _;
use serde_json::Value;

use super::format::PlanFile;
use super::node::{Node, NodeValue};
use super::other_keys::key_for;
use super::planned_keys::instead_of_key;
use super::syntax::PlanSyntax;
use super::text::{PlanText, read_all, read_file};
use super::{Plan, schema, validate};
use crate::error::{Error, ErrorKind};

/// The longest plan, in bytes.
const LONGEST: u64 = 10_000_000;

/// The source of a plan: the value of `--plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Standard,
}

impl PlanSource {
    /// Parses the value of `--plan`.
    pub fn of(path: &Path) -> Self {
        if path == Path::new("-") { Self::Standard } else { Self::File(path.to_owned()) }
    }

    fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Standard => "standard input".to_owned(),
        }
    }

    /// Returns the folder to which the paths in the plan are relative.
    fn folder(&self) -> &Path {
        match self {
            Self::File(path) => path.parent().unwrap_or(Path::new("")),
            Self::Standard => Path::new(""),
        }
    }
}

/// Reads a plan.
///
/// # Errors
/// The plan cannot be read, or is invalid; then the error has a line and column.
pub fn read(source: &PlanSource, standard: &mut dyn Read) -> Result<Plan, Error> {
    let name = source.name();
    let what = format!("cannot read the plan {name}");
    let bytes = match source {
        PlanSource::Standard => read_all(standard, LONGEST, &what)?,
        PlanSource::File(path) => read_file(path, LONGEST, &what)?,
    };
    let whole = utf8_text(bytes)
        .map_err(|(error, _bytes)| Error::new(ErrorKind::Plan, what).because(error.to_string()))?;
    let syntax = PlanSyntax::of(&name, &whole);
    let text = PlanText { name: &name, whole: &whole, syntax, keys: &BTreeMap::new() };
    if whole.trim().is_empty() {
        return Err(text.error(&(0..0), "the plan is empty").hint("regatta schema plan"));
    }
    let root = syntax.parse(&whole).map_err(|mistake| malformed(text, syntax, &mistake))?;
    let root = match root.value {
        NodeValue::Null => Node { value: NodeValue::Map(Vec::new()), ..root },
        NodeValue::Map(_) => root,
        NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::Text(_) | NodeValue::List(_) => {
            let what = "expected a table with the keys of a plan";
            let version = text.syntax.entry("version", "1");
            return Err(text
                .error(&root.span, what)
                .hint(format!("{version} (first, and then {})", text.syntax.first_task()))
                .hint("regatta schema plan"));
        }
    };
    let text = PlanText { keys: &root.keys(), ..text };
    check_keys(text, &root)?;
    let file = PlanFile::deserialize(root).map_err(|error| text.value_error(&error))?;
    validate::validate(text, source.folder(), file)
}

/// Returns the error of a text that does not have its syntax.
fn malformed(text: PlanText<'_>, syntax: PlanSyntax, mistake: &Mistake) -> Error {
    let error = text.mistake(mistake);
    match PlanSyntax::guess(text.whole).filter(|other| *other != syntax) {
        None => error,
        Some(other) => error.because(format!(
            "it was read as {}, by the ending of its name, and looks like {}",
            syntax.name(),
            other.name()
        )),
    }
}

/// The known keys of a kind of table in a plan.
struct KeyTable {
    /// The name of the table in messages.
    what: &'static str,
    /// Its keys.
    keys: Vec<String>,
}

/// Checks the keys of a plan before it is deserialized.
///
/// # Errors
/// A key is not implemented yet, or is unknown; then the nearest known key is the hint.
fn check_keys(text: PlanText<'_>, root: &Node) -> Result<(), Error> {
    let schema = schema();
    let properties = &schema["properties"];
    let plan = KeyTable { what: "a plan", keys: keys(&schema) };
    let limits = KeyTable { what: "limits", keys: keys(&properties["limits"]) };
    let task = KeyTable { what: "a task", keys: keys(&properties["task"]["items"]) };
    plan.check(text, root)?;
    let check_limits = |table: &Node| {
        let own = table.entries().iter().find(|(key, _)| key.name == "limits");
        own.map_or(Ok(()), |(_, own)| limits.check(text, own))
    };
    check_limits(root)?;
    let tasks = root.entries().iter().filter(|(key, _)| key.name == "task");
    for (key, value) in tasks.clone() {
        if matches!(value.value, NodeValue::Map(_)) {
            let what = "`task` is a list of tasks, and this is a table";
            return Err(text.error(&key.span, what).hint(text.syntax.first_task()));
        }
    }
    for table in tasks.flat_map(|(_, tasks)| tasks.items()) {
        task.check(text, table)?;
        check_limits(table)?;
    }
    Ok(())
}

fn keys(schema: &Value) -> Vec<String> {
    let properties = schema["properties"].as_object();
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

impl KeyTable {
    fn check(&self, text: PlanText<'_>, table: &Node) -> Result<(), Error> {
        for (key, _) in table.entries() {
            let name = key.name.as_str();
            if self.keys.iter().any(|known| known == name) {
                continue;
            }
            return Err(match instead_of_key(self.what, name) {
                Some(instead) => text
                    .error(&key.span, format!("`{name}` in {} is not implemented yet", self.what))
                    .hint(instead),
                None => {
                    let what = format!("`{name}` is not a key of {}", self.what);
                    self.unknown(text.syntax, text.error(&key.span, what), name)
                }
            });
        }
        Ok(())
    }

    fn unknown(&self, syntax: PlanSyntax, error: Error, name: &str) -> Error {
        let near = || nearest(name, self.keys.iter().map(String::as_str));
        match key_for(self.what, name).or_else(near) {
            Some("limits") => {
                let wall = format!("{{ {} }}", syntax.entry("wall", "\"20m\""));
                error.hint(syntax.entry("limits", &wall))
            }
            Some(near) => error.hint(near),
            None => error
                .because(format!("the keys are {}", self.keys.join(", ")))
                .hint("regatta schema plan"),
        }
    }
}

#[cfg(test)]
mod syntax_tests;
#[cfg(test)]
mod tests;
