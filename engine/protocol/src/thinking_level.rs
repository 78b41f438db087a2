//! How much a model thinks before it answers.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a model thinks before it answers, from nothing to as much as it can.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all.
    Off,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// As much as most tasks need.
    Medium,
    /// Much.
    High,
    /// More than `High`, for models that have such a level.
    XHigh,
}

/// The error for a text that is not a thinking level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thinking level is off, minimal, low, medium, high or xhigh")]
pub struct ThinkingLevelError;

impl ThinkingLevel {
    /// All levels in ascending order.
    pub const ALL: [Self; 6] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh];

    /// Returns the name of the level.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }

    /// Returns the level that a model with these levels gets in place of this one: the same one if
    /// they are not known, and no thinking if that is what is asked.
    #[must_use]
    pub fn of_model(self, known: &[Self]) -> Self {
        if known.is_empty() || self == Self::Off { self } else { self.clamp_to(known) }
    }

    /// Returns the level of `supported` that is nearest to this one: the level itself, else the
    /// next lower one, else the next higher one. Returns `Off` if nothing is supported.
    #[must_use]
    pub fn clamp_to(self, supported: &[Self]) -> Self {
        let below = supported.iter().copied().filter(|level| *level <= self).max();
        let above = supported.iter().copied().filter(|level| *level > self).min();
        // Who asks for thinking gets some, if the model can think at all.
        let below = below.filter(|level| self == Self::Off || *level != Self::Off);
        below.or(above).unwrap_or(Self::Off)
    }
}

impl fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ThinkingLevel {
    type Err = ThinkingLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or(ThinkingLevelError)
    }
}

#[cfg(test)]
mod tests {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off, XHigh};

    use super::*;

    #[test]
    fn a_level_that_a_model_lacks_becomes_the_nearest_one() {
        let cases: [(&[ThinkingLevel], [ThinkingLevel; 6]); 5] = [
            (&ThinkingLevel::ALL, ThinkingLevel::ALL),
            (&[Off, Low, Medium, High], [Off, Low, Low, Medium, High, High]),
            (&[Low, High], [Low, Low, Low, Low, High, High]),
            (&[High], [High; 6]),
            (&[], [Off; 6]),
        ];
        for (supported, expected) in cases {
            let clamped = ThinkingLevel::ALL.map(|level| level.clamp_to(supported));
            assert_eq!(clamped, expected, "{supported:?}");
        }
        assert_eq!(Minimal.clamp_to(&[Off, Medium, XHigh]), Medium);
        assert_eq!(
            (High.of_model(&[]), High.of_model(&[Off]), XHigh.of_model(&[Low])),
            (High, Off, Low)
        );
        assert_eq!(Off.of_model(&[Low, High]), Off);
    }

    #[test]
    fn a_level_is_known_by_its_name() {
        for level in ThinkingLevel::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert_eq!("max".parse::<ThinkingLevel>(), Err(ThinkingLevelError));
    }
}
