//! What other programs call models and how much they think, and the names here.

use protocol::ThinkingLevel;

/// The word for the model of the caller.
const CALLER: &str = "inherit";

/// The names of models that differ, in lower case, and the name here. Names such as `opus` or `gpt-5` are
/// found here as by `--model`.
const MODELS: &[(&str, &str)] = &[
    ("auto", CALLER),
    ("best", "opus"),
    ("opus[1m]", "opus"),
    ("opusplan", "opus"),
    ("pi/advisor", "slow"),
    ("pi/commit", "smol"),
    ("pi/default", "default"),
    ("pi/designer", CALLER),
    ("pi/plan", "plan"),
    ("pi/slow", "slow"),
    ("pi/smol", "smol"),
    ("pi/task", CALLER),
    ("pi/tiny", "smol"),
    ("pi/vision", CALLER),
    ("sonnet[1m]", "sonnet"),
];

/// The names of levels of thinking that differ.
const LEVELS: &[(&str, ThinkingLevel)] = &[
    ("false", ThinkingLevel::Off),
    ("max", ThinkingLevel::XHigh),
    ("none", ThinkingLevel::Off),
    ("ultra", ThinkingLevel::XHigh),
];

/// Returns the name of a model here, with the level of thinking behind it.
pub(super) fn model(word: &str) -> String {
    let (name, level) = match word.rsplit_once(':') {
        Some((name, level)) if level.parse::<ThinkingLevel>().is_ok() => (name, Some(level)),
        _ => (word, None),
    };
    let lower = name.to_ascii_lowercase();
    let here = MODELS.iter().find(|(foreign, _)| *foreign == lower).map(|(_, here)| *here);
    let here = here.or_else(|| (lower == CALLER).then_some(CALLER)).unwrap_or(name);
    level.map_or_else(|| here.to_owned(), |level| format!("{here}:{level}"))
}

/// Returns whether a name as [`model`] returns it means the model of the caller.
pub(super) fn is_of_caller(model: &str) -> bool {
    model.split(':').next() == Some(CALLER)
}

/// Returns the names of models here up to that of the caller, behind which none counts.
pub(crate) fn model_names(words: &[String]) -> Vec<String> {
    words.iter().map(|word| model(word)).take_while(|it| !is_of_caller(it)).collect()
}

/// Returns a level of thinking.
pub(super) fn level(word: &str) -> Option<ThinkingLevel> {
    let lower = word.to_ascii_lowercase();
    let foreign = LEVELS.iter().find(|(foreign, _)| *foreign == lower).map(|(_, level)| *level);
    foreign.or_else(|| lower.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_another_program_has_a_name_here() {
        for (word, here) in [
            ("opus", "opus"),
            ("Inherit", "inherit"),
            ("pi/task", "inherit"),
            ("pi/slow:high", "slow:high"),
            ("sonnet[1m]", "sonnet"),
            ("ollama/qwen3:8b", "ollama/qwen3:8b"),
        ] {
            assert_eq!(model(word), here);
        }
        assert!(is_of_caller(&model("auto:low")) && !is_of_caller("opus"));
        assert_eq!(
            (level("MAX"), level("none")),
            (Some(ThinkingLevel::XHigh), Some(ThinkingLevel::Off))
        );
        assert_eq!(level("hard"), None);
    }
}
