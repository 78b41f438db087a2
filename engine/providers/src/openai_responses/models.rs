//! How much OpenAI's models can think.

use protocol::ThinkingLevel::{self, High, Low, Medium, Minimal, Off, XHigh};

/// Returns the thinking levels of a model; `None` if it does not think.
pub(crate) fn levels(model: &str) -> Option<&'static [ThinkingLevel]> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let codex = name.contains("codex");
    let is = |prefix: &str| name == prefix || name.starts_with(&format!("{prefix}-"));
    if is("gpt-5-chat") || name.contains("-chat-latest") {
        return None;
    }
    if is("gpt-5-pro") {
        return Some(&[High]);
    }
    if is("gpt-5") {
        return Some(if codex { &[Low, Medium, High] } else { &[Minimal, Low, Medium, High] });
    }
    if is("gpt-5.1-codex-max") {
        return Some(&[Low, Medium, High, XHigh]);
    }
    if is("gpt-5.1") {
        return Some(if codex { &[Low, Medium, High] } else { &[Off, Low, Medium, High] });
    }
    if name.starts_with("gpt-5.") {
        let codex_levels: &[ThinkingLevel] = &[Low, Medium, High, XHigh];
        return Some(if codex { codex_levels } else { &[Off, Low, Medium, High, XHigh] });
    }
    let reasons = ["o1", "o3", "o4"].into_iter().any(is) || name.starts_with("o4-") || codex;
    reasons.then_some(&[Low, Medium, High])
}

/// Returns the name of a level in requests.
pub(crate) fn effort(level: ThinkingLevel) -> &'static str {
    match level {
        Off => "none",
        Minimal | Low | Medium | High | XHigh => level.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_its_levels() {
        let effort_of = |model: &str, level: ThinkingLevel| {
            levels(model).map(|levels| effort(level.clamp_to(levels)))
        };
        let cases = [
            ("gpt-4.1", None, None),
            ("gpt-5-chat-latest", None, None),
            ("o3", Some("low"), Some("high")),
            ("o4-mini", Some("low"), Some("high")),
            ("gpt-5", Some("minimal"), Some("high")),
            ("gpt-5-mini", Some("minimal"), Some("high")),
            ("gpt-5-codex", Some("low"), Some("high")),
            ("gpt-5-pro", Some("high"), Some("high")),
            ("gpt-5.1", Some("none"), Some("high")),
            ("gpt-5.1-codex-max", Some("low"), Some("xhigh")),
            ("gpt-5.2", Some("none"), Some("xhigh")),
            ("openai/gpt-5.2-codex", Some("low"), Some("xhigh")),
        ];
        for (model, off, highest) in cases {
            assert_eq!((effort_of(model, Off), effort_of(model, XHigh)), (off, highest), "{model}");
        }
    }
}
