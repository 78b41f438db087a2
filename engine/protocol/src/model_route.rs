//! The route to a model: its provider, and its name at that provider.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ThinkingLevel;

/// A model at a provider, written as `PROVIDER/ID`, for instance `ollama/qwen3:8b`, or as
/// `PROVIDER/ID:LEVEL` with a thinking level.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModelRoute {
    /// The name of the provider: letters, digits, `.`, `_` and `-`.
    pub provider: String,
    /// The name of the model at its provider. It may contain slashes.
    pub id: String,
    /// The base URL of the provider, if it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// How much the model is to think; as much as its provider lets it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
}

impl ModelRoute {
    /// Returns `PROVIDER/ID` without a thinking level.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Returns whether the model is scripted: its answers come from a scenario file.
    #[must_use]
    pub fn is_scripted(&self) -> bool {
        self.provider == Self::SCRIPTED
    }

    /// The provider of scripted models.
    pub const SCRIPTED: &str = "offline";
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
        let level = |(id, level): (&str, &str)| Some((id.to_owned(), level.parse().ok()?));
        let (id, thinking) = match id.rsplit_once(':').and_then(level) {
            Some((id, level)) => (id, Some(level)),
            None => (id.to_owned(), None),
        };
        let named = !provider.is_empty() && provider.len() <= 40 && provider.chars().all(allowed);
        let sane = !id.is_empty() && id.len() <= 4096 && !id.chars().any(char::is_control);
        if named && sane {
            Ok(Self { provider: provider.to_owned(), id, base_url: None, thinking })
        } else {
            Err(refused())
        }
    }
}

/// Returns whether `query` is the one query that a base URL may have: `api-version=…`, as Azure wants it.
/// Others may hold secrets, and a base URL is shown and recorded.
#[must_use]
pub fn is_api_version(query: &str) -> bool {
    let version = query.strip_prefix("api-version=").unwrap_or_default();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=60).contains(&version.len()) && version.bytes().all(allowed)
}

impl fmt::Display for ModelRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.id)?;
        self.thinking.map_or(Ok(()), |level| write!(f, ":{level}"))
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
        for text in ["", "gpt", "/x", "a/", "a/:high", "a b/c", "a/b\nc"] {
            assert!(text.parse::<ModelRoute>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_thinking_level_may_follow_the_model() {
        let route: ModelRoute = "anthropic/claude-sonnet-4-5:high".parse().unwrap();
        assert_eq!(route.thinking, Some(ThinkingLevel::High));
        assert_eq!(route.name(), "anthropic/claude-sonnet-4-5");
        assert_eq!(route.to_string(), "anthropic/claude-sonnet-4-5:high");
        let tagged: ModelRoute = "ollama/qwen3:8b".parse().unwrap();
        assert_eq!((tagged.id.as_str(), tagged.thinking), ("qwen3:8b", None));
        let written = serde_json::to_value(&tagged).unwrap();
        assert_eq!(written, serde_json::json!({ "provider": "ollama", "id": "qwen3:8b" }));
        assert_eq!(serde_json::from_value::<ModelRoute>(written).unwrap(), tagged);
    }
}
