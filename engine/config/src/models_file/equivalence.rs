//! Which models of several providers are the same one.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::Fields;
use crate::mistake::Mistake;
use crate::yaml::Value;

/// Which models are the same one under another name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Equivalence {
    /// The common id of a model, by its `PROVIDER/ID`.
    pub overrides: BTreeMap<String, String>,
    /// The models, by `PROVIDER/ID`, that are meant by no id that several providers have.
    pub exclude: BTreeSet<String>,
}

impl Equivalence {
    /// Parses the member `equivalence` of the file.
    pub(super) fn parse(
        top: &mut Fields<'_>,
        warnings: &mut Vec<Mistake>,
    ) -> Result<Self, Mistake> {
        const LIST: &str = "a list of models, each as `PROVIDER/ID`";
        let Some((_, node)) = top.take("equivalence") else { return Ok(Self::default()) };
        let mut fields = Fields::of(node, top.key("equivalence"))?;
        let mut read = Self::default();
        for (name, line, node) in fields.take_map("overrides")? {
            let id = match &node.value {
                Value::Text(id) if is_model(&name) && !id.trim().is_empty() => id.trim(),
                _ => {
                    let name = protocol::quote_within(&name, 60);
                    let key = format!("overrides.{name}");
                    return Err(fields.mistake(line, &key, "an id, and its key a `PROVIDER/ID`"));
                }
            };
            read.overrides.insert(name, id.to_owned());
        }
        let excluded = fields.read("exclude", |value| {
            let Value::List(list) = value else { return Err(LIST) };
            let names = list.iter().map(|node| match &node.value {
                Value::Text(name) if is_model(name) => Ok(name.clone()),
                _ => Err(LIST),
            });
            names.collect::<Result<_, _>>()
        })?;
        read.exclude = excluded.unwrap_or_default();
        fields.rest(&[], warnings);
        Ok(read)
    }
}

/// Returns whether a name is that of a model with its provider.
fn is_model(name: &str) -> bool {
    name.parse::<protocol::ModelRoute>().is_ok()
}
