//! Reads the facts in the `api.json` of models.dev: facts only. What it says about addresses,
//! headers, bodies and packages is not read.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::facts::{ModelFacts, is_text};
use super::table::{FactsTable, ProviderFacts};
use crate::price_tiers::{PriceTier, PriceTiers};
use crate::rate::Rate;
use crate::usage::{Price, PriceSource};

/// The names that models.dev has for providers that are called otherwise here.
const NAMES: [(&str, &str); 3] =
    [("togetherai", "together"), ("fireworks-ai", "fireworks"), ("lmstudio", "lm-studio")];

/// The maximum number of models that are taken.
const MOST: usize = 50_000;

/// The thinking levels, in ascending order, with the words of models.dev.
const LEVELS: [(&str, &str); 6] = [
    ("none", "off"),
    ("minimal", "minimal"),
    ("low", "low"),
    ("medium", "medium"),
    ("high", "high"),
    ("xhigh", "xhigh"),
];

/// The facts that were taken, and how many entries were not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// The facts.
    pub table: FactsTable,
    /// How many models were taken.
    pub models: usize,
    /// How many entries were left out, because they are not what a model can be.
    pub left_out: usize,
}

/// Why a document is not used.
#[derive(Debug, thiserror::Error)]
pub enum ModelsDevError {
    /// It is not JSON.
    #[error("it is not JSON")]
    Malformed(#[source] serde_json::Error),
    /// It is JSON of another shape.
    #[error("it has no provider with `models`, as the api.json of models.dev has")]
    Shape,
    /// It has too many models.
    #[error("it has more than {MOST} models")]
    TooMany,
}

/// Reads the facts in `bytes`. `source` and `date` say where they are from.
///
/// # Errors
/// It is not a document of models.dev.
pub fn parse_models_dev(
    bytes: &[u8],
    source: &str,
    date: &str,
) -> Result<Refreshed, ModelsDevError> {
    let document: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(ModelsDevError::Malformed)?;
    let mut providers: BTreeMap<String, ProviderFacts> = BTreeMap::new();
    let (mut taken, mut left_out, mut seen) = (0, 0, 0);
    for (name, provider) in &document {
        let Some(models) = provider.get("models").and_then(Value::as_object) else { continue };
        let own = NAMES.iter().find(|(theirs, _)| theirs == name);
        let name = own.map_or(name.as_str(), |(_, ours)| ours);
        if format!("{name}/x").parse::<protocol::ModelRoute>().is_err() {
            left_out += 1;
            continue;
        }
        for (id, model) in models {
            seen += 1;
            match facts(model).filter(|_| is_text(id)) {
                Some(Read::Chat(facts)) => {
                    taken += 1;
                    let models = &mut providers.entry(name.to_owned()).or_default().models;
                    models.insert(id.clone(), *facts);
                }
                Some(Read::Other) => {}
                None => left_out += 1,
            }
        }
        if seen > MOST {
            return Err(ModelsDevError::TooMany);
        }
    }
    if taken == 0 {
        return Err(ModelsDevError::Shape);
    }
    let table = FactsTable { source: source.to_owned(), date: date.to_owned(), providers };
    Ok(Refreshed { table, models: taken, left_out })
}

/// What an entry is.
enum Read {
    /// A model that reads and writes text.
    Chat(Box<ModelFacts>),
    /// Something else: for images, for speech, or no longer there.
    Other,
}

/// Returns the facts of an entry; `None` if a value is not what it can be.
fn facts(model: &Value) -> Option<Read> {
    let model = model.as_object()?;
    let writes = |kind: &str, side: &str| {
        let list = model.get("modalities").and_then(|it| it.get(side)).and_then(Value::as_array);
        list.map(|list| list.iter().any(|it| it == kind))
    };
    let gone = model.get("status").is_some_and(|status| status == "deprecated");
    if gone || writes("text", "output") == Some(false) || writes("text", "input") == Some(false) {
        return Some(Read::Other);
    }
    let flag = |name: &str| match model.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(Value::Bool(flag)) => Some(Some(*flag)),
        // Some entries say more about their tools.
        Some(Value::Object(more)) => Some(more.get("supported").and_then(Value::as_bool)),
        Some(_other) => None,
    };
    let limit = |name: &str| match model.get("limit").and_then(|limit| limit.get(name)) {
        None | Some(Value::Null) => Some(None),
        // A limit that is not known is 0 there.
        Some(count) => Some(Some(count.as_u64()?).filter(|count| *count > 0)),
    };
    let price = match model.get("cost") {
        None | Some(Value::Null) => None,
        Some(cost) => Some(price(cost)?),
    };
    let facts = ModelFacts {
        name: model.get("name").and_then(Value::as_str).map(str::to_owned),
        context: limit("context")?,
        output: limit("output")?,
        images: writes("image", "input"),
        tools: flag("tool_call")?,
        thinking: flag("reasoning")?,
        levels: levels(model.get("reasoning_options")),
        price,
        ..ModelFacts::default()
    };
    facts.is_sane().then(|| Read::Chat(Box::new(facts)))
}

fn levels(options: Option<&Value>) -> Vec<String> {
    let options = options.and_then(Value::as_array).into_iter().flatten();
    let efforts = options.filter(|option| option.get("type").is_some_and(|kind| kind == "effort"));
    let values: Vec<_> = efforts
        .filter_map(|option| option.get("values").and_then(Value::as_array))
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let known = LEVELS.iter().filter(|(theirs, _)| values.contains(theirs));
    known.map(|(_, ours)| (*ours).to_owned()).collect()
}

fn price(cost: &Value) -> Option<Price> {
    let rate = |of: &Value, name: &str| match of.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(dollars) => Some(Some(Rate::per_million(dollars.as_f64()?)?)),
    };
    let tier = |of: &Value, above: u64| {
        Some(PriceTier {
            above,
            input: rate(of, "input")??,
            output: rate(of, "output")??,
            cache_read: rate(of, "cache_read")?,
            cache_write: rate(of, "cache_write")?,
        })
    };
    let tiers = cost.get("tiers").and_then(Value::as_array).into_iter().flatten();
    let sized = tiers.take(PriceTiers::MOST).filter_map(|of| {
        let size = of.get("tier").and_then(|tier| tier.get("size"));
        let least = || of.get("context").and_then(|context| context.get("min"));
        tier(of, size.or_else(least)?.as_u64()?)
    });
    let over_200k = || tier(cost.get("context_over_200k")?, 200_000);
    Some(Price {
        input: rate(cost, "input")??,
        output: rate(cost, "output")??,
        cache_read: rate(cost, "cache_read")?,
        cache_write: rate(cost, "cache_write")?,
        tiers: PriceTiers::of(sized)
            .filter(|tiers| !tiers.is_empty())
            .or_else(|| PriceTiers::of(over_200k()))
            .unwrap_or_default(),
        source: PriceSource::Catalogue,
    })
}
