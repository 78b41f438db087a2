//! One model of the file of models.

use std::collections::BTreeMap;

use super::api_name::ApiName;
use super::compat::{CompatSwitches, compat};
use super::fields::{Fields, Mistake};
use super::provider::headers;
use crate::prices::{ModelPrice, nanodollars};
use crate::secret::ValueSource;
use crate::yaml::{Node, Value};

/// What the user says about a model. What is absent is as it is elsewhere, or unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelEntry {
    /// Its name for people.
    pub name: Option<String>,
    /// Its wire API, if it is not that of its provider.
    pub api: Option<ApiName>,
    /// Whether it thinks before it answers.
    pub thinking: Option<bool>,
    /// The thinking levels that it knows.
    pub levels: Vec<String>,
    /// Whether it reads images.
    pub images: Option<bool>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// What it costs.
    pub price: Option<ModelPrice>,
    /// How many tokens it can read and write in one request.
    pub context: Option<u64>,
    /// How many tokens it can write in one answer.
    pub output: Option<u64>,
    /// Headers of its requests, besides those of its provider.
    pub headers: BTreeMap<String, ValueSource>,
    /// How its server departs from the API, besides what holds for its provider.
    pub compat: CompatSwitches,
}

/// The names of thinking levels, in ascending order.
const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/// Keys that other programs know and that have no effect.
const PLANNED: [&str; 2] = ["contextPromotionTarget", "premiumMultiplier"];

impl ModelEntry {
    /// Parses a model whose key is `path`; the members are the rest after its id.
    pub(super) fn parse(
        mut fields: Fields<'_>,
        warnings: &mut Vec<Mistake>,
    ) -> Result<Self, Mistake> {
        let entry = Self {
            name: fields.text("name")?,
            api: fields.read("api", ApiName::read)?,
            thinking: fields.flag("reasoning")?,
            levels: levels(&mut fields, warnings)?,
            images: fields.read("input", images)?,
            tools: fields.flag("tools")?,
            price: price(&mut fields, warnings)?,
            context: fields.count("contextWindow")?,
            output: fields.count("maxTokens")?,
            headers: headers(&mut fields)?,
            compat: compat(&mut fields, warnings)?,
        };
        fields.rest(&PLANNED, warnings);
        Ok(entry)
    }
}

fn levels(fields: &mut Fields<'_>, warnings: &mut Vec<Mistake>) -> Result<Vec<String>, Mistake> {
    let Some((_, node)) = fields.take("thinking") else { return Ok(Vec::new()) };
    let mut thinking = Fields::of(node, fields.key("thinking"))?;
    const EXPECTED: &str = "a thinking level: off, minimal, low, medium, high or xhigh";
    let level = |value: &Value| match value {
        Value::Text(text) => LEVELS.iter().position(|level| level == text).ok_or(EXPECTED),
        // YAML reads `off` as a text here, but other programs write `false`.
        Value::Bool(false) => Ok(0),
        _ => Err(EXPECTED),
    };
    let least = thinking.read("minLevel", level)?.unwrap_or(1);
    let most = thinking.read("maxLevel", level)?.unwrap_or(LEVELS.len() - 2);
    let listed = thinking.read("levels", |value| match value {
        Value::List(list) => list.iter().map(|node| level(&node.value)).collect(),
        _ => Err("a list of thinking levels"),
    })?;
    thinking.rest(&["defaultLevel", "mode"], warnings);
    let mut levels: Vec<usize> = listed.unwrap_or_else(|| (least..=most).collect());
    levels.sort_unstable();
    levels.dedup();
    Ok(levels.into_iter().filter_map(|at| LEVELS.get(at)).map(|&it| it.to_owned()).collect())
}

/// Returns whether images are among the inputs.
fn images(value: &Value) -> Result<bool, &'static str> {
    const EXPECTED: &str = "a list of `text` and `image`";
    let Value::List(list) = value else { return Err(EXPECTED) };
    let kinds = list.iter().map(|node| match &node.value {
        Value::Text(kind) if kind == "text" => Ok(false),
        Value::Text(kind) if kind == "image" => Ok(true),
        _ => Err(EXPECTED),
    });
    Ok(kinds.collect::<Result<Vec<_>, _>>()?.contains(&true))
}

fn price(
    fields: &mut Fields<'_>,
    warnings: &mut Vec<Mistake>,
) -> Result<Option<ModelPrice>, Mistake> {
    let Some((line, node)) = fields.take("cost") else { return Ok(None) };
    let mut cost = Fields::of(node, fields.key("cost"))?;
    let dollars = |value: &Value| {
        nanodollars(value).ok_or("a number of US dollars per million tokens, 0 or more")
    };
    let (input, output) = (cost.read("input", dollars)?, cost.read("output", dollars)?);
    let (Some(input), Some(output)) = (input, output) else {
        return Err(fields.mistake(line, "cost", "a mapping with `input` and `output`"));
    };
    let price = ModelPrice {
        input,
        output,
        cache_read: cost.read("cacheRead", dollars)?.unwrap_or(input),
        cache_write: cost.read("cacheWrite", dollars)?.unwrap_or(input),
    };
    cost.rest(&["tiers"], warnings);
    Ok(Some(price))
}

/// Returns the id of a model in a list.
pub(super) fn id_of(node: &Node, path: &str) -> Result<String, Mistake> {
    let mut fields = Fields::of(node, path.to_owned())?;
    let line = node.line;
    let id = fields.text("id")?;
    id.filter(|id| is_model_id(id)).ok_or_else(|| fields.mistake(line, "id", "the id of a model"))
}

/// Returns whether a model can have this id.
pub(super) fn is_model_id(id: &str) -> bool {
    (1..=256).contains(&id.len()) && !id.chars().any(|letter| letter.is_control() || letter == ' ')
}
