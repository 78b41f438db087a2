//! Which keys a plan may have, and which come later.

use config::nearest;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::place::Text;
use super::schema;
use crate::error::Error;

/// One kind of table in a plan.
struct Table {
    /// How it is called in sentences.
    what: &'static str,
    /// Its keys.
    keys: Vec<String>,
    /// Keys that come later, with what to do today.
    later: &'static [(&'static str, &'static str)],
}

const OWN_CHECK: &str = "check it at the end of the command, or say so in the prompt";

const LATER: [(&str, &str); 2] = [
    ("fallback", "leave it out: the run ends where its model cannot be had"),
    ("verify", "run it yourself after the run"),
];

const LATER_IN_LIMITS: [(&str, &str); 1] = [("cost", "limit the tokens instead: tokens = 400_000")];

const LATER_IN_TASK: [(&str, &str); 3] = [
    ("agent", "leave it out: every prompt has the agent `task`"),
    ("scope", OWN_CHECK),
    ("proofs", OWN_CHECK),
];

/// Checks the keys of a plan before anything else is read from it.
///
/// # Errors
/// A key that is not built yet, or that nobody knows, with the nearest that is known.
pub(super) fn check(text: Text<'_>) -> Result<(), Error> {
    let plan = DeTable::parse(text.whole).map_err(|error| {
        text.error(&error.span().unwrap_or_default(), error.message().trim_end())
    })?;
    let schema = schema();
    let properties = &schema["properties"];
    let root = Table { what: "a plan", keys: keys(&schema), later: &LATER };
    let limits =
        Table { what: "limits", keys: keys(&properties["limits"]), later: &LATER_IN_LIMITS };
    let task =
        Table { what: "a task", keys: keys(&properties["task"]["items"]), later: &LATER_IN_TASK };
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

impl Table {
    fn check(&self, text: Text<'_>, table: &DeTable<'_>) -> Result<(), Error> {
        // In the order of the file, so that the first mistake is told first.
        let mut found: Vec<_> = table.keys().collect();
        found.sort_by_key(|key| key.span().start);
        for key in found {
            let name: &str = key.get_ref().as_ref();
            if self.keys.iter().any(|known| known == name) {
                continue;
            }
            let later = self.later.iter().find(|(later, _)| *later == name);
            return Err(match later {
                Some((_, instead)) => text
                    .error(&key.span(), format!("`{name}` in {} is not yet built", self.what))
                    .hint(*instead),
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
