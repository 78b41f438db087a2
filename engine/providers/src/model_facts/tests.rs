use protocol::ThinkingLevel;

use super::*;
use crate::known_providers::known_providers;
use crate::price_tiers::PriceTier;
use crate::rate::Rate;
use serde_json::json;

fn rate(dollars: f64) -> Rate {
    Rate::per_million(dollars).unwrap()
}

#[test]
fn the_catalogue_has_current_models_of_the_known_providers_with_their_prices() {
    let table = FactsTable::built_in();
    assert!(
        table.source.contains("models.dev") && table.date.starts_with("2026-"),
        "{}",
        table.date
    );
    let models: Vec<_> = table.providers.values().flat_map(|provider| &provider.models).collect();
    assert!(models.len() >= 80, "{}", models.len());
    let priced = models.iter().filter(|(_, facts)| facts.price.is_some()).count();
    assert!(priced * 10 > models.len() * 9, "{priced} of {}", models.len());
    for hosted in known_providers().filter(|known| !known.is_local()) {
        assert!(table.provider(hosted.id).is_some_and(|it| !it.models.is_empty()), "{}", hosted.id);
    }
    let opus = table.model("anthropic", "claude-opus-5").unwrap();
    assert_eq!((opus.context, opus.output), (Some(1_000_000), Some(128_000)));
    let price = opus.price.unwrap();
    assert_eq!((price.input, price.output), (rate(5.0), rate(25.0)));
    assert_eq!((price.cache_read, price.cache_write), (Some(rate(0.5)), Some(rate(6.25))));
    let gemini = table.model("google", "gemini-2.5-pro").unwrap();
    assert_eq!(gemini.price.unwrap().tiers.all().next().unwrap().above, 200_000);
    let newest = table.model("anthropic", "claude-opus-5-5").unwrap();
    assert_eq!((newest.context, newest.tools), (None, None), "what is not known is absent");
    for (name, provider) in &table.providers {
        if let Some(default) = &provider.default {
            assert_eq!(provider.models[default].tools, Some(true), "{name}/{default}");
        }
    }
}

#[test]
fn every_model_of_the_catalogue_that_thinks_has_its_levels_in_ascending_order() {
    for (name, provider) in &FactsTable::built_in().providers {
        for (id, facts) in &provider.models {
            let levels: Vec<ThinkingLevel> =
                facts.levels.iter().map(|level| level.parse().unwrap()).collect();
            assert!(levels.is_sorted() && levels.len() <= 6, "{name}/{id}: {levels:?}");
            assert_eq!(facts.thinking == Some(true), !levels.is_empty(), "{name}/{id}");
        }
    }
    let table = FactsTable::built_in();
    let least = |id: &str| table.model("anthropic", id).unwrap().cache_minimum;
    assert_eq!((least("claude-opus-4-5"), least("claude-sonnet-4-5")), (Some(4_096), None));
}

#[test]
fn a_refresh_takes_facts_and_neither_addresses_nor_headers_nor_commands() {
    let document = json!({
        "acme": {
            "id": "acme", "api": "https://evil.example/v1", "env": ["!rm"], "npm": "evil",
            "models": {
                "one": {
                    "id": "one", "name": "One", "attachment": true, "reasoning": true, "tool_call": true,
                    "reasoning_options": [{ "type": "effort", "values": ["none", "low", "max"] }],
                    "modalities": { "input": ["text", "image"], "output": ["text"] },
                    "limit": { "context": 1000, "output": 100 },
                    "cost": { "input": 1, "output": 2, "cache_read": 0.5,
                        "tiers": [{ "tier": { "type": "context", "size": 500 }, "input": 3, "output": 4 }] },
                    "provider": { "api": "https://evil.example", "headers": { "x-evil": "1" } },
                },
                "unpriced": { "tool_call": { "supported": false }, "limit": { "context": 0 } },
                "negative": { "cost": { "input": -1, "output": 1 } },
                "huge": { "limit": { "context": 1_000_000_000_001_u64 } },
                "picture": { "modalities": { "input": ["text"], "output": ["image"] } },
                "old": { "status": "deprecated" },
                "a\u{1b}[2J": {},
            },
        },
        "a b": { "models": { "x": {} } },
        "togetherai": { "models": { "x": { "cost": { "input": 1, "output": 1, "context_over_200k": { "input": 2, "output": 2 } } } } },
    });
    let bytes = serde_json::to_vec(&document).unwrap();
    let Refreshed { table, models, left_out } =
        parse_models_dev(&bytes, "a file", "2026-10-01").unwrap();
    assert_eq!((models, left_out), (3, 4));
    let one = table.model("acme", "one").unwrap();
    let tier = PriceTier {
        above: 500,
        input: rate(3.0),
        output: rate(4.0),
        cache_read: None,
        cache_write: None,
    };
    assert_eq!(one.price.unwrap().tiers.all().collect::<Vec<_>>(), [tier]);
    assert_eq!((one.levels.join(" "), one.images), ("off low".to_owned(), Some(true)));
    let unpriced = table.model("acme", "unpriced").unwrap();
    assert_eq!((unpriced.tools, unpriced.context, unpriced.price), (Some(false), None, None));
    let large = table.model("together", "x").unwrap().price.unwrap().tiers.at(200_001);
    assert_eq!(large.unwrap().above, 200_000);
    let written = serde_json::to_vec(&table).unwrap();
    assert!(!String::from_utf8_lossy(&written).contains("evil"));
    assert_eq!(FactsTable::parse(&written).unwrap(), table);
}

#[test]
fn what_is_no_document_of_models_is_refused() {
    for text in ["", "[]", "{}", "{\"a\":{\"models\":{}}}", "{\"a\":1}", "<html>"] {
        assert!(parse_models_dev(text.as_bytes(), "a file", "2026-10-01").is_err(), "{text}");
    }
    for text in [
        "{}",
        r#"{"source":"a","date":"b","providers":{"p":{"models":{"m":{"context":0}}}}}"#,
        r#"{"source":"a","date":"b","providers":{"p":{"models":{"m":{"baseUrl":"x"}}}}}"#,
        r#"{"source":"a","date":"b","providers":{"p":{"default":"x","models":{}}}}"#,
        r#"{"source":"a","date":"b","providers":{"p":{"models":{"m":{"price":{"input":-1,"output":1}}}}}}"#,
    ] {
        assert!(FactsTable::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn newer_facts_go_before_older_ones_model_by_model() {
    let table = |context| {
        let text = format!(
            r#"{{"source":"a","date":"b","providers":{{"p":{{"models":{{"m":{context}}}}}}}}}"#
        );
        FactsTable::parse(text.as_bytes()).unwrap()
    };
    let both = table(r#"{"context":7}"#).over(table(r#"{"context":5,"output":3}"#));
    let facts = both.model("p", "m").unwrap();
    assert_eq!((facts.context, facts.output), (Some(7), Some(3)));
    let old = table("{}").over(FactsTable::built_in());
    assert!(old.model("openai-completions", "gpt-5.6").is_some());
}
