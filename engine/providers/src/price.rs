//! What tokens cost.

use protocol::{Cost, Usage};
use serde::{Deserialize, Deserializer, de};

/// What a model costs, in dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of what it reads.
    pub input: Rate,
    /// Of what it writes.
    pub output: Rate,
    /// Of what it reads from a cache; as what it reads otherwise, where nothing is said.
    #[serde(default)]
    pub cache_read: Option<Rate>,
    /// Of what it writes into a cache; as what it reads, where nothing is said.
    #[serde(default)]
    pub cache_write: Option<Rate>,
}

/// Money per token. Exact to a millionth of a dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    picodollars: u64,
}

impl Rate {
    /// Returns a price of this many dollars per million tokens, if it can be one.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    pub fn per_million(dollars: f64) -> Option<Self> {
        let sane = (0.0..=1e9).contains(&dollars);
        sane.then(|| Self { picodollars: (dollars * 1e6).round() as u64 })
    }

    fn of(self, tokens: u64) -> u128 {
        u128::from(self.picodollars) * u128::from(tokens)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        let refused = || de::Error::custom("a price is a number of dollars per million tokens");
        Self::per_million(dollars).ok_or_else(refused)
    }
}

impl Price {
    /// Returns what this usage costs.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Cost {
        let picodollars = self.input.of(usage.input)
            + self.output.of(usage.output)
            + self.cache_read.unwrap_or(self.input).of(usage.cache_read)
            + self.cache_write.unwrap_or(self.input).of(usage.cache_write);
        Cost::from_nanodollars(u64::try_from(picodollars.div_ceil(1000)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            cost: None,
        };
        // 3 + 1.5 + 0.003 + 0.00375 dollars.
        assert_eq!(price.of(&usage).as_nanodollars(), 4_506_750_000);
        let plain = Price { cache_read: None, cache_write: None, ..price };
        assert_eq!(plain.of(&usage).as_nanodollars(), 4_533_000_000);
    }

    #[test]
    fn a_price_of_a_fraction_of_a_cent_is_exact_and_nonsense_is_no_price() {
        let price = Rate::per_million(0.0375).unwrap();
        let usage = Usage { input: 2, ..Usage::ZERO };
        let price = Price { input: price, output: price, cache_read: None, cache_write: None };
        assert_eq!(price.of(&usage).as_nanodollars(), 75);
        for nonsense in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::per_million(nonsense), None);
        }
        let most = Usage { input: u64::MAX, ..Usage::ZERO };
        assert_eq!(price.of(&most).as_nanodollars(), u64::MAX);
    }
}
