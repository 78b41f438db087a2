//! Finds what somebody may have meant.

/// Returns the name nearest to `given`, if one is near.
pub(crate) fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given: Vec<char> = given.chars().take(64).collect();
    let allowed = (given.len() / 3).clamp(1, 4);
    let rated = names.map(|name| (distance(&given, name), name));
    rated.filter(|(distance, _)| *distance <= allowed).min().map(|(_, name)| name)
}

/// Returns how many letters have to change, come or go.
fn distance(one: &[char], two: &str) -> usize {
    let mut row: Vec<usize> = (0..=one.len()).collect();
    for (at, two) in two.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (at, one) in one.iter().enumerate() {
            let change = diagonal + usize::from(!one.eq_ignore_ascii_case(&two));
            diagonal = row[at + 1];
            row[at + 1] = change.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[one.len()]
}

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
