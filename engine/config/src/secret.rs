//! Secrets, which are used and never shown, and where the user says that they are.

use std::fmt;

/// A secret, such as an API key. Neither `Debug` nor anything else prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret itself, for those who send it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where a value of the file of models comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// The first line of the output of a command, written as `!COMMAND`.
    Command(String),
    /// An environment variable, written as `$NAME`.
    Variable(String),
    /// The environment variable of this name if there is one, else the text itself.
    NameOrText(Secret),
}

impl ValueSource {
    /// Returns the source that `text` describes.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let is_name = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if let Some(command) = text.strip_prefix('!') {
            return Self::Command(command.trim().to_owned());
        }
        let braced = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        match braced.or_else(|| text.strip_prefix('$')).filter(|name| is_name(name)) {
            Some(name) => Self::Variable(name.to_owned()),
            None => Self::NameOrText(Secret::new(text)),
        }
    }
}

impl fmt::Debug for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // A command may contain a secret.
            Self::Command(_) => "Command(…)",
            Self::Variable(_) => "Variable(…)",
            Self::NameOrText(_) => "NameOrText(…)",
        })
    }
}

/// The maximum length of an API key, in bytes.
const LONGEST_KEY: usize = 8_192;

/// Why a text is not an API key. The text is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is only white space.
    #[error("it is empty")]
    Empty,
    /// It is too long.
    #[error("it is longer than {LONGEST_KEY} bytes, which no key is")]
    TooLong,
    /// A key has only printable ASCII characters: it is sent in a header.
    #[error("it has a line break, a space or another character that a key cannot have")]
    Character,
}

/// Returns the API key in `text`, without white space around it.
///
/// # Errors
/// The text is not an API key.
pub fn api_key(text: &str) -> Result<Secret, KeyError> {
    let key = text.trim();
    match key {
        "" => Err(KeyError::Empty),
        _ if key.len() > LONGEST_KEY => Err(KeyError::TooLong),
        _ if !key.bytes().all(|byte| byte.is_ascii_graphic()) => Err(KeyError::Character),
        _ => Ok(Secret::new(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_command_a_variable_or_itself() {
        let command = ValueSource::parse("! pass show openai ");
        assert_eq!(command, ValueSource::Command("pass show openai".to_owned()));
        for text in ["$MY_KEY", "${MY_KEY}"] {
            assert_eq!(ValueSource::parse(text), ValueSource::Variable("MY_KEY".to_owned()));
        }
        for text in ["MY_KEY", "sk-1", "$2y$10$x", "${x", "$"] {
            assert_eq!(ValueSource::parse(text), ValueSource::NameOrText(Secret::new(text)));
        }
    }

    #[test]
    fn nothing_that_is_printed_shows_a_secret() {
        let canary = "canary-77";
        let printed = format!(
            "{:?} {:?} {:?} {:?}",
            Secret::new(canary),
            ValueSource::parse(canary),
            ValueSource::parse("!echo canary-77"),
            api_key(canary)
        );
        assert!(!printed.contains("canary"), "{printed}");
        assert_eq!(Secret::new(canary).expose(), canary);
    }

    #[test]
    fn a_key_is_trimmed_and_has_no_line_break() {
        assert_eq!(api_key(" sk-1\r\n"), Ok(Secret::new("sk-1")));
        assert_eq!(api_key(" \n"), Err(KeyError::Empty));
        for text in ["a\nb", "a b", "a\u{7}b", "schlüssel"] {
            assert_eq!(api_key(text), Err(KeyError::Character), "{text:?}");
        }
        assert_eq!(api_key(&"k".repeat(9_000)), Err(KeyError::TooLong));
    }
}
