//! Finds the name nearest to a mistyped one.

/// Returns the name nearest to `given`, if one is near.
pub(crate) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given: String = given.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let allowed = (given.chars().count() / 3).clamp(1, 4);
    let rated = names.map(|name| (strsim::osa_distance(&given, &name.to_lowercase()), name));
    rated.filter(|(distance, _)| *distance <= allowed).min().map(|(_, name)| name)
}

/// The longest name that is compared, in characters.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_understood_and_another_word_is_not() {
        let names = ["ollama", "openai", "openrouter"];
        assert_eq!(nearest("olama", names.into_iter()), Some("ollama"));
        assert_eq!(nearest("OpenAI", names.into_iter()), Some("openai"));
        assert_eq!(nearest("opneai", names.into_iter()), Some("openai"));
        assert_eq!(nearest("gemini", names.into_iter()), None);
        assert_eq!(nearest("", names.into_iter()), None);
    }
}
