//! The tokens that a request used, as a provider reports them, and what they cost.

use protocol::{CacheSaving, Cost, CostSource, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::price_tiers::PriceTiers;
use crate::rate::Rate;

/// The price of a model, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Price {
    /// Tokens the model reads.
    pub input: Rate,
    /// Tokens the model writes.
    pub output: Rate,
    /// Tokens read from a cache; the price of `input` if not given.
    #[serde(default, alias = "cache_read", skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Rate>,
    /// Tokens written into a cache; the price of `input` if not given.
    #[serde(default, alias = "cache_write", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Rate>,
    /// The prices of requests in which the model reads many tokens.
    #[serde(default, alias = "tier", skip_serializing_if = "PriceTiers::is_empty")]
    pub tiers: PriceTiers,
    /// Who says so.
    #[serde(skip)]
    pub source: PriceSource,
}

/// Who says what a model costs. The user goes before a cost that the provider reports, and that goes
/// before the catalogue, which may be out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriceSource {
    /// The user, in the settings or in the file of models.
    User,
    /// The catalogue of models.
    #[default]
    Catalogue,
}

impl Price {
    /// Returns a price that depends on neither caches nor the size of requests.
    #[must_use]
    pub fn flat(input: Rate, output: Rate) -> Self {
        let (cache_read, cache_write, tiers) = (None, None, PriceTiers::default());
        Self { input, output, cache_read, cache_write, tiers, source: PriceSource::default() }
    }

    /// Returns the cost of this usage.
    #[must_use]
    pub fn cost_of(&self, usage: &Usage) -> Cost {
        self.cost_with(usage, HourWrites(0))
    }

    fn cost_with(&self, usage: &Usage, HourWrites(hour): HourWrites) -> Cost {
        let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let (input, output, cache_read, cache_write) = match self.tiers.at(read) {
            Some(tier) => (tier.input, tier.output, tier.cache_read, tier.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let hour = hour.min(usage.cache_write);
        let write = cache_write.unwrap_or(input);
        // Where writing into a cache for minutes costs more than reading, writing for an hour costs
        // twice as much as reading.
        let by_the_hour = if write > input { 2 * input.of(hour) } else { write.of(hour) };
        let picodollars = input.of(usage.input)
            + output.of(usage.output)
            + cache_read.unwrap_or(input).of(usage.cache_read)
            + write.of(usage.cache_write - hour)
            + by_the_hour;
        Cost::from_nanodollars(u64::try_from(picodollars.div_ceil(1000)).unwrap_or(u64::MAX))
    }

    /// Returns what the caches have saved, writing into them included; `None` if none was used.
    #[must_use]
    pub fn saving_of(&self, usage: &Usage) -> Option<CacheSaving> {
        self.saving_with(usage, HourWrites(0))
    }

    fn saving_with(&self, usage: &Usage, hour: HourWrites) -> Option<CacheSaving> {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let input = usage.input.saturating_add(cached);
        let uncached = Usage { input, cache_read: 0, cache_write: 0, ..*usage };
        let saving = || CacheSaving::between(self.cost_of(&uncached), self.cost_with(usage, hour));
        usage.has_cached().then(saving)
    }
}

/// How many of the tokens that are written into caches are kept there for an hour instead of minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HourWrites(pub(crate) u64);

/// The usage of a request whose price is not known.
pub(crate) const UNPRICED: Usage = Usage { cost: None, ..Usage::ZERO };

/// Returns a usage that a provider has counted, with its cost where the price is known; `None` if
/// all counts are zero, as some servers send instead of counting.
pub(crate) fn priced(usage: Usage, price: Option<&Price>, hour: HourWrites) -> Option<Usage> {
    let cost = price.map(|price| price.cost_with(&usage, hour));
    let cost_source = if cost.is_some() { CostSource::Priced } else { CostSource::Unknown };
    let cache_saving = price.and_then(|price| price.saving_with(&usage, hour));
    (usage.tokens() > 0).then_some(Usage { cost, cost_source, cache_saving, ..usage })
}

/// Parses the `usage` object of Chat Completions.
pub(crate) fn parse_usage(value: &Value, price: Option<&Price>) -> Option<Usage> {
    let counted = value.as_object()?;
    let count = |of: Option<&Value>| of.and_then(Value::as_u64);
    let prompt = count(counted.get("prompt_tokens"));
    let output = count(counted.get("completion_tokens"));
    // Some servers send zeros instead of counting.
    if prompt.unwrap_or(0) == 0 && output.unwrap_or(0) == 0 {
        return None;
    }
    let details = counted.get("prompt_tokens_details");
    let detail = |name: &str| count(details.and_then(|details| details.get(name)));
    let hit = || count(counted.get("prompt_cache_hit_tokens"));
    let cache_read = detail("cached_tokens").or_else(hit).unwrap_or(0);
    let cache_write = detail("cache_write_tokens").unwrap_or(0);
    let prompt = prompt.unwrap_or(0);
    let read = cache_read.min(prompt);
    let written = cache_write.min(prompt - read);
    let used = Usage {
        input: prompt - read - written,
        output: output.unwrap_or(0),
        cache_read: read,
        cache_write: written,
        ..UNPRICED
    };
    let reported = || counted.get("cost").and_then(Value::as_f64).and_then(dollars);
    let by_user = price.filter(|price| price.source == PriceSource::User);
    let priced = |price: &Price| (price.cost_of(&used), CostSource::Priced);
    let reported = || reported().map(|cost| (cost, CostSource::Reported));
    let cost = by_user.map(priced).or_else(reported).or_else(|| price.map(priced));
    let (cost, cost_source) = cost.unzip();
    let cost_source = cost_source.unwrap_or_default();
    let cache_saving = price.and_then(|price| price.saving_of(&used));
    Some(Usage { cost, cost_source, cache_saving, ..used })
}

/// Converts a cost in dollars, as some providers report it; `None` if it is out of range.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn dollars(dollars: f64) -> Option<Cost> {
    let sane = (0.0..=1e6).contains(&dollars);
    sane.then(|| Cost::from_nanodollars((dollars * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_price_counts_each_kind_of_token() {
        let price: Price = serde_json::from_str(
            r#"{ "input": 3, "output": 15.0, "cache_read": 0.30, "cache_write": 3.75 }"#,
        )
        .unwrap();
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 10_000,
            cache_write: 1000,
            ..UNPRICED
        };
        // 3 + 1.5 + 0.003 + 0.00375 dollars.
        assert_eq!(price.cost_of(&usage).as_nanodollars(), 4_506_750_000);
        let plain = Price { cache_read: None, cache_write: None, ..price };
        assert_eq!(plain.cost_of(&usage).as_nanodollars(), 4_533_000_000);
    }

    #[test]
    fn what_is_written_into_a_cache_for_an_hour_costs_twice_what_reading_does() {
        let price: Price =
            serde_json::from_str(r#"{ "input": 3, "output": 15, "cache_write": 3.75 }"#).unwrap();
        let usage = Usage { cache_write: 1_000_000, ..UNPRICED };
        let cost = |price: &Price, hour| {
            let usage = priced(usage, Some(price), HourWrites(hour)).unwrap();
            assert_eq!(usage.cost_source, CostSource::Priced);
            usage.cost.unwrap().as_nanodollars()
        };
        assert_eq!([0, 400_000].map(|hour| cost(&price, hour)), [3_750_000_000, 4_650_000_000]);
        assert_eq!(cost(&price, u64::MAX), 6_000_000_000);
        // Where writing costs no more than reading, neither does writing for an hour.
        let plain = Price { cache_write: None, ..price };
        assert_eq!(cost(&plain, 400_000), 3_000_000_000);
        assert_eq!(priced(usage, None, HourWrites(7)).unwrap().cost_source, CostSource::Unknown);
    }

    #[test]
    fn a_price_of_a_fraction_of_a_cent_is_exact_and_nonsense_is_no_price() {
        let price = Rate::per_million(0.0375).unwrap();
        let usage = Usage { input: 2, ..Usage::ZERO };
        let price = Price::flat(price, price);
        assert_eq!(price.cost_of(&usage).as_nanodollars(), 75);
        for nonsense in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::per_million(nonsense), None);
        }
        let most = Usage { input: u64::MAX, ..Usage::ZERO };
        assert_eq!(price.cost_of(&most).as_nanodollars(), u64::MAX);
    }

    #[test]
    fn the_four_counts_are_disjoint() {
        let told = json!({
            "prompt_tokens": 100, "completion_tokens": 7,
            "prompt_tokens_details": { "cached_tokens": 60, "cache_write_tokens": 10 },
            "completion_tokens_details": { "reasoning_tokens": 5 },
        });
        let expected = Usage { input: 30, output: 7, cache_read: 60, cache_write: 10, ..UNPRICED };
        assert_eq!(parse_usage(&told, None), Some(expected));
        let deepseek = json!({ "prompt_tokens": 9, "prompt_cache_hit_tokens": 4 });
        assert_eq!(parse_usage(&deepseek, None).map(|it| (it.input, it.cache_read)), Some((5, 4)));
        let wrong = json!({ "prompt_tokens": 1, "prompt_tokens_details": { "cached_tokens": 60 } });
        assert_eq!(parse_usage(&wrong, None).map(|it| (it.input, it.cache_read)), Some((0, 1)));
        let zeros = json!({ "prompt_tokens": 0, "completion_tokens": 0 });
        let many = json!({ "prompt_tokens": "many" });
        for nothing in [json!(null), json!({}), json!([1]), many, zeros] {
            assert_eq!(parse_usage(&nothing, None), None);
        }
    }

    #[test]
    fn the_cost_is_by_the_price_else_as_told_else_unknown() {
        let told = json!({ "prompt_tokens": 1_000_000, "completion_tokens": 0, "cost": 0.5 });
        let rate = Rate::per_million(3.0).unwrap();
        let price = Price::flat(rate, rate);
        let by_user = Price { source: PriceSource::User, ..price };
        let cost = |told: &Value, price| {
            let usage = parse_usage(told, price).unwrap();
            (usage.cost.map(Cost::as_nanodollars), usage.cost_source)
        };
        assert_eq!(cost(&told, Some(&by_user)), (Some(3_000_000_000), CostSource::Priced));
        let reported = (Some(500_000_000), CostSource::Reported);
        assert_eq!(cost(&told, Some(&price)), reported, "the provider knows better");
        assert_eq!(cost(&told, None), reported);
        let silent = json!({ "prompt_tokens": 1, "cost": -1 });
        assert_eq!(cost(&silent, None), (None, CostSource::Unknown));
        assert_eq!(cost(&silent, Some(&price)), (Some(3_000), CostSource::Priced));
    }

    #[test]
    fn a_request_that_reads_much_costs_what_its_tier_says() {
        let text =
            r#"{ "input": 1, "output": 2, "tier": { "above": 100, "input": 10, "output": 20 } }"#;
        let price: Price = serde_json::from_str(text).unwrap();
        let cost = |input, cache_read| {
            let usage = Usage { input, cache_read, output: 1, ..Usage::ZERO };
            price.cost_of(&usage).as_nanodollars()
        };
        assert_eq!((cost(60, 40), cost(60, 41)), (102_000, 1_030_000));
        let listed = text.replace("\"tier\": {", "\"tiers\": [{").replace("} }", "}] }");
        let written = serde_json::to_string(&price).unwrap();
        assert_eq!(written.replace(".0", ""), listed.replace(' ', ""));
    }
}
