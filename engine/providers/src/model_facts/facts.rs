//! The facts about one model.

use protocol::{ThinkingLevel, ThinkingMode};
use serde::{Deserialize, Serialize};

use crate::usage::Price;

/// What is known about a model. What is absent is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ModelFacts {
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many tokens it can read and write in one request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// How many tokens it can write in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Whether it reads images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it thinks before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// The thinking levels that it knows, in ascending order; empty if they are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// How a request states how much to think, where its name does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_mode: Option<ThinkingMode>,
    /// How much it is to think unless a request says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_level: Option<String>,
    /// How many tokens requests have to have in common so that they are cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_minimum: Option<u32>,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl ModelFacts {
    /// Returns these facts, and those of `others` where these have none.
    #[must_use]
    pub fn or(self, others: &Self) -> Self {
        Self {
            name: self.name.or_else(|| others.name.clone()),
            context: self.context.or(others.context),
            output: self.output.or(others.output),
            images: self.images.or(others.images),
            tools: self.tools.or(others.tools),
            thinking: self.thinking.or(others.thinking),
            levels: if self.levels.is_empty() { others.levels.clone() } else { self.levels },
            thinking_mode: self.thinking_mode.or(others.thinking_mode),
            default_level: self.default_level.or_else(|| others.default_level.clone()),
            cache_minimum: self.cache_minimum.or(others.cache_minimum),
            price: self.price.or(others.price),
        }
    }

    /// Returns the levels of thinking that the model has; empty if they are not known.
    #[must_use]
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        if self.thinking == Some(false) {
            return vec![ThinkingLevel::Off];
        }
        self.levels.iter().filter_map(|level| level.parse().ok()).collect()
    }

    /// Returns how much the model is to think unless a request says otherwise.
    #[must_use]
    pub fn default_thinking(&self) -> Option<ThinkingLevel> {
        self.default_level.as_ref()?.parse().ok()
    }

    /// Returns whether prompts of this model can be cached at a price of their own.
    #[must_use]
    pub fn caches(&self) -> Option<bool> {
        self.price.map(|price| price.cache_read.is_some())
    }

    /// Returns whether the numbers can be those of a model.
    pub(super) fn is_sane(&self) -> bool {
        let counts = [self.context, self.output];
        counts.into_iter().flatten().all(|count| (1..=1_000_000_000).contains(&count))
            && self.name.as_ref().is_none_or(|name| is_text(name))
            && self.levels.len() <= 10
            && self.levels.iter().chain(&self.default_level).all(|level| is_text(level))
    }
}

/// Returns whether a text can be a name or an id: short and printable.
pub(super) fn is_text(text: &str) -> bool {
    (1..=256).contains(&text.len()) && !text.chars().any(char::is_control)
}
