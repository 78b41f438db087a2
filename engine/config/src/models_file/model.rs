//! One model of the file of models.

use std::collections::BTreeMap;

use protocol::ThinkingMode;

use super::api_name::ApiName;
use super::compat::{CompatSwitches, compat};
use super::fields::Fields;
use super::provider::{base_url, headers};
use super::thinking::ModelThinking;
use crate::mistake::Mistake;
use crate::prices::{ModelPrice, nanodollars};
use crate::secret::ValueSource;
use crate::yaml::{Node, Value};

/// What the user says about a model. What is absent is as it is elsewhere, or unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelEntry {
    /// Its name for people.
    pub name: Option<String>,
    /// The base URL of its API, if it is not that of its provider.
    pub base_url: Option<String>,
    /// Its wire API, if it is not that of its provider.
    pub api: Option<ApiName>,
    /// Whether it thinks before it answers.
    pub thinking: Option<bool>,
    /// The thinking levels that it knows.
    pub levels: Vec<String>,
    /// How a request states how much to think.
    pub thinking_mode: Option<ThinkingMode>,
    /// How much it is to think unless a request says otherwise.
    pub default_level: Option<String>,
    /// Whether it reads images.
    pub images: Option<bool>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// What it costs.
    pub price: Option<ModelPrice>,
    /// What it costs where it reads more than a number of tokens, in ascending order.
    pub price_tiers: Vec<(u64, ModelPrice)>,
    /// How many tokens it can read and write in one request.
    pub context: Option<u64>,
    /// How many tokens it can write in one answer.
    pub output: Option<u64>,
    /// Headers of its requests, besides those of its provider.
    pub headers: BTreeMap<String, ValueSource>,
    /// How its server departs from the API, besides what holds for its provider.
    pub compat: CompatSwitches,
}

/// Keys that other programs know and that have no effect.
const PLANNED: [&str; 2] = ["contextPromotionTarget", "premiumMultiplier"];

impl ModelEntry {
    /// Parses a model whose key is `path`; the members are the rest after its id.
    pub(super) fn parse(
        mut fields: Fields<'_>,
        warnings: &mut Vec<Mistake>,
    ) -> Result<Self, Mistake> {
        let thinks = fields.flag("reasoning")?;
        let thinking = ModelThinking::parse(&mut fields, warnings)?;
        let (price, price_tiers) = price(&mut fields, warnings)?.unzip();
        let entry = Self {
            name: fields.text("name")?,
            base_url: fields.read("baseUrl", base_url)?,
            api: fields.read("api", ApiName::read)?,
            thinking: thinks.or(thinking.is_given.then_some(true)),
            levels: thinking.levels,
            thinking_mode: thinking.mode,
            default_level: thinking.default_level,
            images: fields.read("input", images)?,
            tools: fields.flag("tools")?,
            price,
            price_tiers: price_tiers.unwrap_or_default(),
            context: fields.count("contextWindow")?,
            output: fields.count("maxTokens")?,
            headers: headers(&mut fields)?,
            compat: compat(&mut fields, warnings)?,
        };
        fields.rest(&PLANNED, warnings);
        Ok(entry)
    }
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

/// The maximum number of tiers of a price.
const MOST_TIERS: usize = 4;

/// The price of a model, and its tiers.
type TieredPrice = (ModelPrice, Vec<(u64, ModelPrice)>);

fn price(
    fields: &mut Fields<'_>,
    warnings: &mut Vec<Mistake>,
) -> Result<Option<TieredPrice>, Mistake> {
    let Some((line, node)) = fields.take("cost") else { return Ok(None) };
    let mut cost = Fields::of(node, fields.key("cost"))?;
    let price = rates(&mut cost)?
        .ok_or_else(|| fields.mistake(line, "cost", "a mapping with `input` and `output`"))?;
    let tiers = match cost.take("tiers") {
        None => Vec::new(),
        Some((line, Node { value: Value::List(list), .. })) if list.len() <= MOST_TIERS => {
            let tiers = list.iter().enumerate().map(|(at, node)| {
                let mut tier = Fields::of(node, format!("{}[{at}]", cost.key("tiers")))?;
                let above = tier.count("inputTokensAbove")?;
                let (Some(above), Some(price)) = (above, rates(&mut tier)?) else {
                    let expected = "a mapping with `inputTokensAbove`, `input` and `output`";
                    return Err(cost.mistake(node.line, &format!("tiers[{at}]"), expected));
                };
                tier.rest(&[], warnings);
                Ok((above, price))
            });
            let mut tiers: Vec<_> = tiers.collect::<Result<_, _>>()?;
            tiers.sort_by_key(|(above, _)| *above);
            if tiers.windows(2).any(|two| two[0].0 == two[1].0) {
                return Err(cost.mistake(line, "tiers", "tiers of different `inputTokensAbove`"));
            }
            tiers
        }
        Some((line, _)) => {
            return Err(cost.mistake(line, "tiers", &format!("a list of up to {MOST_TIERS}")));
        }
    };
    cost.rest(&[], warnings);
    Ok(Some((price, tiers)))
}

/// Returns the rates of a price; `None` if one that it must have is not there.
fn rates(cost: &mut Fields<'_>) -> Result<Option<ModelPrice>, Mistake> {
    let dollars = |value: &Value| {
        nanodollars(value).ok_or("a number of US dollars per million tokens, 0 or more")
    };
    let (input, output) = (cost.read("input", dollars)?, cost.read("output", dollars)?);
    let (read, write) = (cost.read("cacheRead", dollars)?, cost.read("cacheWrite", dollars)?);
    let (Some(input), Some(output)) = (input, output) else { return Ok(None) };
    Ok(Some(ModelPrice {
        input,
        output,
        cache_read: read.unwrap_or(input),
        cache_write: write.unwrap_or(input),
    }))
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
