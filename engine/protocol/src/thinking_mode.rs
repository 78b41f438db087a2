//! How a request tells a model how much to think.

use serde::{Deserialize, Serialize};

/// How a request tells a model how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingMode {
    /// By an effort, as the API names it.
    Effort,
    /// By a number of tokens.
    Budget,
    /// By the `thinkingLevel` of Google.
    GoogleLevel,
    /// By the effort of Anthropic; the model itself decides when to think.
    AnthropicAdaptive,
    /// By a number of tokens and the effort of Anthropic.
    AnthropicBudgetEffort,
}

impl ThinkingMode {
    /// Every mode.
    pub const ALL: [Self; 5] = [
        Self::Effort,
        Self::Budget,
        Self::GoogleLevel,
        Self::AnthropicAdaptive,
        Self::AnthropicBudgetEffort,
    ];

    /// Returns the name of the mode.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Effort => "effort",
            Self::Budget => "budget",
            Self::GoogleLevel => "google-level",
            Self::AnthropicAdaptive => "anthropic-adaptive",
            Self::AnthropicBudgetEffort => "anthropic-budget-effort",
        }
    }

    /// Returns the mode of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}
