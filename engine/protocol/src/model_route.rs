//! The route to a model: its provider, and its name at that provider.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A model at a provider, written as `PROVIDER/ID`, for instance `ollama/qwen3:8b`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModelRoute {
    /// The name of the provider: letters, digits, `.`, `_` and `-`.
    pub provider: String,
    /// The name of the model at its provider. It may contain slashes.
    pub id: String,
    /// The base URL of the provider, if it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
}

/// The error for a text that is not `PROVIDER/ID`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not name a model: it has to be PROVIDER/ID, as in ollama/qwen3:8b")]
pub struct ModelRouteError(String);

impl FromStr for ModelRoute {
    type Err = ModelRouteError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ModelRouteError(text.chars().take(80).collect());
        let (provider, id) = text.split_once('/').ok_or_else(refused)?;
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        let named = !provider.is_empty() && provider.len() <= 40 && provider.chars().all(allowed);
        let sane = !id.is_empty() && id.len() <= 4096 && !id.chars().any(char::is_control);
        if named && sane {
            Ok(Self { provider: provider.to_owned(), id: id.to_owned(), base_url: None })
        } else {
            Err(refused())
        }
    }
}

impl fmt::Display for ModelRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_ends_at_the_first_slash() {
        let route: ModelRoute = "openrouter/qwen/qwen3-coder".parse().unwrap();
        assert_eq!(
            (route.provider.as_str(), route.id.as_str()),
            ("openrouter", "qwen/qwen3-coder")
        );
        assert_eq!(route.to_string(), "openrouter/qwen/qwen3-coder");
        for text in ["", "gpt", "/x", "a/", "a b/c", "a/b\nc"] {
            assert!(text.parse::<ModelRoute>().is_err(), "{text}");
        }
    }
}
