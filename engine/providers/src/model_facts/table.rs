//! The table of facts about models, and its file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::facts::{ModelFacts, is_text};

/// The catalogue that comes with the program.
const BUILT_IN: &str = include_str!("catalogue.json");

/// The maximum size of a file of facts, in bytes.
const LARGEST: usize = 16 << 20;

/// The maximum number of models of a provider, and of providers.
const MOST_MODELS: usize = 5_000;
const MOST_PROVIDERS: usize = 1_000;

/// The providers that have the models of another one.
const SAME_MODELS: [(&str, &str); 1] = [("openai-completions", "openai")];

/// Facts about models, by provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactsTable {
    /// Where the facts are from.
    pub source: String,
    /// The day on which they held: `2026-08-18`.
    pub date: String,
    /// The providers, by name.
    pub providers: BTreeMap<String, ProviderFacts>,
}

/// The models of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderFacts {
    /// The model to use if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The models, by id.
    pub models: BTreeMap<String, ModelFacts>,
}

/// Why a file of facts is not used.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// It is larger than the limit.
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// It is not JSON, or has other members.
    #[error("it is not a table of models")]
    Malformed(#[source] serde_json::Error),
    /// A value cannot be.
    #[error("`{0}` has a value that no model has")]
    Value(String),
}

impl FactsTable {
    /// Returns the catalogue that comes with the program.
    #[must_use]
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN.as_bytes()).expect("a test reads the catalogue of this program")
    }

    /// Parses a file of facts.
    ///
    /// # Errors
    /// It is too large, or not what this program writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, FactsError> {
        if bytes.len() > LARGEST {
            return Err(FactsError::TooLarge);
        }
        let table: Self = serde_json::from_slice(bytes).map_err(FactsError::Malformed)?;
        table.check()?;
        Ok(table)
    }

    fn check(&self) -> Result<(), FactsError> {
        let wrong = |what: &str| Err(FactsError::Value(what.chars().take(80).collect()));
        if !is_text(&self.source) || !is_text(&self.date) || self.providers.len() > MOST_PROVIDERS {
            return wrong("source");
        }
        for (name, provider) in &self.providers {
            let fits = provider.models.len() <= MOST_MODELS;
            let default = provider.default.as_ref();
            if !fits || default.is_some_and(|id| !provider.models.contains_key(id)) {
                return wrong(name);
            }
            for (id, facts) in &provider.models {
                if !is_text(id) || !facts.is_sane() {
                    return wrong(&format!("{name}/{id}"));
                }
            }
        }
        Ok(())
    }

    /// Returns the facts of this table, and for each model without any those of `older`.
    #[must_use]
    pub fn over(mut self, older: Self) -> Self {
        for (name, old) in older.providers {
            let new = self.providers.entry(name).or_default();
            new.default = new.default.take().or(old.default);
            for (id, facts) in old.models {
                let known = new.models.remove(&id).unwrap_or_default();
                new.models.insert(id, known.or(&facts));
            }
        }
        self
    }

    /// Returns the models of a provider.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&ProviderFacts> {
        let same = SAME_MODELS.iter().find(|(alias, _)| *alias == name);
        self.providers.get(same.map_or(name, |(_, same)| same))
    }

    /// Returns the limits of the first model with this id, of any provider.
    #[must_use]
    pub fn limits(&self, id: &str) -> ModelFacts {
        let found = self.providers.values().find_map(|provider| provider.models.get(id));
        let limits = |facts: &ModelFacts| (facts.context, facts.output);
        let (context, output) = found.map(limits).unwrap_or_default();
        ModelFacts { context, output, ..ModelFacts::default() }
    }

    /// Returns what is known about a model.
    #[must_use]
    pub fn model(&self, provider: &str, id: &str) -> Option<&ModelFacts> {
        self.provider(provider)?.models.get(id)
    }
}
