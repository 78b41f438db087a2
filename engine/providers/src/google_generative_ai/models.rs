//! What differs between Gemini models: how a request states how much to think.

use protocol::ThinkingLevel::{self, High, Low, Medium, Minimal, Off, XHigh};
use protocol::ThinkingMode;
use serde_json::{Value, json};

use crate::endpoint::Endpoint;

/// The generation of a model, as far as requests depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// Before 2.5: the model does not think.
    Old,
    /// 2.5: thinking has a budget.
    Budget { low: u32, high: u32, can_be_off: bool },
    /// 3 and later: thinking has a level.
    Level(&'static [ThinkingLevel]),
}

/// Returns the generation of a model by its name. An unknown one is taken for a new one.
pub(super) fn generation(model: &str) -> Generation {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let pro = name.contains("-pro");
    let version = name.strip_prefix("gemini-").and_then(|rest| rest.split('-').next());
    let (major, minor) = match version
        .map(|version| version.split_once('.').unwrap_or((version, "0")))
    {
        Some((major, minor)) => (major.parse().unwrap_or(3_u32), minor.parse().unwrap_or(0_u32)),
        None if name.starts_with("gemini-") || name.starts_with("models") => (3, 0),
        // Gemma and others.
        None => (1, 0),
    };
    match (major, minor) {
        (0..=1, _) | (2, 0..=4) => Generation::Old,
        (2, _) if pro => Generation::Budget { low: 128, high: 32_768, can_be_off: false },
        (2, _) if name.contains("flash-lite") => {
            Generation::Budget { low: 512, high: 24_576, can_be_off: true }
        }
        (2, _) => Generation::Budget { low: 128, high: 24_576, can_be_off: true },
        (3, 0) if pro => Generation::Level(&[Low, High]),
        (_, _) if pro => Generation::Level(&[Low, Medium, High]),
        (_, _) => Generation::Level(&[Minimal, Low, Medium, High]),
    }
}

/// How a request states how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking<'a> {
    /// Not at all.
    Never,
    /// By a budget.
    Budget { low: u32, high: u32, can_be_off: bool },
    /// By a level.
    Level(&'a [ThinkingLevel]),
    /// By a level, and not at all where none is asked for.
    LevelIfAsked(&'a [ThinkingLevel]),
}

/// Returns how a request to an endpoint states how much to think: what is known about it, and else
/// what its name says.
pub(super) fn thinking(endpoint: &Endpoint) -> Thinking<'_> {
    const LEVELS: &[ThinkingLevel] = &[Minimal, Low, Medium, High];
    let (known, named) = (&endpoint.known, generation(&endpoint.model));
    let levels = |named| match known.levels.as_slice() {
        [] => named,
        levels => levels,
    };
    let can_be_off = known.levels.is_empty() || known.levels.contains(&Off);
    match (known.thinks, known.mode, named) {
        (Some(false), _, _) => Thinking::Never,
        (_, Some(ThinkingMode::Budget) | None, Generation::Budget { low, high, can_be_off }) => {
            Thinking::Budget { low, high, can_be_off }
        }
        (_, Some(ThinkingMode::Budget), Generation::Old | Generation::Level(_)) => {
            Thinking::Budget { low: 128, high: 24_576, can_be_off }
        }
        (_, _, Generation::Level(named)) => Thinking::Level(levels(named)),
        (None, None, Generation::Old) => Thinking::Never,
        (Some(true), None, Generation::Old) => Thinking::LevelIfAsked(levels(LEVELS)),
        (_, Some(_), Generation::Old | Generation::Budget { .. }) => {
            Thinking::Level(levels(LEVELS))
        }
    }
}

impl Thinking<'_> {
    /// Returns the `thinkingConfig` of a request; `None` if the model does not think.
    pub(super) fn thinking_config(self, level: Option<ThinkingLevel>) -> Option<Value> {
        match (self, level) {
            (Self::Never, _) | (Self::LevelIfAsked(_), None | Some(Off)) => None,
            (_, None) => Some(json!({ "includeThoughts": true })),
            (Self::Budget { can_be_off: true, .. }, Some(Off)) => {
                Some(json!({ "thinkingBudget": 0 }))
            }
            (Self::Budget { low, high, .. }, Some(level)) => {
                let budget = match level {
                    Off | Minimal => low,
                    Low => 2048,
                    Medium => 8192,
                    High | XHigh => high,
                };
                Some(json!({ "includeThoughts": true, "thinkingBudget": budget }))
            }
            (Self::Level(levels) | Self::LevelIfAsked(levels), Some(level)) => {
                let name = level.clamp_to(levels).as_str().to_ascii_uppercase();
                Some(json!({ "includeThoughts": true, "thinkingLevel": name }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use crate::known_model::KnownModel;
    use crate::test_support;

    fn of(model: &str, facts: &str) -> Endpoint {
        let known = KnownModel::of(&serde_json::from_str(facts).unwrap());
        let model = model.to_owned();
        Endpoint { model, known, ..test_support::endpoint(Api::GoogleGenerativeAi) }
    }

    #[test]
    fn each_generation_is_told_in_its_own_way_how_much_to_think() {
        let config = |model: &str, level| {
            let endpoint = of(model, "{}");
            thinking(&endpoint).thinking_config(level)
        };
        let budget =
            |tokens: u32| Some(json!({ "includeThoughts": true, "thinkingBudget": tokens }));
        let level = |name: &str| Some(json!({ "includeThoughts": true, "thinkingLevel": name }));
        assert_eq!(config("gemini-2.0-flash", Some(High)), None);
        assert_eq!(config("gemma-3-27b-it", Some(High)), None);
        assert_eq!(config("gemini-2.5-flash", Some(Off)), Some(json!({ "thinkingBudget": 0 })));
        assert_eq!(config("gemini-2.5-flash", Some(XHigh)), budget(24_576));
        assert_eq!(config("gemini-2.5-flash-lite", Some(Minimal)), budget(512));
        assert_eq!(config("gemini-2.5-pro", Some(Off)), budget(128));
        assert_eq!(config("gemini-2.5-pro", Some(High)), budget(32_768));
        assert_eq!(config("gemini-3-pro-preview", Some(Medium)), level("LOW"));
        assert_eq!(config("gemini-3.1-pro-preview", Some(Medium)), level("MEDIUM"));
        assert_eq!(config("gemini-3-flash-preview", Some(Off)), level("MINIMAL"));
        assert_eq!(config("gemini-flash-latest", Some(XHigh)), level("HIGH"));
        assert_eq!(config("gemini-2.5-pro", None), Some(json!({ "includeThoughts": true })));
    }

    #[test]
    fn what_is_known_about_a_model_goes_before_its_name() {
        let config = |model: &str, facts: &str, level| {
            let endpoint = of(model, facts);
            thinking(&endpoint).thinking_config(Some(level))
        };
        let budget =
            |tokens: u32| Some(json!({ "includeThoughts": true, "thinkingBudget": tokens }));
        let level = |name: &str| Some(json!({ "includeThoughts": true, "thinkingLevel": name }));
        assert_eq!(config("m", "{}", High), None);
        assert_eq!(config("m", r#"{ "thinking": true }"#, High), level("HIGH"));
        assert_eq!(config("m", r#"{ "thinking": true }"#, Off), None);
        assert_eq!(config("gemini-3-flash-preview", r#"{ "thinking": false }"#, High), None);
        assert_eq!(config("m", r#"{ "thinkingMode": "budget" }"#, High), budget(24_576));
        assert_eq!(config("m", r#"{ "thinkingMode": "google-level" }"#, Off), level("MINIMAL"));
        let few = r#"{ "levels": ["low", "high"] }"#;
        assert_eq!(config("gemini-3-flash-preview", few, Medium), level("LOW"));
        assert_eq!(config("gemini-2.5-pro", few, High), budget(32_768));
    }
}
