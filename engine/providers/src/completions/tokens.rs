//! Reads what an answer used.

use protocol::{Cost, Usage};
use serde_json::Value;

use crate::price::Price;

/// Reads the usage in a chunk or in one of its choices.
pub(crate) fn usage(value: &Value, price: Option<&Price>) -> Option<Usage> {
    let counted = value.as_object()?;
    let count = |of: Option<&Value>| of.and_then(Value::as_u64);
    let prompt = count(counted.get("prompt_tokens"));
    let output = count(counted.get("completion_tokens"));
    // No answer uses nothing: some servers send zeros instead of counting.
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
        cost: None,
    };
    let told = || counted.get("cost").and_then(Value::as_f64).and_then(dollars);
    Some(Usage { cost: price.map(|price| price.of(&used)).or_else(told), ..used })
}

/// Some providers say themselves what an answer cost.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn dollars(dollars: f64) -> Option<Cost> {
    let sane = (0.0..=1e6).contains(&dollars);
    sane.then(|| Cost::from_nanodollars((dollars * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::price::Rate;

    #[test]
    fn the_four_counts_are_disjoint() {
        let told = json!({
            "prompt_tokens": 100, "completion_tokens": 7,
            "prompt_tokens_details": { "cached_tokens": 60, "cache_write_tokens": 10 },
            "completion_tokens_details": { "reasoning_tokens": 5 },
        });
        let expected = Usage { input: 30, output: 7, cache_read: 60, cache_write: 10, cost: None };
        assert_eq!(usage(&told, None), Some(expected));
        let deepseek = json!({ "prompt_tokens": 9, "prompt_cache_hit_tokens": 4 });
        assert_eq!(usage(&deepseek, None).map(|it| (it.input, it.cache_read)), Some((5, 4)));
        let wrong = json!({ "prompt_tokens": 1, "prompt_tokens_details": { "cached_tokens": 60 } });
        assert_eq!(usage(&wrong, None).map(|it| (it.input, it.cache_read)), Some((0, 1)));
        let zeros = json!({ "prompt_tokens": 0, "completion_tokens": 0 });
        let many = json!({ "prompt_tokens": "many" });
        for nothing in [json!(null), json!({}), json!([1]), many, zeros] {
            assert_eq!(usage(&nothing, None), None);
        }
    }

    #[test]
    fn the_cost_is_by_the_price_else_as_told_else_unknown() {
        let told = json!({ "prompt_tokens": 1_000_000, "completion_tokens": 0, "cost": 0.5 });
        let rate = Rate::per_million(3.0).unwrap();
        let price = Price { input: rate, output: rate, cache_read: None, cache_write: None };
        let cost = |price| usage(&told, price).unwrap().cost.map(Cost::as_nanodollars);
        assert_eq!(cost(Some(&price)), Some(3_000_000_000));
        assert_eq!(cost(None), Some(500_000_000));
        let silent = json!({ "prompt_tokens": 1, "cost": -1 });
        assert_eq!(usage(&silent, None).unwrap().cost, None);
    }
}
