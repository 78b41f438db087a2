//! The prices of models: the setting `prices`.

use std::collections::BTreeMap;

use protocol::ModelRoute;

use crate::value::{Expected, RawValue};
use crate::yaml::{self, Node, Value};

/// The price of a model, in billionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPrice {
    /// The price of tokens that the model reads.
    pub input: u64,
    /// The price of tokens that the model writes.
    pub output: u64,
    /// The price of tokens that are read from a cache.
    pub cache_read: u64,
    /// The price of tokens that are written into a cache.
    pub cache_write: u64,
}

const EXPECTED: Expected = "a mapping of `PROVIDER/ID` to `{ input: …, output: … }` in US dollars per million tokens, \
     with `cacheRead` and `cacheWrite` where they cost something else than `input`";

impl RawValue {
    /// Parses the prices of models.
    pub(crate) fn prices(&self) -> Result<BTreeMap<String, ModelPrice>, Expected> {
        match self {
            Self::Yaml(value) => prices(value),
            Self::Text(words) => match yaml::read(words) {
                Ok(node) => prices(&node.value),
                Err(_malformed) => Err(EXPECTED),
            },
        }
    }
}

fn prices(value: &Value) -> Result<BTreeMap<String, ModelPrice>, Expected> {
    let Value::Map(members) = value else { return Err(EXPECTED) };
    let mut prices = BTreeMap::new();
    for (name, node) in members {
        let model = name.value.as_name().filter(|name| name.parse::<ModelRoute>().is_ok());
        let (Some(model), Some(price)) = (model, price(node)) else { return Err(EXPECTED) };
        if prices.insert(model, price).is_some() {
            return Err(EXPECTED);
        }
    }
    Ok(prices)
}

fn price(node: &Node) -> Option<ModelPrice> {
    let Value::Map(members) = &node.value else { return None };
    let mut given: BTreeMap<String, u64> = BTreeMap::new();
    for (name, node) in members {
        let name = name.value.as_name()?;
        let known = ["input", "output", "cacheRead", "cacheWrite"].contains(&name.as_str());
        if !known || given.insert(name, nanodollars(&node.value)?).is_some() {
            return None;
        }
    }
    let input = *given.get("input")?;
    Some(ModelPrice {
        input,
        output: *given.get("output")?,
        cache_read: given.get("cacheRead").copied().unwrap_or(input),
        cache_write: given.get("cacheWrite").copied().unwrap_or(input),
    })
}

/// Converts dollars to billionths of a dollar. Returns `None` for values that are not between zero
/// and a million.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
pub(crate) fn nanodollars(value: &Value) -> Option<u64> {
    let dollars: f64 = match value {
        Value::Integer(whole) => u32::try_from(*whole).ok()?.into(),
        Value::Number(number) => number.parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            return None;
        }
    };
    (0.0..=1e6).contains(&dollars).then(|| (dollars * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BTreeMap<String, ModelPrice>, Expected> {
        RawValue::Yaml(yaml::read(text).unwrap().value).prices()
    }

    #[test]
    fn a_price_is_exact_and_the_cache_costs_what_reading_costs_unless_said() {
        let text = "
openai/gpt-x: { input: 0.15, output: 1, cacheRead: 0.0375 }
ollama/qwen3:8b: { input: 0, output: 0 }
";
        let openai = ModelPrice {
            input: 150_000_000,
            output: 1_000_000_000,
            cache_read: 37_500_000,
            cache_write: 150_000_000,
        };
        let ollama = ModelPrice { input: 0, output: 0, cache_read: 0, cache_write: 0 };
        let expected =
            [("openai/gpt-x".to_owned(), openai), ("ollama/qwen3:8b".to_owned(), ollama)];
        assert_eq!(read(text), Ok(BTreeMap::from(expected)));
        let words = RawValue::Text("{ollama/qwen3:8b: {input: 0, output: 0}}".to_owned());
        assert_eq!(words.prices(), Ok(BTreeMap::from([("ollama/qwen3:8b".to_owned(), ollama)])));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in [
            "3",
            "[]",
            "gpt: { input: 1, output: 1 }",
            "a/b: 3",
            "a/b: { input: 1 }",
            "a/b: { input: 1, output: -1 }",
            "a/b: { input: 1, output: 99999999999 }",
            "a/b: { input: one, output: 1 }",
            "a/b: { input: 1, output: 1, cache: 1 }",
        ] {
            assert_eq!(read(text), Err(EXPECTED), "{text}");
        }
        assert_eq!(RawValue::Text("{".to_owned()).prices(), Err(EXPECTED));
    }
}
