//! Quotes words for a POSIX shell.

/// Returns `text` as one word of a POSIX shell.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, '_' | '.' | '/' | ',' | ':' | '@' | '%' | '+' | '-')
    };
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns words as a command of a POSIX shell.
#[must_use]
pub fn shell_words(words: &[&str]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}
