//! Reads a plan: checks its keys, deserializes it, and validates it.

use std::io::Read;
use std::path::{Path, PathBuf};

use config::nearest;
use protocol::utf8_text;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::format::PlanFile;
use super::text::{PlanText, read_all, read_file};
use super::{Plan, schema, validate};
use crate::error::{Error, ErrorKind};
use crate::not_implemented::instead_of_plan_key;

/// The longest plan, in bytes.
const LONGEST: u64 = 10_000_000;

/// The source of a plan: the value of `--plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Standard,
}

impl PlanSource {
    /// Parses the value of `--plan`.
    pub(crate) fn of(path: &Path) -> Self {
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
pub(crate) fn read(source: &PlanSource, standard: &mut dyn Read) -> Result<Plan, Error> {
    let name = source.name();
    let what = format!("cannot read the plan {name}");
    let bytes = match source {
        PlanSource::Standard => read_all(standard, LONGEST, &what)?,
        PlanSource::File(path) => read_file(path, LONGEST, &what)?,
    };
    let whole = utf8_text(bytes)
        .map_err(|(error, _bytes)| Error::new(ErrorKind::Plan, what).because(error.to_string()))?;
    let text = PlanText { name: &name, whole: &whole };
    check_keys(text)?;
    let file: PlanFile = toml::from_str(&whole).map_err(|error| text.parse_error(&error))?;
    validate::validate(text, source.folder(), file)
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
fn check_keys(text: PlanText<'_>) -> Result<(), Error> {
    let plan = DeTable::parse(text.whole).map_err(|error| {
        let span = error.span().unwrap_or_default();
        match text.other_format() {
            Some(format) => text
                .error(&span, format!("this is {format}, and a plan is TOML"))
                .hint("regatta schema plan"),
            None => text.error(&span, error.message().trim_end()),
        }
    })?;
    let schema = schema();
    let properties = &schema["properties"];
    let root = KeyTable { what: "a plan", keys: keys(&schema) };
    let limits = KeyTable { what: "limits", keys: keys(&properties["limits"]) };
    let task = KeyTable { what: "a task", keys: keys(&properties["task"]["items"]) };
    root.check(text, plan.get_ref())?;
    for (key, value) in plan.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("limits", DeValue::Table(table)) => limits.check(text, table)?,
            ("task", DeValue::Array(tasks)) => {
                for value in tasks {
                    if let DeValue::Table(table) = value.get_ref() {
                        task.check(text, table)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn keys(schema: &Value) -> Vec<String> {
    let properties = schema["properties"].as_object();
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

impl KeyTable {
    fn check(&self, text: PlanText<'_>, table: &DeTable<'_>) -> Result<(), Error> {
        // Sorts the keys by position, so that the error is about the first wrong key in the file.
        let mut found: Vec<_> = table.keys().collect();
        found.sort_by_key(|key| key.span().start);
        for key in found {
            let name: &str = key.get_ref().as_ref();
            if self.keys.iter().any(|known| known == name) {
                continue;
            }
            return Err(match instead_of_plan_key(self.what, name) {
                Some(instead) => text
                    .error(&key.span(), format!("`{name}` in {} is not implemented yet", self.what))
                    .hint(instead),
                None => self.unknown(
                    text.error(&key.span(), format!("`{name}` is not a key of {}", self.what)),
                    name,
                ),
            });
        }
        Ok(())
    }

    fn unknown(&self, error: Error, name: &str) -> Error {
        match nearest(name, self.keys.iter().map(String::as_str)) {
            Some(near) => error.hint(near),
            None => error.because(format!("the keys are {}", self.keys.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests;
