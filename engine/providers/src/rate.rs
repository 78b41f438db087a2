//! The price of a token.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A price per token, exact to a millionth of a dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    picodollars: u64,
}

impl Rate {
    /// Returns a rate of `dollars` per million tokens; `None` if negative, too large or NaN.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    pub fn per_million(dollars: f64) -> Option<Self> {
        let sane = (0.0..=1e9).contains(&dollars);
        sane.then(|| Self { picodollars: (dollars * 1e6).round() as u64 })
    }

    /// Returns the rate in US dollars per million tokens.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "to be shown, far below 2^53")]
    pub fn as_dollars(self) -> f64 {
        self.picodollars as f64 / 1e6
    }

    /// Returns the cost of so many tokens in picodollars.
    pub(crate) fn of(self, tokens: u64) -> u128 {
        u128::from(self.picodollars) * u128::from(tokens)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        let refused = || de::Error::custom("a price is a number of dollars per million tokens");
        Self::per_million(dollars).ok_or_else(refused)
    }
}
