//! A limit that a task has reached, with what it has used.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cost, duration_text};

/// A limit that a task has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum ReachedLimit {
    /// The answers of its model.
    Turns {
        /// How many there were.
        used: u32,
        /// How many there may be.
        most: u32,
    },
    /// The tokens of its model.
    Tokens {
        /// How many were used.
        used: u64,
        /// How many may be used.
        most: u64,
    },
    /// The cost of its model, in US dollars.
    Cost {
        /// What was spent; absent if a price is not known.
        used: Option<Cost>,
        /// What may be spent.
        most: Cost,
    },
    /// The wall-clock time, in milliseconds.
    Wall {
        /// After how much time the task was stopped.
        used: u64,
        /// How long it may run.
        most: u64,
    },
}

impl ReachedLimit {
    /// Returns the limit itself: `300 tokens`.
    #[must_use]
    pub fn most(&self) -> String {
        match self {
            Self::Turns { most, .. } => format!("{most} turns"),
            Self::Tokens { most, .. } => format!("{most} tokens"),
            Self::Cost { most, .. } => most.to_string(),
            Self::Wall { most, .. } => duration_text(*most),
        }
    }
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turns { used, most } => write!(f, "turns {used} of {most}"),
            Self::Tokens { used, most } => write!(f, "tokens {used} of {most}"),
            Self::Cost { used: Some(used), most } => write!(f, "cost {used} of {most}"),
            Self::Cost { used: None, most } => write!(f, "cost ? of {most}"),
            Self::Wall { used, most } => {
                write!(f, "wall {} of {}", duration_text(*used), duration_text(*most))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::FailureDetail;

    #[test]
    fn a_limit_says_what_was_used_of_it_as_text_and_as_json() {
        let dollars = Cost::from_nanodollars;
        for (limit, text, json) in [
            (
                ReachedLimit::Turns { used: 8, most: 8 },
                "turns 8 of 8",
                json!({ "type": "limit", "limit": "turns", "used": 8, "most": 8 }),
            ),
            (
                ReachedLimit::Tokens { used: 923, most: 300 },
                "tokens 923 of 300",
                json!({ "type": "limit", "limit": "tokens", "used": 923, "most": 300 }),
            ),
            (
                ReachedLimit::Cost { used: Some(dollars(250_000_000)), most: dollars(200_000_000) },
                "cost $0.25 of $0.20",
                json!({ "type": "limit", "limit": "cost", "used": 0.25, "most": 0.2 }),
            ),
            (
                ReachedLimit::Cost { used: None, most: dollars(1_000_000_000) },
                "cost ? of $1.00",
                json!({ "type": "limit", "limit": "cost", "used": null, "most": 1.0 }),
            ),
            (
                ReachedLimit::Wall { used: 12_000, most: 10_000 },
                "wall 12s of 10s",
                json!({ "type": "limit", "limit": "wall", "used": 12_000, "most": 10_000 }),
            ),
        ] {
            let detail = FailureDetail::Limit(limit);
            assert_eq!(limit.to_string(), text);
            assert_eq!(serde_json::to_value(&detail).unwrap(), json, "{text}");
            assert_eq!(serde_json::from_value::<FailureDetail>(json).unwrap(), detail, "{text}");
        }
    }
}
