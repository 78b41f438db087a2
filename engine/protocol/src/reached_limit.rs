//! A limit that a task has reached, with what it has used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Cost;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::FailureDetail;

    #[test]
    fn a_limit_says_in_json_what_was_used_of_it() {
        let dollars = Cost::from_nanodollars;
        for (limit, json) in [
            (
                ReachedLimit::Turns { used: 8, most: 8 },
                json!({ "type": "limit", "limit": "turns", "used": 8, "most": 8 }),
            ),
            (
                ReachedLimit::Tokens { used: 923, most: 300 },
                json!({ "type": "limit", "limit": "tokens", "used": 923, "most": 300 }),
            ),
            (
                ReachedLimit::Cost { used: Some(dollars(250_000_000)), most: dollars(200_000_000) },
                json!({ "type": "limit", "limit": "cost", "used": 0.25, "most": 0.2 }),
            ),
            (
                ReachedLimit::Cost { used: None, most: dollars(1_000_000_000) },
                json!({ "type": "limit", "limit": "cost", "used": null, "most": 1.0 }),
            ),
            (
                ReachedLimit::Wall { used: 12_000, most: 10_000 },
                json!({ "type": "limit", "limit": "wall", "used": 12_000, "most": 10_000 }),
            ),
        ] {
            let detail = FailureDetail::Limit(limit);
            assert_eq!(serde_json::to_value(&detail).unwrap(), json);
            assert_eq!(serde_json::from_value::<FailureDetail>(json).unwrap(), detail);
        }
    }
}
