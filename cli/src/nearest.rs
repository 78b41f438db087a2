//! Finds the word that was probably meant.

/// Returns the one of `words` that differs from `typed` by few enough slips to be meant by it.
pub(crate) fn nearest<'a>(
    typed: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed: Vec<char> = typed.chars().take(64).map(|c| c.to_ascii_lowercase()).collect();
    let bearable = (typed.len() / 3).max(1);
    words
        .into_iter()
        .map(|word| (slips(&typed, word), word))
        .filter(|(slips, word)| *slips <= bearable && *slips < word.chars().count())
        .min()
        .map(|(_, word)| word)
}

/// Counts the letters that are missing, too many, wrong or exchanged with their neighbour.
fn slips(typed: &[char], word: &str) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=typed.len()).collect();
    let mut last = None;
    for (row, letter) in word.chars().map(|c| c.to_ascii_lowercase()).enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in typed.iter().enumerate() {
            let wrong = above[column] + usize::from(letter != *other);
            let mut least = wrong.min(above[column + 1] + 1).min(line[column] + 1);
            if column > 0 && last == Some(*other) && typed[column - 1] == letter {
                least = least.min(before[column - 1] + 1);
            }
            line.push(least);
        }
        (before, above, last) = (above, line, Some(letter));
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_that_was_meant_is_found() {
        let words = ["run", "runs", "depends_on", "priority", "exec"];
        for (typed, meant) in [
            ("rnus", Some("runs")),
            ("Run", Some("run")),
            ("depend_on", Some("depends_on")),
            ("prioritee", Some("priority")),
            ("exce", Some("exec")),
            ("hello", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, words), meant, "{typed}");
        }
    }
}
