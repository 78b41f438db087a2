//! What differs between Anthropic's models: how they think, and how long their answers may be.

use std::num::NonZeroU32;

use protocol::{ThinkingLevel, ThinkingMode};

use crate::endpoint::Endpoint;

/// What a request has to know of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) thinking: Thinking,
    /// The maximum number of tokens of an answer.
    pub(super) max_output: u32,
}

/// How a request states how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// The model does not think.
    Never,
    /// By a number of tokens.
    Budget,
    /// By a number of tokens and an effort.
    BudgetAndEffort { highest: Effort },
    /// By an effort; the model itself decides when to think.
    Adaptive { highest: Effort, can_be_off: Off },
}

/// The highest effort of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    High,
    /// `max`, and no level between it and `high`.
    Max,
    XHigh,
}

/// Whether a model can answer without thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    Possible,
    Impossible,
}

/// Returns what a request has to know of the model of an endpoint: what is known about it, and else
/// what its name says.
pub(super) fn profile(endpoint: &Endpoint) -> Profile {
    let (known, named) = (&endpoint.known, named_profile(&endpoint.model));
    // A level above the highest effort that the name says shows that there is a higher one.
    let raised = |highest| match highest {
        Effort::High if known.levels.contains(&ThinkingLevel::XHigh) => Effort::XHigh,
        Effort::High | Effort::Max | Effort::XHigh => highest,
    };
    let (highest, can_be_off) = match named.thinking {
        Thinking::Adaptive { highest, can_be_off } => (raised(highest), can_be_off),
        Thinking::Never | Thinking::Budget | Thinking::BudgetAndEffort { .. } => {
            (raised(Effort::High), Off::Possible)
        }
    };
    let adaptive = Thinking::Adaptive { highest, can_be_off };
    let by_name = match named.thinking {
        Thinking::Never if known.thinks == Some(true) => Thinking::Budget,
        Thinking::Adaptive { .. } => adaptive,
        other @ (Thinking::Never | Thinking::Budget | Thinking::BudgetAndEffort { .. }) => other,
    };
    let thinking = match (known.thinks, known.mode) {
        (Some(false), _) => Thinking::Never,
        (_, Some(ThinkingMode::Budget)) => Thinking::Budget,
        (_, Some(ThinkingMode::AnthropicBudgetEffort)) => Thinking::BudgetAndEffort { highest },
        (_, Some(ThinkingMode::Effort | ThinkingMode::AnthropicAdaptive)) => adaptive,
        (_, Some(ThinkingMode::GoogleLevel) | None) => by_name,
    };
    let max_output = known.output.map_or(named.max_output, NonZeroU32::get);
    Profile { thinking, max_output }
}

/// Returns what the name of a model says. A model that is not of Anthropic gets it as their older models
/// are, as other servers of this API want it; one of Anthropic that is not known is taken for a new
/// one.
fn named_profile(model: &str) -> Profile {
    let adaptive = |highest| Thinking::Adaptive { highest, can_be_off: Off::Possible };
    let name = model.to_ascii_lowercase();
    let words: Vec<&str> = name.split(['-', '@', ':', '.', '/']).collect();
    // A long number is a date and no version.
    let is_version = |word: &&&str| word.len() <= 2;
    let mut numbers = words.iter().filter(is_version).filter_map(|word| word.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(0));
    let is = |word: &str| words.contains(&word);
    let families = ["opus", "sonnet", "haiku", "fable", "mythos"];
    if !name.contains("claude") && !families.into_iter().any(is) {
        return Profile { thinking: Thinking::Budget, max_output: 64_000 };
    }
    if is("fable") || is("mythos") {
        let thinking = Thinking::Adaptive { highest: Effort::XHigh, can_be_off: Off::Impossible };
        return Profile { thinking, max_output: 64_000 };
    }
    let (thinking, max_output) = match version {
        (0..=2, _) | (3, 0..=4) => (Thinking::Never, 4_096),
        (3, 5 | 6) => (Thinking::Never, 8_192),
        (3, _) => (Thinking::Budget, 64_000),
        (4, 0..=1) if is("opus") => (Thinking::Budget, 32_000),
        (4, 0..=5) => (Thinking::Budget, 64_000),
        (4, 6) if is("opus") => (adaptive(Effort::Max), 64_000),
        (4, 6) => (adaptive(Effort::High), 64_000),
        _ => (adaptive(Effort::XHigh), 64_000),
    };
    Profile { thinking, max_output }
}

/// Returns the number of tokens of a level.
pub(super) fn budget(level: ThinkingLevel) -> Option<u32> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal => Some(1024),
        ThinkingLevel::Low => Some(4096),
        ThinkingLevel::Medium => Some(8192),
        ThinkingLevel::High => Some(16_384),
        ThinkingLevel::XHigh => Some(32_768),
    }
}

/// Returns the effort of a level as the API names it; `None` for no thinking.
pub(super) fn effort(level: ThinkingLevel, highest: Effort, off: Off) -> Option<&'static str> {
    match (level, highest) {
        (ThinkingLevel::Off, _) if off == Off::Possible => None,
        (ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low, _) => Some("low"),
        (ThinkingLevel::Medium, _) => Some("medium"),
        (ThinkingLevel::High, _) | (ThinkingLevel::XHigh, Effort::High) => Some("high"),
        (ThinkingLevel::XHigh, Effort::Max) => Some("max"),
        (ThinkingLevel::XHigh, Effort::XHigh) => Some("xhigh"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use crate::known_model::KnownModel;
    use crate::test_support::endpoint;

    #[test]
    fn a_model_is_known_by_its_version() {
        let cases = [
            ("claude-3-haiku-20240307", Thinking::Never, 4_096),
            ("claude-3-5-sonnet-latest", Thinking::Never, 8_192),
            ("claude-3-7-sonnet-20250219", Thinking::Budget, 64_000),
            ("claude-sonnet-4-20250514", Thinking::Budget, 64_000),
            ("claude-opus-4-1", Thinking::Budget, 32_000),
            ("claude-haiku-4-5-20251001", Thinking::Budget, 64_000),
            ("corpus-9", Thinking::Budget, 64_000),
        ];
        for (model, thinking, max_output) in cases {
            assert_eq!(named_profile(model), Profile { thinking, max_output }, "{model}");
        }
        let highest = |model: &str| match named_profile(model).thinking {
            Thinking::Adaptive { highest, can_be_off } => (highest, can_be_off),
            other => panic!("{model}: {other:?}"),
        };
        assert_eq!(highest("claude-opus-4-6"), (Effort::Max, Off::Possible));
        assert_eq!(highest("claude-sonnet-4-6"), (Effort::High, Off::Possible));
        assert_eq!(highest("claude-opus-4-7"), (Effort::XHigh, Off::Possible));
        assert_eq!(highest("claude-sonnet-5"), (Effort::XHigh, Off::Possible));
        assert_eq!(highest("claude-next"), (Effort::XHigh, Off::Possible));
        assert_eq!(highest("team/opus"), (Effort::XHigh, Off::Possible));
        assert_eq!(highest("claude-mythos-preview"), (Effort::XHigh, Off::Impossible));
    }

    #[test]
    fn what_is_known_about_a_model_goes_before_its_name() {
        let thinking = |model: &str, facts: &str| {
            let known = KnownModel::of(&serde_json::from_str(facts).unwrap());
            let model = model.to_owned();
            let endpoint = Endpoint { model, known, ..endpoint(Api::AnthropicMessages) };
            profile(&endpoint).thinking
        };
        let adaptive = |highest| Thinking::Adaptive { highest, can_be_off: Off::Possible };
        let both = Thinking::BudgetAndEffort { highest: Effort::High };
        for (model, facts, expected) in [
            ("m", "{}", Thinking::Budget),
            ("m", r#"{ "thinking": false }"#, Thinking::Never),
            ("claude-opus-5", r#"{ "thinking": false }"#, Thinking::Never),
            ("claude-3-5-haiku-latest", r#"{ "thinking": true }"#, Thinking::Budget),
            ("claude-opus-5", r#"{ "thinkingMode": "budget" }"#, Thinking::Budget),
            ("m", r#"{ "thinkingMode": "anthropic-adaptive" }"#, adaptive(Effort::High)),
            ("m", r#"{ "thinkingMode": "effort", "levels": ["xhigh"] }"#, adaptive(Effort::XHigh)),
            ("m", r#"{ "thinkingMode": "anthropic-budget-effort" }"#, both),
            ("claude-opus-4-6", r#"{ "levels": ["xhigh"] }"#, adaptive(Effort::Max)),
            ("claude-sonnet-4-6", r#"{ "levels": ["xhigh"] }"#, adaptive(Effort::XHigh)),
        ] {
            assert_eq!(thinking(model, facts), expected, "{model} {facts}");
        }
    }

    #[test]
    fn each_level_has_an_effort_that_the_model_has() {
        let efforts = |highest, off| ThinkingLevel::ALL.map(|level| effort(level, highest, off));
        let (low, medium, high) = (Some("low"), Some("medium"), Some("high"));
        let expected = [None, low, low, medium, high, Some("xhigh")];
        assert_eq!(efforts(Effort::XHigh, Off::Possible), expected);
        assert_eq!(efforts(Effort::Max, Off::Possible)[5], Some("max"));
        assert_eq!(efforts(Effort::High, Off::Impossible), [low, low, low, medium, high, high]);
    }
}
